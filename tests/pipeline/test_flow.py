"""From a lake to advice: synthetic jobs whose answer is arithmetic, and the rig's own log."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.flow import Analysis, analyze
from pipeline.sql import open_lake
from profiler.importers import read_counters
from tests.pipeline.lakes import CLUSTER, Reads, make_lake, on_off_counter, port, two_job_lake

if TYPE_CHECKING:
    from profiler.store import Lake

RIG = Path(__file__).parents[2].parent / "shared" / "data" / "rig"
SAMPLE = Path(__file__).parents[2] / "sample_data"
ALONE_PERIOD_S = 0.255
ALONE_UP_S = 0.114
HELD_SLOT_S = 0.266
"""Either job of the rig alone: 141 ms of computing, then 5.2 MB of all-reduce over 400 Mbit/s."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clusters") / "cluster.toml"
    path.write_text(CLUSTER)
    return path


@pytest.fixture(scope="module")
def collision(tmp_path_factory: pytest.TempPathFactory, cluster: Path) -> tuple[Lake, Analysis]:
    lake = two_job_lake(tmp_path_factory.mktemp("lakes") / "lake", b_start_ns=20_000_000, duration_s=8.0)
    return lake, analyze(lake.root, cluster=cluster)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory, cluster: Path) -> dict[str, tuple[Lake, Analysis]]:
    folder = tmp_path_factory.mktemp("rig")
    lakes = {name: rig_lake(RIG / f"{name}.csv.gz", folder / name) for name in ("free", "paced")}
    return {name: (lake, analyze(lake.root, cluster=cluster)) for name, lake in lakes.items()}


def rig_lake(source: Path, root: Path) -> Lake:
    if not source.exists():
        pytest.skip(f"{source} is not there")
    counters, problems = read_counters(source, host="sw1")
    assert problems == []
    return make_lake(root, {series: (t_ns, value) for series, t_ns, value, _ in counters})


def overlap_s(analysis: Analysis, *, a: str = "A", b: str = "B") -> float:
    """Return for how long of a period both jobs are Up if they follow the plan."""
    shifts_s = {shift.job: shift.shift_s for shift in analysis.plan.shifts}
    demands = analysis.links[0].demands
    period_s = max(demands[job].period_s or 0.0 for job in (a, b))
    t_s = np.arange(0, period_s, 1e-5)
    up = []
    for job in (a, b):
        local_s = (t_s - shifts_s[job]) % period_s
        ups = [phase for phase in demands[job].phases if phase.kind == "up"]
        up.append(np.any([(p.start_s <= local_s) & (local_s < p.start_s + p.width_s) for p in ups], axis=0))
    return float((up[0] & up[1]).sum() * 1e-5)


def test_both_directions_of_the_trunk_are_solved(collision: tuple[Lake, Analysis]) -> None:
    _, analysis = collision
    assert [(link.link, link.direction, sorted(link.demands)) for link in analysis.links] == [
        ("trunk", "backward", ["A", "B"]),
        ("trunk", "forward", ["A", "B"]),
    ]


def test_scores_are_those_of_arithmetic(collision: tuple[Lake, Analysis]) -> None:
    # Bursts of 100 ms at 300 Mbit/s, 20 ms apart: for 80 of 250 ms they ask 200 Mbit/s too much of 400. By chance the
    # overlap of two 100 ms bursts is 40 ms on average.
    _, analysis = collision
    for link in analysis.links:
        found = link.compatibility
        assert found.score_now == pytest.approx(1 - 0.08 / 0.25 * 200 / 400, abs=2e-3)
        assert found.score_random == pytest.approx(1 - 0.04 / 0.25 * 200 / 400, abs=2e-3)
        assert found.score_best == pytest.approx(1.0, abs=1e-3)
        assert found.verdict in ("compatible", "paced")


def test_the_plan_puts_each_job_in_the_middle_of_the_others_pause(collision: tuple[Lake, Analysis]) -> None:
    _, analysis = collision
    a, b = sorted(analysis.plan.shifts, key=lambda shift: shift.job)
    assert b.shift_s - a.shift_s == pytest.approx((a.pace_period_s or 0.25) / 2, abs=2e-3)
    assert overlap_s(analysis) == 0


def test_each_job_has_the_period_and_burst_that_it_was_made_with(collision: tuple[Lake, Analysis]) -> None:
    _, analysis = collision
    for job in ("A", "B"):
        assert analysis.jobs[job].period_s == pytest.approx(0.25, rel=1e-3)
        assert analysis.jobs[job].up_s == pytest.approx(0.1, rel=0.03)
    assert sorted(analysis.profiles) == ["sw1/p1/receive", "sw1/p2/receive", "sw1/t1/transmit"]
    assert analysis.skipped == ()


