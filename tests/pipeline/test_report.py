"""The report as a page: complete, closed to names that try to be code, and drawn by a browser without a network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline.analysis import LinkAnalysis, Skipped
from pipeline.report import Origin, render
from pipeline.report.palette import N_JOB_COLOURS, job_colours
from profiler.phases import TrafficProfile
from tests.pipeline.analyses import analysis, colliding_pair, judged, link, paced_link, vgg

if TYPE_CHECKING:
    from pathlib import Path

ORIGIN = Origin(lake="out/lake", cluster="cluster.toml", made_at=datetime(2025, 11, 30, 2, 50, tzinfo=UTC))
HOSTILE = "</script><img src=https://evil.example/x onerror=alert(1)>\"'&{{7*7}}\u2028"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class _Page(HTMLParser):
    """Elements, text and scripts of a page, as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.specs: dict[str, Any] = {}
        self._open: tuple[str, dict[str, str | None]] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = (tag, dict(attrs)) if tag in ("script", "style") else None

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser's interface
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is None:
            self.text += data
        elif self._open[1].get("type") == "application/json":
            self.specs[str(self._open[1]["id"])] = json.loads(data)


@pytest.fixture(scope="module")
def page() -> str:
    return render(colliding_pair(), origin=ORIGIN)


@pytest.fixture(scope="module")
def hostile_page() -> str:
    named = colliding_pair(a=HOSTILE, b="B")
    noted = replace(named.jobs[HOSTILE], warnings=(HOSTILE,), host=HOSTILE)
    skipped = (Skipped(what=HOSTILE, why=HOSTILE),)
    return render(
        replace(named, jobs={**named.jobs, HOSTILE: noted}, skipped=skipped), origin=replace(ORIGIN, lake=HOSTILE)
    )


def test_page_says_what_was_found_and_what_to_do(page: str) -> None:
    text = _Page(page).text

    for part in (
        "A and B collide on t1; shifting and pacing them should keep them apart.",
        "Start B's all-reduce 133 ms after A's, every 266 ms.",
        "353 ms → 279 ms",
        "shift and pace",
        "pacer = Pacer(period_s=0.266, shift_s=0.133)",
        "Before: as observed",
        "After: held to slots of 266 ms",
        "from the lake out/lake and the cluster file cluster.toml",
        "1.2 s at 02:33:20 UTC",
    ):
        assert part in text


def test_contended_link_gets_four_charts_each_job_one_and_a_quiet_link_a_row(page: str) -> None:
    read = _Page(page)

    assert sorted(read.specs) == ["job-1", "job-2", "link-1-1-1", "link-1-1-2", "link-1-2-1", "link-1-2-2"]
    assert "Other links" in read.text
    assert "room to spare" in read.text


def test_every_chart_has_a_place_and_a_description_for_those_who_do_not_see_it(page: str) -> None:
    read = _Page(page)

    places = {attributes.get("data-chart") for _, attributes in read.elements} - {None}

    assert places == set(read.specs)
    assert all(spec["description"] for spec in read.specs.values())
    assert "344 Mbit/s" in read.specs["link-1-1-1"]["description"]


def test_nothing_is_drawn_outside_the_axes(page: str) -> None:
    for spec in _Page(page).specs.values():
        for layer in spec["layer"]:
            for channel in ("x", "y"):
                encoding = layer["encoding"].get(channel, {})
                domain = (encoding.get("scale") or {}).get("domain")
                if domain:
                    values = [row[encoding["field"]] for row in spec["datasets"][layer["data"]["name"]]]
                    assert all(domain[0] <= value <= domain[1] for value in values)


