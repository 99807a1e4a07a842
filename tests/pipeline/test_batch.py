"""Shards: what is in one, what makes it another, and that its result is neither lost nor computed twice."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.batch import BatchOptions, SeriesProfile, Share, Work, outcome, plan, profile_share
from pipeline.batch.files import INDEX_NAME
from pipeline.batch.results import read_result, write_result
from pipeline.batch.shard import PORT_COLUMNS, SOURCES
from pipeline.flow import analyze
from pipeline.measured import closed_shards, read_ports
from profiler.errors import UsageError
from profiler.phases import TrafficProfile
from profiler.phases.phase import Outlier, Phase
from profiler.store import compact
from tests.data import ROOT
from tests.pipeline.fleets import add_host, fleet, profiles, rows, sample_file, shards_of
from tests.pipeline.lakes import T0_NS, two_job_lake

if TYPE_CHECKING:
    from profiler.store import Lake

S = 1_000_000_000
STUCK = """
import sys, time
from pipeline.batch import outcome
from profiler.store import Lake
from tests.pipeline.fleets import profiles
real, begun = outcome.profile_shard, []
def stuck_in_the_fourth(shard):
    begun.append(shard)
    if len(begun) == 4:
        time.sleep(600)
    return real(shard)
outcome.profile_shard = stuck_in_the_fourth
profiles(Lake.open(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake that no test adds to."""
    return fleet(tmp_path_factory.mktemp("settled") / "lake")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return fleet(tmp_path / "lake", n_hosts=3)


# what a shard is


def test_each_host_is_a_shard_of_its_own_files(settled: Lake, tmp_path: Path) -> None:
    shards = shards_of(settled, tmp_path)
    assert [(shard.host, len(shard.ports), shard.paths) for shard in shards] == [
        (f"h{i}", 2, (sample_file(settled, f"h{i}"),)) for i in range(4)
    ]
    assert [shard.n_samples for shard in shards] == [2 * 4001] * 4


def test_a_host_of_many_series_is_divided(settled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows(profiles(settled, BatchOptions(work=tmp_path / "whole")).series.values())
    monkeypatch.setattr(plan, "SHARD_SERIES", 1)
    assert len(shards_of(settled, tmp_path)) == 8
    assert rows(profiles(settled, BatchOptions(work=tmp_path / "parts")).series.values()) == whole


def test_a_host_of_many_samples_is_divided(settled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "SHARD_SAMPLES", 5000)
    assert [len(shard.ports) for shard in shards_of(settled, tmp_path)] == [1] * 8


def test_of_too_many_samples_the_newest_are_analysed_and_that_is_told(
    settled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "SERIES_SAMPLES", 2000)
    found = profiles(settled, BatchOptions(work=tmp_path))
    for one in found.series.values():
        assert one.from_ns is not None
        assert one.from_ns == pytest.approx(T0_NS + 2 * S, abs=S // 100)
        assert one.to_ns == T0_NS + 4 * S
        assert "about 2001 older ones of a series are too many" in one.profile.warnings[-1]


def test_closed_ranges_begin_at_multiples_of_the_window_and_the_present_holds_one_to_two(tmp_path: Path) -> None:
    lake = two_job_lake(tmp_path / "lake", duration_s=7.5)
    shards = shards_of(lake, tmp_path / "work", window_s=2.0)
    seconds = [((one.from_ns - T0_NS) / S, (one.to_ns - T0_NS) / S, one.is_present) for one in shards]
    assert seconds == [(4.0, pytest.approx(7.5), True), (0.0, 2.0, False), (2.0, 4.0, False)]


def test_a_window_that_is_too_short_is_refused(settled: Lake, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"window 0\.5 s: too short"):
        profiles(settled, BatchOptions(window_s=0.5, work=tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        {"digests": ("other",)},
        {"from_ns": 1},
        {"to_ns": 1},
        {"n_left_out": 1},
        {"version": "1.0"},
        {"ports": (dict.fromkeys(PORT_COLUMNS, 0),)},
    ],
)
def test_what_a_result_depends_on_is_in_its_key(settled: Lake, tmp_path: Path, change: dict[str, object]) -> None:
    shard = shards_of(settled, tmp_path)[0]
    assert replace(shard, **change).key != shard.key  # type: ignore[arg-type]


def test_where_files_stand_is_not_in_the_key(settled: Lake, tmp_path: Path) -> None:
    shard = shards_of(settled, tmp_path)[0]
    assert replace(shard, paths=(Path("elsewhere"),), n_samples=1).key == shard.key


def test_every_source_that_makes_a_profile_is_in_the_version() -> None:
    # What tells an error or shows a result changes none; of the store, only reading counters.
    harmless = {"errors", "results", "documents", "store", ""}
    known = {name.removesuffix(".py").split("/")[0] for name in SOURCES} | harmless
    imported = set()
    for name in SOURCES:
        part = ROOT / "profiler" / name
        for source in part.rglob("*.py") if part.is_dir() else [part]:
            modules = re.findall(r"^ *(?:from|import) profiler\.?([\w.]*)", source.read_text(), flags=re.MULTILINE)
            imported |= {module.split(".")[0] for module in modules}
    assert imported
    assert imported <= known


# results


def awkward_profile() -> TrafficProfile:
    phases = (
        Phase(kind="up", start_s=0.0, width_s=0.1, rate_bps=float("nan"), peak_bps=1 / 3),
        Phase(kind="down", start_s=0.1, width_s=0.2, rate_bps=0.0, width_low_s=1e-300),
    )
    inner = TrafficProfile(status="periodic", period_s=0.3, phases=phases, fold_bps=np.zeros(0), reason="inner")
    other = TrafficProfile(
        status="periodic", period_s=0.1 + 0.2, phases=phases, fold_bps=np.zeros(0), others=(inner,), reason="other"
    )
    return TrafficProfile(
        status="periodic",
        host="hé|\n",
        period_s=0.3,
        phases=phases,
        outliers=(Outlier(t_ns=2**62 + 1, duration_s=0.1, kind="large"),),
        others=(other, inner),
        levels_bps=(0.1, 0.2),
        other_periods_s=(0.3,),
        warnings=("one", "two"),
        anchor_ns=2**62 + 3,
        fold_bps=np.array([0.1, np.nan, np.inf]),
    )


def test_every_bit_of_a_profile_comes_back(tmp_path: Path) -> None:
    given = [
        SeriesProfile(series_id=2**64 - 1, profile=awkward_profile(), from_ns=None, to_ns=None),
        SeriesProfile(series_id=3, profile=TrafficProfile(status="idle", fold_bps=np.zeros(0)), from_ns=1, to_ns=2),
        SeriesProfile(series_id=1, profile=awkward_profile(), from_ns=5, to_ns=6),
    ]
    write_result(tmp_path / "one", given, key="k")
    found = read_result(tmp_path / "one", key="k")
    assert found is not None
    assert rows(found) == rows(given)
    assert [other.reason for other in found[0].profile.others] == ["other", "inner"]


def test_a_result_that_is_torn_or_of_another_shard_is_none(settled: Lake, tmp_path: Path) -> None:
    found = profiles(settled, BatchOptions(work=tmp_path)).series.values()
    write_result(tmp_path / "one", found, key="k")
    assert read_result(tmp_path / "one", key="other") is None
    whole = (tmp_path / "one").read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "one").write_bytes(whole[:size])
        assert read_result(tmp_path / "one", key="k") is None


# kept, resumed, incremental


def test_what_is_finished_is_not_profiled_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    first = profiles(lake)
    monkeypatch.setattr(outcome, "profile_shard", None)
    again = profiles(lake)
    assert (first.n_profiled, again.n_profiled) == (6, 0)
    assert rows(again.series.values()) == rows(first.series.values())


def test_only_a_host_with_new_data_is_profiled_again(lake: Lake) -> None:
    profiles(lake)
    add_host(lake, "h1", start_s=4.0, period_s=0.25)
    seen: list[tuple[int, int]] = []
    found = profiles(lake, on_port=lambda n_done, n_series: seen.append((n_done, n_series)))
    assert (found.n_profiled, seen) == (2, [(0, 2), (2, 2)])
    spans = {(one.to_ns or 0) - (one.from_ns or 0) for one in found.series.values() if one.profile.host == "h1"}
    assert spans == {8 * S}


def test_a_torn_result_is_computed_again(lake: Lake) -> None:
    first = profiles(lake)
    torn = next((lake.root / "work").glob("*.shard"))
    torn.write_bytes(torn.read_bytes()[:100])
    again = profiles(lake)
    assert again.n_profiled == 2
    assert rows(again.series.values()) == rows(first.series.values())


def test_a_torn_index_is_read_from_the_files_again(lake: Lake) -> None:
    profiles(lake)
    (lake.root / "work" / INDEX_NAME).write_bytes(b"PAR1")
    assert profiles(lake).n_profiled == 0


def test_what_nobody_asks_for_any_more_is_swept_after_a_while(lake: Lake) -> None:
    profiles(lake)
    old = Work(lake.root / "work").keys()
    add_host(lake, "h1", start_s=4.0, period_s=0.25)
    profiles(lake)
    assert len(Work(lake.root / "work").keys()) == 4
    an_hour_ago = time.time() - 3700
    for key in old:
        os.utime(lake.root / "work" / f"{key}.shard", (an_hour_ago, an_hour_ago))
    profiles(lake)
    assert len(Work(lake.root / "work").keys()) == 3


def test_closed_ranges_are_profiled_once_and_kept_in_the_history(tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    options = BatchOptions(window_s=2.0)
    analyze(lake.root, batch=options)
    add_host(lake, "h0", start_s=4.0, duration_s=3.5, period_s=0.2)
    found = analyze(lake.root, batch=options)
    history = lake.read("profile_history").to_pylist()
    assert sorted({((row["from_ns"] - T0_NS) / S, (row["to_ns"] - T0_NS) / S) for row in history}) == [
        (0.0, 2.0),
        (2.0, 4.0),
    ]
    assert [row["period_s"] for row in history] == pytest.approx([0.2] * 4, rel=1e-3)
    # The range from 0 s was closed before; that from 2 s to 4 s is since; the present is of 4 s to 7.5 s.
    assert found.n_profiled == 4
    assert {row["from_ns"] for row in lake.read("profiles").to_pylist()} == {T0_NS + 4 * S}
    assert analyze(lake.root, batch=options).n_profiled == 0
    assert lake.read("profile_history").num_rows == 4


def test_the_history_of_several_windows_has_every_time_once(tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    add_host(lake, "h0", start_s=4.0, duration_s=3.5, period_s=0.2)
    analyze(lake.root, batch=BatchOptions(window_s=1.0))
    assert history_seconds(lake) == [(i, i + 1) for i in range(6)]
    add_host(lake, "h0", start_s=7.5, duration_s=9.0, period_s=0.2)
    wide = BatchOptions(window_s=4.0)
    analyze(lake.root, batch=wide)
    # Closed are 0 to 4, which is known, 4 to 8, of which the end is new, and 8 to 12; 12 s to 16.5 s is the present.
    assert history_seconds(lake) == [*((i, i + 1) for i in range(6)), (6, 8), (8, 12)]
    assert lake.read("profiles")["from_ns"].unique().to_pylist() == [T0_NS + 12 * S]
    assert analyze(lake.root, batch=wide).n_profiled == 0
    analyze(lake.root, batch=BatchOptions(window_s=1.0))
    assert history_seconds(lake) == [
        *((i, i + 1) for i in range(6)),
        (6, 8),
        (8, 12),
        *((i, i + 1) for i in (12, 13, 14)),
    ]


def history_seconds(lake: Lake) -> list[tuple[float, float]]:
    """Return the ranges that the history has."""
    history = lake.read("profile_history").to_pylist()
    return sorted({((row["from_ns"] - T0_NS) / S, (row["to_ns"] - T0_NS) / S) for row in history})


def test_results_are_the_same_after_compaction(lake: Lake) -> None:
    first = rows(profiles(lake).series.values())
    compact(lake)
    assert len(lake.files("samples")) == 1
    assert rows(profiles(lake).series.values()) == first


def test_a_run_that_was_killed_is_resumed_where_it_was(tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=5)
    work = Work(lake.root / "work")
    with subprocess.Popen([sys.executable, "-c", STUCK, str(lake.root)], cwd=ROOT) as process:
        deadline_s = time.monotonic() + 60
        while len(work.keys()) < 3 and time.monotonic() < deadline_s:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert len(work.keys()) == 3
    resumed = profiles(lake)
    assert resumed.n_profiled == 2 * (5 - 3)
    assert rows(resumed.series.values()) == rows(profiles(lake, BatchOptions(work=tmp_path / "new")).series.values())


# shares of a job array


@pytest.mark.parametrize("n_shares", [3, 5])
def test_shares_together_are_the_whole_whatever_their_number(settled: Lake, tmp_path: Path, n_shares: int) -> None:
    ports = read_ports(settled)
    options = BatchOptions(work=tmp_path / "shares")
    runs = [
        profile_share(
            settled, ports, options=options, share=Share(number=i, total=n_shares), on_port=lambda _a, _b: None
        )
        for i in range(1, n_shares + 1)
    ]
    assert sum(run.n_finished for run in runs) == sum(run.n_shards for run in runs) == 4
    merged = profiles(settled, replace(options, compute="nothing"))
    assert (merged.n_profiled, merged.faults) == (0, ())
    assert rows(merged.series.values()) == rows(profiles(settled, BatchOptions(work=tmp_path / "one")).series.values())


def test_a_merge_names_what_no_share_has_finished(settled: Lake, tmp_path: Path) -> None:
    options = BatchOptions(work=tmp_path)
    share = Share(number=2, total=2)
    profile_share(settled, read_ports(settled), options=options, share=share, on_port=lambda _a, _b: None)
    merged = profiles(settled, replace(options, compute="nothing"))
    assert len(merged.faults) == 2
    assert all("not computed yet" in fault.why for fault in merged.faults)
    statuses = [one.profile.status for one in merged.series.values()]
    assert (statuses.count("no_data"), statuses.count("periodic")) == (4, 4)


def test_a_share_that_comes_after_a_merge_finishes_what_that_lacked(tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake")
    options = BatchOptions(window_s=1.0)

    def finish(number: int) -> None:
        share, known = Share(number=number, total=3), closed_shards(lake)
        profile_share(lake, read_ports(lake), options=options, share=share, on_port=lambda _a, _b: None, known=known)

    finish(1)
    finish(3)
    assert analyze(lake.root, batch=replace(options, compute="nothing")).faults
    finish(2)
    assert analyze(lake.root, batch=replace(options, compute="nothing")).faults == ()


@pytest.mark.parametrize("text", ["0/4", "5/4", "1/0", "1", "a/b", "-1/4", "1/2/3", ""])
def test_a_share_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="shard"):
        Share.parse(text)
