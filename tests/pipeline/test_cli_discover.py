from __future__ import annotations

import csv
import io
import json
import shutil
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from pipeline.cli.main import main
from pipeline.sql import open_lake
from profiler.store import Lake, Series
from tests.pipeline.beating_fleets import Fleet, FleetPlan, JobPlan, draw_fleet
from tests.pipeline.lakes import make_lake, on_off_counter, port

if TYPE_CHECKING:
    from pathlib import Path

PLAN = FleetPlan(
    jobs=(
        JobPlan(name="fast", period_s=9.7, n_ports=2, jitter_frac=0.01),
        JobPlan(name="slow", period_s=26.3, n_ports=3, jitter_frac=0.01),
    ),
    n_uplinks=2,
    n_random=2,
    n_idle=1,
    noise_frac=0.01,
    uplink_noise=0.1,
    duration_s=1200.0,
)

LINKS = """
[[link]]
id = "spine{i}"
a = "sw1:up{i}"
b = "spine{i}:p1"
tier = "leaf"
capacity = "100Gbps"
"""

HOST_LINK = """
[[link]]
id = "{name}"
a = "h-{name}:nic"
b = "sw1:{name}"
tier = "host"
capacity = "100Gbps"
"""


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return draw_fleet(np.random.default_rng(21), PLAN)