def test_pictures_before_and_after_share_their_axes(page: str) -> None:
    specs = _Page(page).specs
    domains = [
        [specs[name]["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in ("x", "y")]
        for name in ("link-1-1-1", "link-1-2-1")
    ]

    assert domains[0] == domains[1]


def test_a_job_has_one_colour_everywhere(page: str) -> None:
    specs = _Page(page).specs
    scales = {
        json.dumps(layer["encoding"]["color"]["scale"], sort_keys=True)
        for spec in specs.values()
        for layer in spec["layer"]
        if "scale" in layer.get("encoding", {}).get("color", {})
    }

    assert len(scales) == 1
    assert re.search(r'style="--job: var\(--job-1\)">B<', page)
    assert specs["job-2"]["layer"][0]["mark"]["fill"] == "var(--job-1)"


def test_jobs_that_meet_get_colours_before_others_so_that_they_differ() -> None:
    many = {f"a{i:02}": vgg("x") for i in range(20)}
    crowd = replace(colliding_pair(a="y", b="z"), jobs={**many, **colliding_pair(a="y", b="z").jobs})

    colours = job_colours(crowd)

    assert (colours["y"], colours["z"]) == ("var(--job-0)", "var(--job-1)")
    assert len(set(colours.values())) == N_JOB_COLOURS


def test_every_colour_of_the_charts_is_defined_for_light_and_for_dark(page: str) -> None:
    used = set(re.findall(r"var\((--[a-z0-9-]+)", page)) - {"--job"}
    style = page[page.index("<style>") : page.index("</style>")]
    light, dark = style.split("@media screen and (prefers-color-scheme: dark)")[:2]

    for name in used:
        assert f"{name}:" in light, name
        assert f"{name}:" in dark, name


def test_page_loads_nothing_and_its_policy_forbids_it(page: str) -> None:
    read = _Page(page)
    policy = next(a["content"] for tag, a in read.elements if tag == "meta" and a.get("http-equiv"))

    assert not [a for _, a in read.elements if {"src", "href", "srcset", "data", "action"} & set(a)]
    assert not re.search(r"url\(|@import", page[page.index("<style>") : page.index("</style>")])
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy


def test_the_vega_bundle_is_in_the_page_once(page: str) -> None:
    running = [a for tag, a in _Page(page).elements if tag == "script" and "type" not in a]

    assert len(running) == 2
    assert 700_000 < len(page) < 1_200_000


def test_names_cannot_break_out_of_text_attributes_or_chart_specifications(page: str, hostile_page: str) -> None:
    tame, hostile = _Page(page), _Page(hostile_page)

    assert {tag for tag, _ in hostile.elements} <= {tag for tag, _ in tame.elements} | {"li", "ul"}
    assert "img" not in {tag for tag, _ in hostile.elements}
    assert not [a for _, a in hostile.elements if any(name.startswith("on") for name in a)]
    assert HOSTILE in hostile.text
    drawn = hostile.specs["link-1-1-1"]["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert drawn[0] == HOSTILE


def test_a_link_no_shift_helps_shows_only_how_it_is() -> None:
    futile = link("t2", demands={"A": vgg("a"), "B": vgg("b")}, compatibility=judged("futile", "A", "B"))

    read = _Page(render(analysis(futile), origin=ORIGIN))

    assert "What to do" not in read.text
    assert [name for name in read.specs if name.startswith("link")] == ["link-1-1-1", "link-1-1-2"]


def test_traffic_without_a_period_is_listed_with_its_reason() -> None:
    noise = TrafficProfile(status="aperiodic", reason="no comb above the noise", mean_bps=5e7, fold_bps=np.zeros(0))
    unknown = link("t1", demands={"A": vgg("a"), "noise": noise}, compatibility=judged("unknown", "A", "noise"))

    text = _Page(render(analysis(unknown), origin=ORIGIN)).text

    assert "aperiodic: no comb above the noise" in text
    assert "cannot be said" in text


def test_a_job_measured_while_it_was_held_back_is_shown_as_measured_and_as_it_would_be_alone() -> None:
    pair = colliding_pair()
    alone = replace(pair.jobs["A"], fold_bps=np.zeros(0))
    hindered = replace(vgg("a", period_s=0.305), host=alone.host)

    found = replace(pair, jobs={**pair.jobs, "A": alone}, profiles={**pair.profiles, alone.label: hindered})

    text = _Page(render(found, origin=ORIGIN)).text
    assert "An iteration every 305 ms" in text
    assert "alone, an iteration would take 255 ms, 114 ms of it traffic" in text


def test_empty_analysis_still_makes_a_page() -> None:
    assert "No periodic traffic was found." in _Page(render(analysis(), origin=ORIGIN)).text


def test_many_contended_links_are_listed_but_only_the_worst_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.report.page.MAX_LINKS_DRAWN", 1)
    best, worst = (
        replace(trunk, link=f"t{score_now}", compatibility=replace(trunk.compatibility, score_now=score_now))
        for trunk, score_now in ((paced_link(), 0.9), (paced_link(), 0.6))
    )

    read = _Page(render(analysis(best, worst), origin=ORIGIN))

    assert {name.rsplit("-", 2)[0] for name in read.specs if name.startswith("link")} == {"link-1"}
    assert read.text.rindex("t0.6") < read.text.index("Other links") < read.text.rindex("t0.9")


def test_two_directions_that_are_alike_are_drawn_once() -> None:
    trunk = paced_link()

    read = _Page(render(analysis(trunk, replace(trunk, direction="b-a")), origin=ORIGIN))

    assert {name.rsplit("-", 2)[0] for name in read.specs if name.startswith("link")} == {"link-1"}
    assert "The other direction (b-a) is alike." in read.text
    assert "1 of 1" in read.text
    assert read.text.count("Expected on t1") == 1


def test_the_direction_that_is_told_as_alike_is_not_told_again_among_other_links() -> None:
    trunk = paced_link()
    text = _Page(render(analysis(trunk, replace(trunk, direction="b-a")), origin=ORIGIN)).text

    assert "The other direction (b-a) is alike." in text
    assert "Other links" not in text


def test_jobs_that_interleave_are_drawn_once_as_they_are() -> None:
    trunk = paced_link(score_now=1.0, shared_frac=0.0)
    demands = {"A": trunk.demands["A"], "B": replace(trunk.demands["B"], period_s=0.255 + 1e-12)}
    held = replace(trunk, demands=demands, is_interleaved=True)
    text = _Page(render(analysis(held), origin=ORIGIN)).text

    assert "already interleaved" in text
    assert "As observed" in text
    for part in ("Before:", "After", "Pacer(", "drawn as equal", "slot to hold"):
        assert part not in text


def test_peaks_of_a_quiet_link_are_those_that_are_drawn() -> None:
    demands = {"A": replace(vgg("a"), peak_bps=1e6), "B": replace(vgg("b"), peak_bps=1e6)}
    quiet = link("h1", demands=demands, compatibility=judged("uncontended", "A", "B", capacity_bps=8e8))

    assert "744 Mbit/s" in _Page(render(analysis(quiet), origin=ORIGIN)).text


def test_same_analysis_makes_the_same_page(page: str) -> None:
    assert render(colliding_pair(), origin=ORIGIN) == page


def _open_in_chromium(page: str, folder: Path) -> tuple[str, str, list[str]]:
    """Return the page's final document, what it wrote to the console, and the network addresses it asked for."""
    folder.mkdir(exist_ok=True)
    file, log = folder / "report.html", folder / "net.json"
    file.write_text(page)
    quiet = ("background-networking", "component-update", "sync", "gpu", "default-apps", "extensions")
    done = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--no-first-run",
            *(f"--disable-{feature}" for feature in quiet),
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}",
            "--enable-logging=stderr",
            "--virtual-time-budget=8000",
            "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    console = "\n".join(line for line in done.stderr.splitlines() if ":CONSOLE" in line)
    return done.stdout, console, _asked_by_page(json.loads(log.read_text()))


def _asked_by_page(net_log: dict[str, Any]) -> list[str]:
    """Return what the page itself asked for; the browser's own calls home are isolated under other names."""
    requests = [event["params"] for event in net_log["events"] if "network_isolation_key" in event.get("params", {})]
    of_page = [request["url"] for request in requests if request["network_isolation_key"].startswith("file:")]
    return [url for url in of_page if not url.startswith("file:")]


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium to open the report")
def test_browser_draws_every_chart_without_network_or_complaint(hostile_page: str, tmp_path: Path) -> None:
    document, console, asked = _open_in_chromium(hostile_page, tmp_path)

    n_charts = len(_Page(hostile_page).specs)
    drawn = _Page(document)
    assert len([a for _, a in drawn.elements if a.get("data-drawn") == "yes"]) == n_charts
    assert len([tag for tag, _ in drawn.elements if tag == "svg"]) == n_charts
    assert "img" not in {tag for tag, _ in drawn.elements}
    assert console == ""
    assert asked == []


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium to open the report")
def test_browser_refuses_a_script_or_an_image_that_got_into_the_page(page: str, tmp_path: Path) -> None:
    injected = "<img src=https://evil.example/x><script>document.body.dataset.owned = 'yes'</script>"

    attacked = page.replace("<main>", f"<main>{injected}")

    document, console, asked = _open_in_chromium(attacked, tmp_path / "guarded")
    owned, _, asked_unguarded = _open_in_chromium(
        attacked.replace("Content-Security-Policy", "none"), tmp_path / "bare"
    )

    assert 'data-owned="yes"' not in document
    assert "Content Security Policy" in console
    assert asked == []
    assert 'data-owned="yes"' in owned
    assert asked_unguarded == ["https://evil.example/x"]


def test_link_with_one_direction_unnamed_is_still_shown() -> None:
    bare = LinkAnalysis(**{**_fields(paced_link()), "direction": ""})

    assert "shift and pace" in _Page(render(analysis(bare), origin=ORIGIN)).text


def _fields(found: LinkAnalysis) -> dict[str, Any]:
    return {name: getattr(found, name) for name in LinkAnalysis.__slots__}
