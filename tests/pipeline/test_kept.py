"""What cannot be read this time stays as it was found before, and is no change; the rest is analysed anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline import measured
from pipeline.batch import BatchOptions, outcome
from pipeline.cli.main import main
from pipeline.flow import analyze
from pipeline.runs import Request, run_once
from profiler.errors import LakeError
from profiler.store.reading import read_segments
from tests.pipeline.fleets import add_host, fleet, sample_file
from tests.pipeline.lakes import CLUSTER, T0_NS, make_lake, on_off_counter, port, two_job_lake

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store import Lake

S = 1_000_000_000
RESULTS = ("profiles", "phases", "compat", "shifts")
KEY = [("series_id", "ascending"), ("from_ns", "ascending")]


@pytest.fixture
def jobs(tmp_path: Path) -> Lake:
    """A lake of two jobs on a trunk, analysed."""
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    lake = two_job_lake(tmp_path / "lake", duration_s=8.0)
    run_once(Request(lake=lake.root, cluster=[tmp_path / "cluster.toml"]))
    return lake


def results(lake: Lake, *, with_reasons: bool = True) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the tables of results, each in one order."""
    found = {table: sorted(lake.read(table).to_pylist(), key=repr) for table in RESULTS}
    for row in found["profiles"] if not with_reasons else ():
        del row["reason"]
    found["profiles"].sort(key=lambda row: row["series_id"])
    return found


def test_a_job_without_a_period_that_is_kept_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    t_ns, steady = on_off_counter(period_ns=250_000_000, up_ns=100_000_000, rate_bps=300e6, duration_s=8.0)
    noise = np.cumsum(np.random.default_rng(1).integers(0, 1 << 14, len(t_ns)))
    ports = {"p1": ("receive", steady), "p2": ("receive", noise), "t1": ("transmit", steady + noise)}
    lake = make_lake(tmp_path / "lake", {port("sw1", name, way): (t_ns, value) for name, (way, value) in ports.items()})
    run_once(Request(lake=lake.root, cluster=[tmp_path / "cluster.toml"]))
    (lake.root / "samples").rename(lake.root / "away")
    analysis, _ = run_once(Request(lake=lake.root))
    told = [one.what for one in (*analysis.kept, *analysis.skipped)]
    assert told.count("job B") == 1
    assert told.count("job A") == 1


def test_a_lake_whose_files_are_away_keeps_its_results_and_names_the_file(jobs: Lake) -> None:
    first, names = results(jobs), [path.name for path in jobs.files("samples")]
    (jobs.root / "samples").rename(jobs.root / "away")

    for _ in range(2):  # what stays once stays again
        analysis, run = run_once(Request(lake=jobs.root))
        assert (run.changes, run.is_whole) == ((), False)
        assert results(jobs, with_reasons=False) == {
            **first,
            "profiles": [{name: value for name, value in row.items() if name != "reason"} for row in first["profiles"]],
        }
        reasons = jobs.read("profiles")["reason"].to_pylist()
        assert all(reason.count("kept from an earlier analysis: ") == 1 for reason in reasons)
        assert all(any(name in reason for name in names) for reason in reasons)
        assert [one.what for one in analysis.kept] == ["job A", "job B", "link trunk backward", "link trunk forward"]

    (jobs.root / "away").rename(jobs.root / "samples")
    analysis, run = run_once(Request(lake=jobs.root))
    assert (run.changes, run.is_whole, analysis.kept) == ((), True, ())
    assert results(jobs) == first