def test_what_was_found_stays_in_the_lake(collision: tuple[Lake, Analysis]) -> None:
    lake, analysis = collision
    with open_lake(lake.root) as database:
        compat = database.run("compat_by_link").to_pylist()
        shifts = database.run("shifts_by_job").to_pylist()
        profiles = database.run("profiles_by_series", status="periodic").to_pylist()
    assert [(row["link_id"], row["verdict"]) for row in compat] == [
        (link.link, link.compatibility.verdict) for link in analysis.links
    ]
    assert {row["job_id"]: row["shift_s"] for row in shifts} == {s.job: s.shift_s for s in analysis.plan.shifts}
    assert {f"{row['host']}/{row['device']}/{row['direction']}": row["period_s"] for row in profiles} == {
        label: profile.period_s for label, profile in analysis.profiles.items()
    }


def test_the_document_holds_the_keys_that_others_read(collision: tuple[Lake, Analysis]) -> None:
    _, analysis = collision
    document = json.loads(json.dumps(analysis.to_dict(), allow_nan=False))
    assert (document["kind"], document["version"], document["profiles"]) == ("analysis", 1, 3)
    assert [link["kind"] for link in document["links"]] == ["compat", "compat"]
    assert {shift["job"] for shift in document["shifts"]} == {"A", "B"}
    assert document["plan"]["shifts"] == document["shifts"]
    assert document["skipped"] == []
    assert analysis.to_arrow().num_rows == 2
    assert analysis.has_answer


def test_a_lake_remembers_its_cluster(collision: tuple[Lake, Analysis]) -> None:
    lake, analysis = collision
    assert analyze(lake.root).to_dict() == analysis.to_dict()


def test_without_a_cluster_there_are_profiles_and_the_reason_for_no_more(tmp_path: Path) -> None:
    analysis = analyze(two_job_lake(tmp_path / "lake", duration_s=8.0).root)
    assert (len(analysis.profiles), analysis.jobs, analysis.links, analysis.plan.shifts) == (3, {}, (), ())
    assert [(one.what, "--cluster" in one.why) for one in analysis.skipped] == [("links and jobs", True)]


def test_a_job_without_a_counter_makes_its_links_unknown(tmp_path: Path, cluster: Path) -> None:
    a = on_off_counter(period_ns=250_000_000, up_ns=100_000_000, rate_bps=300e6, duration_s=8.0)
    lake = make_lake(tmp_path / "lake", {port("sw1", "p1", "receive"): a})
    analysis = analyze(lake.root, cluster=cluster)
    assert {link.compatibility.verdict for link in analysis.links} == {"unknown"}
    assert list(analysis.jobs) == ["A"]
    (skipped,) = analysis.skipped
    assert (skipped.what, skipped.why) == ("job B", "no counter of a port that carries this job alone")
    assert not analysis.has_answer


def test_a_job_without_a_beat_is_named_with_its_status(tmp_path: Path, cluster: Path) -> None:
    a = on_off_counter(period_ns=250_000_000, up_ns=100_000_000, rate_bps=300e6, duration_s=8.0)
    lake = make_lake(
        tmp_path / "lake",
        {port("sw1", "p1", "receive"): a, port("b1", "eth0", "transmit"): (a[0], np.zeros_like(a[1]))},
    )
    analysis = analyze(lake.root, cluster=cluster)
    (skipped,) = analysis.skipped
    assert skipped.what == "job B"
    assert skipped.why.startswith("idle")


def test_traffic_of_a_port_that_no_link_ends_at_is_named(tmp_path: Path, cluster: Path) -> None:
    a = on_off_counter(period_ns=250_000_000, up_ns=100_000_000, rate_bps=300e6, duration_s=8.0)
    series = {port("sw1", name, "receive"): a for name in ("p1", "p2", "p9")}
    analysis = analyze(make_lake(tmp_path / "lake", series).root, cluster=cluster)
    assert [one.what for one in analysis.skipped] == ["sw1/p9/receive"]
    assert "no link of the cluster file ends at this port" in analysis.skipped[0].why


def test_a_host_that_is_faster_than_the_trunk_asks_no_more_than_the_trunk_carries(
    tmp_path: Path, cluster: Path
) -> None:
    # 50 ms at 800 Mbit/s are 100 ms on a trunk of 400: one job alone is no excess, and two fit in 250 ms.
    lake = two_job_lake(tmp_path / "lake", duration_s=8.0, up_ns=50_000_000, rate_bps=800e6)
    analysis = analyze(lake.root, cluster=cluster)
    assert {job: pytest.approx(own.up_s, rel=0.03) for job, own in analysis.jobs.items()} == {"A": 0.1, "B": 0.1}
    assert all(link.compatibility.score_best == pytest.approx(1.0, abs=2e-3) for link in analysis.links)
    assert overlap_s(analysis) == 0