@pytest.fixture(scope="module")
def drawn(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of the fleet's counters as a switch has them: what comes from hosts, and leaves towards spines."""
    reads = {}
    for one in fleet.series:
        way: Literal["transmit", "receive"] = "transmit" if one.device.startswith("up") else "receive"
        series = Series(host="sw1", device=one.device, direction=way, layer="wire", kind="delta")
        reads[series] = (one.edges_ns, np.append(0, one.delta_bytes).astype(np.int64))
    return make_lake(tmp_path_factory.mktemp("fleet") / "lake", reads).root


@pytest.fixture
def lake(drawn: Path, tmp_path: Path) -> Path:
    return shutil.copytree(drawn, tmp_path / "lake")


@pytest.fixture
def cluster(fleet: Fleet, tmp_path: Path) -> Path:
    path = tmp_path / "cluster.toml"
    hosts = [HOST_LINK.format(name=one.device) for one in fleet.series if not one.device.startswith("up")]
    path.write_text("".join([*hosts, *(LINKS.format(i=i) for i in range(2))]), encoding="utf-8")
    return path


def _members(fleet: Fleet, job: str) -> set[str]:
    return {device for device, own in fleet.own_of.items() if own == job}


def test_jobs_uplinks_and_what_is_left_out_are_printed(
    drawn: Path, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["discover", "--lake", str(drawn), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["version"]) == ("discovery", 1)
    own = [{one["device"] for one in job["members"] if one["role"] == "port"} for job in document["jobs"]]
    assert sorted(own, key=len) == [_members(fleet, "fast"), _members(fleet, "slow")]
    assert {uplink["device"] for uplink in document["uplinks"]} == {"up0", "up1"}
    assert {one["device"] for one in document["skipped"]} == {"random0", "random1", "idle0"}
    assert main(["discover", "--lake", str(drawn)]) == 0
    table = capsys.readouterr().out
    assert "sw1 up0 transmit: beat-" in table
    assert "Skipped 1 series of idle ports" in table


def test_csv_has_a_row_a_member(drawn: Path, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "--lake", str(drawn), "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["device"] for row in rows if row["role"] == "port"} == set(fleet.own_of)
    assert all(0 <= float(row["confidence"]) <= 1 for row in rows)


def test_what_is_kept_lets_analyze_and_queries_work_without_a_scheduler(
    lake: Path, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["discover", "--lake", str(lake), "--write", "--capacity", "100Gbps"]) == 0
    assert "kept 2 jobs, 5 ranks" in capsys.readouterr().err
    assert main(["analyze", "--lake", str(lake)]) == 0
    with open_lake(lake) as database:
        meetings = database.run("jobs_by_link", min_jobs=2).to_pylist()
        profiles = database.run("profiles_by_job").to_pylist()
    assert {row["link_id"] for row in meetings} == {"sw1 up0", "sw1 up1"}
    assert sorted(row["period_s"] for row in profiles) == pytest.approx([9.7, 26.3], rel=0.01)
    for row in meetings:
        job = min(fleet.periods_s, key=lambda name: abs(fleet.periods_s[name] - row["period_s"]))
        assert row["mean_bps"] == pytest.approx(fleet.carried_bps[row["link_id"][4:]][job], rel=0.6)


def test_found_jobs_are_placed_on_links_that_are_known(
    lake: Path, fleet: Fleet, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["analyze", "--lake", str(lake), "--cluster", str(cluster)])
    assert main(["discover", "--lake", str(lake), "--write"]) == 0
    capsys.readouterr()
    known = Lake.open(lake)
    ranks = known.read("placements").to_pylist()
    assert {rank["host"] for rank in ranks} == {f"h-{device}" for device in fleet.own_of}
    paths = known.read("paths").to_pylist()
    assert {path["link_id"] for path in paths} == {*fleet.own_of, "spine0", "spine1"}
    # The switch receives along the links of hosts, and transmits along its own to spines.
    assert {path["direction"] for path in paths} == {"forward"}
    assert all(path["weight_frac"] > 0 for path in paths)


def test_keeping_again_replaces_what_was_found_before(lake: Path) -> None:
    assert main(["discover", "--lake", str(lake), "--write", "--capacity", "100Gbps"]) == 0
    assert main(["discover", "--lake", str(lake), "--write"]) == 0
    jobs = Lake.open(lake).read("jobs").to_pylist()
    assert [job["source"] for job in jobs] == ["offbeat discover"] * 2
    assert {link["capacity_bps"] for link in Lake.open(lake).read("links").to_pylist()} == {100e9}


def test_jobs_found_before_are_left_and_named_where_none_is_found_now(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["discover", "--lake", str(lake), "--write", "--last", "60s"]
    assert main([*command, "--capacity", "100Gbps"]) == 3
    assert "nothing was written" in capsys.readouterr().err
    assert main(["discover", "--lake", str(lake), "--write", "--capacity", "100Gbps"]) == 0
    before = Lake.open(lake).read("jobs").to_pylist()
    capsys.readouterr()
    assert main(command) == 3
    error = capsys.readouterr().err
    assert f"no job found, so nothing was written; {lake} still has the 2 jobs it knew before" in error
    assert Lake.open(lake).read("jobs").to_pylist() == before


def test_jobs_that_a_file_told_of_are_kept_unless_told(
    lake: Path, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = (
        '[[job]]\nid = "known"\nranks = [{host = "h-fast-p0", device = "nic"}, {host = "h-fast-p1", device = "nic"}]\n'
    )
    cluster.write_text(cluster.read_text(encoding="utf-8") + ranks, encoding="utf-8")
    main(["analyze", "--lake", str(lake), "--cluster", str(cluster)])
    capsys.readouterr()
    assert main(["discover", "--lake", str(lake), "--write"]) == 2
    error = capsys.readouterr().err
    assert "knows 1 jobs from" in error
    assert "cluster.toml" in error
    assert "--force" in error
    assert [job["job_id"] for job in Lake.open(lake).read("jobs").to_pylist()] == ["known"]
    assert main(["discover", "--lake", str(lake), "--write", "--force"]) == 0
    assert "known" not in {job["job_id"] for job in Lake.open(lake).read("jobs").to_pylist()}


def test_without_links_a_capacity_is_asked_for(drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "--lake", str(drawn), "--write"]) == 2
    assert "--capacity 100Gbps" in capsys.readouterr().err


def test_a_lake_without_a_beat_ends_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steady = on_off_counter(period_ns=10**9, up_ns=10**9, rate_bps=1e9, step_ns=100_000_000, duration_s=60.0)
    make_lake(tmp_path / "lake", {port("h1", "eth0", "transmit"): steady, port("h2", "eth0", "transmit"): steady})
    assert main(["discover", "--lake", str(tmp_path / "lake")]) == 3
    assert "Skipped h1 eth0 transmit: constant" in capsys.readouterr().out


def test_an_empty_lake_ends_with_3_and_a_missing_one_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Lake.open(tmp_path / "empty", create=True)
    assert main(["discover", "--lake", str(tmp_path / "empty"), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["jobs"] == []
    assert main(["discover", "--lake", str(tmp_path / "none")]) == 1
    assert "no such lake" in capsys.readouterr().err


@pytest.mark.parametrize("is_page", [False, True], ids=["no Parquet", "page"])
def test_a_damaged_file_is_named_and_the_rest_is_looked_at(
    lake: Path, capsys: pytest.CaptureFixture[str], *, is_page: bool
) -> None:
    steady = on_off_counter(period_ns=10**9, up_ns=10**9, rate_bps=1e9, step_ns=10**9, duration_s=60.0)
    store = Lake.open(lake)
    before = set(store.files("samples"))
    make_lake(lake, {port("h9", "eth0", "transmit"): steady})
    (added,) = set(store.files("samples")) - before
    whole = added.read_bytes()
    added.write_bytes(whole[:4] + bytes(40) + whole[44:] if is_page else b"not Parquet")
    assert main(["discover", "--lake", str(lake), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert len(document["jobs"]) == 2
    why = {one["device"]: one["why"] for one in document["skipped"]}
    told = "its SHA-256 differs); restore it" if is_page else "ingest its recording again"
    assert told in why[f"file {added.name}"]


@pytest.mark.parametrize(("option", "value"), [("--last", "soon"), ("--capacity", "fast")])
def test_words_that_are_no_quantity_are_wrong_usage(
    drawn: Path, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["discover", "--lake", str(drawn), option, value]) == 2
    assert value in capsys.readouterr().err


def test_only_the_last_part_is_looked_at_if_asked(drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "--lake", str(drawn), "--last", "60s"]) == 3
    assert "record longer" in capsys.readouterr().out