def test_no_plan_is_written_that_lacks_jobs(jobs: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (jobs.root / "samples").rename(jobs.root / "away")
    plan = tmp_path / "plan.json"
    assert main(["analyze", "--lake", str(jobs.root), "--plan", str(plan)]) == 1
    printed = capsys.readouterr()
    assert not plan.exists()
    assert "it would lack job A, job B" in printed.err
    assert printed.out.startswith("No job could be read anew: what an earlier analysis found of them stays")


def test_of_links_that_are_other_ones_now_nothing_stays(jobs: Lake, tmp_path: Path) -> None:
    (jobs.root / "samples").rename(jobs.root / "away")
    (tmp_path / "other.toml").write_text(CLUSTER.replace('id = "trunk"', 'id = "spine"'))
    analyze(jobs.root, cluster=tmp_path / "other.toml")
    assert {(row["link_id"], row["verdict"]) for row in jobs.read("compat").to_pylist()} == {("spine", "unknown")}


def test_newer_readings_count_though_older_ones_are_lost(tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=2)
    analyze(lake.root)
    lost = sample_file(lake, "h1")
    add_host(lake, "h1", start_s=4.0, period_s=0.4)
    lost.unlink()
    found = analyze(lake.root)
    assert [fault.what for fault in found.faults] == [str(lost)]
    h1 = [profile for profile in found.profiles.values() if profile.host == "h1"]
    rows = {row["series_id"]: row for row in lake.read("profiles").to_pylist()}
    assert [profile.period_s for profile in h1] == pytest.approx([0.4, 0.4], rel=1e-3)
    assert sorted(row["period_s"] for row in rows.values())[2:] == pytest.approx([0.4, 0.4], rel=1e-3)
    assert found.kept == ()


def test_older_readings_do_not_count_where_newer_ones_are_lost(tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    first = lake.files("samples")
    add_host(lake, "h0", start_s=4.0, duration_s=12.0, period_s=0.4)
    analyze(lake.root, batch=BatchOptions(window_s=4.0))
    before = results(lake, with_reasons=False)
    (lost,) = set(lake.files("samples")) - set(first)
    lost.unlink()
    found = analyze(lake.root, batch=BatchOptions(window_s=4.0))
    assert results(lake, with_reasons=False) == before
    assert [one.what for one in found.kept] == ["2 series"]


def test_a_shard_that_dies_costs_no_result_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=2)
    analyze(lake.root)
    before = results(lake, with_reasons=False)
    for host in ("h0", "h1"):
        add_host(lake, host, start_s=4.0, period_s=0.4)

    def exhausted(_shard: object) -> None:
        raise MemoryError

    monkeypatch.setattr(outcome, "profile_shard", exhausted)
    _, run = run_once(Request(lake=lake.root))
    assert run.changes == ()
    assert all("memory ran out" in warning for warning in run.warnings)
    assert results(lake, with_reasons=False) == before


def test_a_closed_range_is_not_told_anew_while_a_file_of_it_is_away(tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    (away,) = lake.files("samples")
    add_host(lake, "h0", start_s=2.0, duration_s=14.0, period_s=0.4)
    options = BatchOptions(window_s=4.0)
    analyze(lake.root, batch=options)
    before = lake.read("profile_history").to_pylist()
    assert {row["from_ns"] for row in before} == {T0_NS + i * S for i in (0, 4, 8)}
    hidden = away.rename(tmp_path / "hidden")
    analyze(lake.root, batch=options)
    assert lake.read("profile_history").to_pylist() == before
    hidden.rename(away)
    analyze(lake.root, batch=options)
    assert lake.read("profile_history").to_pylist() == before


@pytest.mark.parametrize("table", ["profile_history", "runs"])
@pytest.mark.parametrize("is_gone", [True, False])
def test_a_lost_file_of_earlier_times_is_named_and_costs_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], table: str, *, is_gone: bool
) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=2)
    command = ["analyze", "--lake", str(lake.root), "--window", "1s"]
    assert main(command) == 0
    before, history = results(lake), lake.read("profile_history").drop(["analysed_ns"])
    (lost,) = lake.files(table)
    lost.unlink() if is_gone else lost.write_bytes(b"nothing of the kind")
    capsys.readouterr()
    for _ in range(2):
        assert main(command) == 1
        (told,) = [line for line in capsys.readouterr().err.splitlines() if "restore it from a copy" in line]
        assert told.startswith(f"offbeat: {lost}: ")
        assert results(lake) == before
    left = [path for path in lake.files("profile_history") if path != lost]
    assert read_segments(left, history.schema).sort_by(KEY) == history.sort_by(KEY)


def test_a_lost_file_of_what_ports_there_are_is_named_and_nothing_is_changed(tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=2)
    analyze(lake.root)
    before, lost = results(lake), lake.files("series")[1]
    lost.write_bytes(lost.read_bytes()[:100])
    with pytest.raises(LakeError, match=f"^{lost}: .*restore it from a copy[^-]*$"):
        analyze(lake.root)
    assert results(lake) == before


def test_an_analysis_that_is_cut_short_leaves_all_as_it_was(jobs: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = (*RESULTS, "links", "jobs", "placements", "paths")
    before = [jobs.files(table) for table in tables]

    def cut(*_arguments: object, **_options: object) -> None:
        raise LakeError("cut short")

    monkeypatch.setattr(measured, "find_overlaps", cut)
    with pytest.raises(LakeError, match="cut short"):
        analyze(jobs.root, cluster=jobs.root.parent / "cluster.toml")
    assert [jobs.files(table) for table in tables] == before