def test_jobs_that_fit_need_no_shift(tmp_path: Path, cluster: Path) -> None:
    lake = two_job_lake(tmp_path / "lake", duration_s=8.0, rate_bps=150e6)
    analysis = analyze(lake.root, cluster=cluster)
    assert {link.compatibility.verdict for link in analysis.links} == {"uncontended"}
    assert analysis.has_answer


def test_jobs_that_ask_more_than_the_trunk_has_are_overloaded(tmp_path: Path, cluster: Path) -> None:
    lake = two_job_lake(tmp_path / "lake", duration_s=8.0, up_ns=200_000_000, rate_bps=300e6)
    analysis = analyze(lake.root, cluster=cluster)
    assert {link.compatibility.verdict for link in analysis.links} == {"overloaded"}
    assert not analysis.has_answer


def test_noise_is_no_job(tmp_path: Path, cluster: Path) -> None:
    rng = np.random.default_rng(3)
    t_ns = np.arange(8_000) * 1_000_000

    def noise() -> Reads:
        return t_ns, np.cumsum(rng.poisson(50, t_ns.size) * 1500)

    lake = make_lake(tmp_path / "lake", {port("sw1", name, "receive"): noise() for name in ("p1", "p2")})
    analysis = analyze(lake.root, cluster=cluster)
    assert (analysis.n_periodic, analysis.jobs) == (0, {})
    assert {one.what for one in analysis.skipped} == {"job A", "job B"}
    assert not analysis.has_answer


def test_progress_counts_every_port(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    analyze(
        two_job_lake(tmp_path / "lake", duration_s=8.0).root,
        on_port=lambda n_done, n_ports: seen.append((n_done, n_ports)),
    )
    assert seen == [(0, 3), (3, 3)]


def test_real_jobs_that_collide_are_given_what_they_are_alone(rig: dict[str, tuple[Lake, Analysis]]) -> None:
    _, analysis = rig["free"]
    for own in analysis.jobs.values():
        assert own.period_s == pytest.approx(ALONE_PERIOD_S, rel=0.04)
        assert own.up_s == pytest.approx(ALONE_UP_S, rel=0.1)
    assert {link.compatibility.verdict for link in analysis.links} == {"paced"}
    assert overlap_s(analysis) == 0
    assert [(link.is_interleaved, link.were_apart) for link in analysis.links] == [(False, False)] * 2


def test_real_jobs_that_follow_a_plan_are_told_to_keep_it(rig: dict[str, tuple[Lake, Analysis]]) -> None:
    _, analysis = rig["paced"]
    for own in analysis.jobs.values():
        assert own.period_s == pytest.approx(HELD_SLOT_S, rel=0.004)
    for shift in analysis.plan.shifts:
        assert shift.pace_period_s == pytest.approx(analysis.jobs[shift.job].period_s, rel=1e-3)
    assert overlap_s(analysis) == 0
    for link in analysis.links:
        assert (link.is_interleaved, link.were_apart, link.compatibility.predicted) == (True, True, {})
        assert "keep what holds them" in link.compatibility.reason


def test_real_jobs_meet_when_unmanaged_and_hardly_when_paced(rig: dict[str, tuple[Lake, Analysis]]) -> None:
    shared = {}
    for name, (lake, _) in rig.items():
        with open_lake(lake.root) as database:
            shared[name] = database.run("contention_by_link").to_pylist()[0]["shared_frac"]
        truth = json.loads((RIG / f"{name}.truth.json").read_text())
        # The log takes waiting within an all-reduce for communicating, in which a port moves nothing.
        assert shared[name] == pytest.approx(together_frac(truth), abs=0.08)
        assert shared[name] < together_frac(truth)
    assert shared["free"] > 10 * shared["paced"]


def test_the_sample_data_lead_to_a_paced_plan(tmp_path: Path) -> None:
    lake = rig_lake(SAMPLE / "shared.csv.gz", tmp_path / "lake")
    analysis = analyze(lake.root, cluster=SAMPLE / "cluster.toml")
    truth = json.loads((SAMPLE / "shared.truth.json").read_text())
    for job, own in analysis.jobs.items():
        starts = [start for start, _, _ in truth[job]]
        measured = analysis.profiles[own.label]
        assert measured.period_s == pytest.approx(median(np.diff(starts)) / 1e9, rel=0.03)
    assert {link.compatibility.verdict for link in analysis.links} == {"paced"}
    assert overlap_s(analysis) == 0


def together_frac(truth: dict[str, list[list[int]]]) -> float:
    """Return the part of the time in which all jobs communicate, from their own log."""
    first = max(rows[0][0] for rows in truth.values())
    last = min(rows[-1][2] for rows in truth.values())
    t_ns = np.arange(first, last, 1_000_000)
    together = np.ones(t_ns.size, dtype=bool)
    for rows in truth.values():
        _, start, end = np.array(rows).T
        place = np.searchsorted(start, t_ns, side="right") - 1
        together &= (place >= 0) & (t_ns < end[place])
    return float(together.mean())
