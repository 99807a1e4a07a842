"""Runs one after another: on time, noted in the lake, with what changed named."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.cli.main import main
from pipeline.runs import Clock, Request, Run, repeat, run_once
from pipeline.state import Beat, Change, NetworkState, find_changes, read_state
from pipeline.topology import read_cluster
from profiler.errors import LakeError, UsageError
from profiler.store import Lake
from tests.pipeline.fleets import add_host, fleet
from tests.pipeline.lakes import CLUSTER, two_job_lake

if TYPE_CHECKING:
    from pipeline.analysis import Analysis


@dataclass
class FakeClock:
    """Time that passes only where it is told to: in runs, and in sleep."""

    run_s: list[float]
    now_s: float = 1000.0
    begun_s: list[float] = field(default_factory=list)

    def run(self, request: Request, **_: object) -> tuple[Analysis, Run]:
        assert isinstance(request.lake, Path)
        self.begun_s.append(self.now_s)
        self.now_s += self.run_s.pop(0)
        return None, Run(run_ns=int(self.begun_s[-1] * 1e9), duration_s=0.0)  # type: ignore[return-value]

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s

    @property
    def clock(self) -> Clock:
        return Clock(now_ns=lambda: int(self.now_s * 1e9), monotonic_s=lambda: self.now_s, sleep=self.sleep)


# the schedule


def test_runs_begin_on_time_however_long_each_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeClock(run_s=[3.0, 9.9, 0.1, 5.0])
    monkeypatch.setattr("pipeline.runs.run_once", fake.run)
    runs = list(repeat(Request(lake=Path("lake")), every_s=10.0, n_runs=4, clock=fake.clock))
    assert fake.begun_s == [1000.0, 1010.0, 1020.0, 1030.0]
    assert [run.n_late for run in runs] == [0, 0, 0, 0]
    assert fake.now_s == 1035.0  # nobody waits after the last


def test_runs_that_would_begin_while_one_is_busy_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeClock(run_s=[25.0, 10.0, 1.0])
    monkeypatch.setattr("pipeline.runs.run_once", fake.run)
    runs = list(repeat(Request(lake=Path("lake")), every_s=10.0, n_runs=3, clock=fake.clock))
    assert fake.begun_s == [1000.0, 1030.0, 1050.0]
    assert [run.n_late for run in runs] == [0, 2, 1]


def test_a_run_that_fails_is_told_and_the_next_tries_again(tmp_path: Path) -> None:
    lake = two_job_lake(tmp_path / "lake", duration_s=8.0)
    manifest = lake.root / "manifest.sqlite"

    def break_then_mend(_duration_s: float) -> None:
        away = manifest.with_suffix(".away")
        (away if away.exists() else manifest).rename(manifest if away.exists() else away)

    runs = list(repeat(Request(lake=lake.root), every_s=1.0, n_runs=3, clock=Clock(sleep=break_then_mend)))
    assert [run.error is None for run in runs] == [True, False, True]
    assert "manifest.sqlite" in str(runs[1].error)
    assert runs[1].to_dict()["series"] is None


def test_the_first_run_that_fails_ends_it(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="no such lake"):
        next(repeat(Request(lake=tmp_path / "none"), every_s=1.0))


@pytest.mark.parametrize(("every_s", "n_runs"), [(0.0, None), (-1.0, 1), (1.0, 0)])
def test_a_schedule_that_has_no_meaning_is_refused(every_s: float, n_runs: int | None) -> None:
    with pytest.raises(UsageError, match="must be positive"):
        repeat(Request(lake="lake"), every_s=every_s, n_runs=n_runs)


# what changed


def test_a_lake_that_grows_tells_what_changed_and_each_run_is_a_row(tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=2)
    request = Request(lake=lake.root)
    _, first = run_once(request, now_ns=lambda: 1)
    add_host(lake, "h0", start_s=86_400 * 2.0, period_s=0.4)
    add_host(lake, "h5", period_s=0.3)
    _, second = run_once(request, now_ns=lambda: 2)
    _, third = run_once(request, now_ns=lambda: 3)
    assert (first.changes, third.changes) == ((), ())
    told = {str(change) for change in second.changes}
    assert told == {
        "port h0/eth0/transmit: a period of 200 ms -> a period of 400 ms",
        "port h0/eth1/transmit: a period of 200 ms -> a period of 400 ms",
        "port h5/eth0/transmit: new, a period of 300 ms",
        "port h5/eth1/transmit: new, a period of 300 ms",
    }
    rows = lake.read("runs").to_pylist()
    assert [(row["run_ns"], row["n_series"], row["n_profiled"], row["n_changes"]) for row in rows] == [
        (1, 4, 4, 0),
        (2, 6, 6, 4),
        (3, 6, 0, 0),
    ]
    assert set(rows[1]["changes"].splitlines()) == told


def test_jobs_and_links_that_come_and_go_are_named(tmp_path: Path) -> None:
    lake = two_job_lake(tmp_path / "lake", duration_s=8.0)
    cluster = tmp_path / "cluster.toml"
    cluster.write_text(CLUSTER)
    request = Request(lake=lake.root, cluster=[cluster])
    run_once(request)
    cluster.write_text(CLUSTER[: CLUSTER.index('[[job]]\nid = "B"')])
    _, run = run_once(request)
    assert [change.what for change in run.changes] == ["job B", "link trunk backward", "link trunk forward"]
    assert all(change.after is None for change in run.changes)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (Beat(status="idle"), Beat(status="periodic", period_s=0.25), "job A: idle -> a period of 250 ms"),
        (Beat(status="periodic", period_s=0.25), Beat(status="aperiodic"), "job A: a period of 250 ms -> aperiodic"),
        (Beat(status="periodic", period_s=0.25), Beat(status="periodic", period_s=0.252), None),
        (
            Beat(status="periodic", period_s=0.25),
            Beat(status="periodic", period_s=0.253),
            "250 ms -> a period of 253 ms",
        ),
        (
            Beat(status="periodic", period_s=0.25, low_s=0.2, high_s=0.3),
            Beat(status="periodic", period_s=0.29, low_s=0.28, high_s=0.31),
            None,
        ),
        (Beat(status="idle"), Beat(status="idle"), None),
    ],
)
def test_a_beat_has_changed_if_status_or_period_surely_differ(before: Beat, after: Beat, told: str | None) -> None:
    changes = find_changes(
        NetworkState(is_known=True, beats={"job A": before}), NetworkState(is_known=True, beats={"job A": after})
    )
    assert len(changes) == (told is not None)
    assert told is None or str(changes[0]).endswith(told)


def test_a_verdict_that_changed_is_named_and_nothing_is_if_nothing_was_known() -> None:
    before = NetworkState(is_known=True, verdicts={"link t forward": "paced"})
    after = NetworkState(is_known=True, verdicts={"link t forward": "overloaded", "link u forward": "futile"})
    assert find_changes(before, after) == (
        Change(what="link t forward", before="paced", after="overloaded"),
        Change(what="link u forward", before=None, after="futile"),
    )
    assert find_changes(NetworkState(), after) == ()


def test_a_window_that_is_another_than_before_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    told = []
    for window in ("24h", "2s", "2s", "24h"):
        main(["analyze", "--lake", str(lake.root), "--window", window])
        told.append([line for line in capsys.readouterr().err.splitlines() if "the analysis before" in line])
    assert [len(lines) for lines in told] == [0, 1, 0, 1]
    assert "had --window 24 h: " in told[1][0]
    assert "had --window 2 s: " in told[3][0]


def test_results_that_are_lost_are_written_anew(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    lake = two_job_lake(tmp_path / "lake", duration_s=4.0)
    request = Request(lake=lake.root, cluster=[tmp_path / "cluster.toml"])
    run_once(request)
    tables = ("profiles", "phases", "compat", "shifts")
    before = [lake.read(table) for table in tables]
    for table in tables:
        shutil.rmtree(tmp_path / "lake" / table)
    _, run = run_once(request)
    assert (run.is_whole, run.changes) == (True, ())
    assert [lake.read(table) for table in tables] == before


def test_a_lake_that_was_never_analysed_has_no_state(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    lake.replace_all(read_cluster(tmp_path / "cluster.toml").to_tables())
    assert not read_state(lake).is_known
