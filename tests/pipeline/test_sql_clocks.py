"""Counters that a switch copies by a clock of its own: SQL has their bytes at the ticks of that clock."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from pipeline.batch import BatchOptions
from pipeline.flow import analyze
from pipeline.sql import open_lake
from pipeline.sql.database import Database
from profiler.rates import rate_series
from profiler.schema import arrow_schema
from tests.pipeline.lakes import CLUSTER, T0_NS, add_reads, make_lake, only, port

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store import Lake, Series

Floats = NDArray[np.floating[Any]]
Reads = tuple[NDArray[np.int64], NDArray[np.int64]]

CAPACITY_BPS = 400e6
DURATION_S = 1800.0
TRUNK, A, B = port("sw1", "t1", "transmit"), port("sw1", "p1", "receive"), port("sw1", "p2", "receive")
BURSTS = {A: (20.17, 8.0, 0.6 * CAPACITY_BPS, 3.0), B: (26.3, 9.4, 0.7 * CAPACITY_BPS, 1.5)}
"""Period, time Up, rate while Up, and start of the first burst, of the job behind each port."""


def _sent(t_s: Floats, series: Series) -> Floats:
    """Return the bytes that a job has sent."""
    period_s, up_s, rate_bps, start_s = BURSTS[series]
    cycle, rest_s = np.divmod(t_s - start_s, period_s)
    sent: Floats = (cycle * up_s + np.minimum(rest_s, up_s) + up_s) * rate_bps / 8
    return sent


def _polls_s(*, duration_s: float = DURATION_S) -> Floats:
    t_s = np.arange(0, duration_s, 0.57)
    return t_s + np.random.default_rng(1).uniform(0, 0.02, t_s.size)


def _copied(t_s: Floats, *, phase_s: float) -> Floats:
    """Return when the counter was copied that is read at a time."""
    copied_s: Floats = np.floor(t_s - phase_s) + phase_s
    return copied_s


def _reads(series: Series, t_s: Floats, *, phase_s: float) -> Reads:
    sent = _sent(_copied(t_s, phase_s=phase_s), series)
    return T0_NS + np.round(t_s * 1e9).astype(np.int64), np.round(sent).astype(np.int64)


def _analysed(root: Path, reads: dict[Series, Reads], *, window_s: float = 86_400.0) -> Lake:
    lake = make_lake(root, reads)
    cluster = root.with_suffix(".toml")
    cluster.write_text(CLUSTER)
    analyze(root, cluster=cluster, batch=BatchOptions(n_workers=1, window_s=window_s))
    return lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two jobs behind ports whose counters are copied each second, at phases of their own, and read each 0.57 s."""
    reads = {series: _reads(series, _polls_s(), phase_s=phase_s) for series, phase_s in ((A, -0.3), (B, -0.77))}
    return _analysed(tmp_path_factory.mktemp("clocks") / "lake", reads)


def test_time_and_bytes_of_contention_are_those_of_the_bursts(lake: Lake) -> None:
    t_s = np.arange(0, DURATION_S, 0.001)
    are_up = [(t_s - start_s) % period_s < up_s for period_s, up_s, _, start_s in BURSTS.values()]
    both_s = np.count_nonzero(are_up[0] & are_up[1]) * 0.001
    over_bytes = both_s * (sum(rate_bps for _, _, rate_bps, _ in BURSTS.values()) - CAPACITY_BPS) / 8
    with open_lake(lake.root) as database:
        row = only(database.run("contention_by_link").to_pylist(), link_id="trunk", direction="forward")
    assert row["shared_s"] == pytest.approx(both_s, rel=0.03)
    assert row["over_bytes"] == pytest.approx(over_bytes, rel=0.06)
    assert row["observed_s"] == pytest.approx(DURATION_S, abs=3)
    assert row["refresh_s"] == pytest.approx(1, rel=1e-3)


def test_windows_are_the_ticks_that_the_profiler_rebuilds(lake: Lake) -> None:
    with open_lake(lake.root) as database:
        rows = database.sql("select series_id, t_ns, window_ns, bytes, refresh_s from rates order by all").to_pylist()
    for series in (A, B):
        t_ns, value = _reads(series, _polls_s(), phase_s=-0.3 if series is A else -0.77)
        truth = rate_series(series, t_ns=t_ns, value=value)
        own = [row for row in rows if row["series_id"] == series.series_id]
        assert np.array([row["t_ns"] for row in own]) == pytest.approx(truth.edges_ns[1:], rel=0, abs=30_000_000)
        assert [row["bytes"] for row in own] == truth.delta_bytes.tolist()
        assert sum(row["bytes"] for row in own) == value[-1] - value[0]
        assert {round(row["refresh_s"], 3) for row in own} == {1.0}


def test_rates_are_never_more_than_what_was_sent(lake: Lake) -> None:
    with open_lake(lake.root) as database:
        rows = database.run("utilisation_by_link").to_pylist()
    for link, most_frac in (("a1", 0.3), ("b1", 0.35)):
        row = only(rows, link_id=link)
        assert (row["p99_frac"], row["max_frac"]) == pytest.approx((most_frac, most_frac), rel=0.05)
        assert row["refresh_s"] == pytest.approx(1.0, abs=1e-3)


def _steady(t_s: Floats, *, is_delta: bool) -> Reads:
    value = np.round((1 + _copied(t_s, phase_s=-0.2)) * 0.6 * CAPACITY_BPS / 8).astype(np.int64)
    return T0_NS + np.round(t_s * 1e9).astype(np.int64), np.diff(value, prepend=value[0]) if is_delta else value


@pytest.mark.parametrize("kind", ["counter", "delta"])
def test_a_steady_rate_is_steady(tmp_path: Path, kind: Literal["counter", "delta"]) -> None:
    trunk = port("sw1", "t1", "transmit", kind=kind)
    t_ns, value = _steady(_polls_s(duration_s=600), is_delta=kind == "delta")
    lake = _analysed(tmp_path / "lake", {trunk: (t_ns, value)})
    with open_lake(lake.root) as database:
        (row,) = database.run("utilisation_by_link").to_pylist()
        (total,) = database.sql("select cast(sum(bytes) as bigint) as bytes from rates").to_pylist()
    assert (row["p50_frac"], row["max_frac"], row["full_frac"]) == (0.6, pytest.approx(0.6, abs=0.03), 0.0)
    assert total["bytes"] == (value.sum() if kind == "delta" else value[-1] - value[0])


def test_a_counter_that_repeats_readings_at_no_interval_is_marked(tmp_path: Path) -> None:
    t_s = _polls_s(duration_s=600)
    copies_s = np.cumsum(np.random.default_rng(2).uniform(0.75, 1.25, 900))
    seen_s = np.append(copies_s, 0.0)[np.searchsorted(copies_s, t_s, side="right") - 1]
    t_ns, repeating = T0_NS + np.round(t_s * 1e9).astype(np.int64), np.round(seen_s * CAPACITY_BPS / 16).astype(int)
    steady = np.round(t_s * CAPACITY_BPS / 16).astype(int)
    lake = make_lake(tmp_path / "lake", {TRUNK: (t_ns, repeating), A: (t_ns, steady)})
    (tmp_path / "cluster.toml").write_text(CLUSTER, encoding="utf-8")
    analysis = analyze(lake.root, cluster=(tmp_path / "cluster.toml",), batch=BatchOptions(n_workers=1))
    with open_lake(lake.root) as database:
        profiles = database.run("profiles_by_series").to_pylist()
        (host,) = database.run("coverage_by_host").to_pylist()
        links = database.run("utilisation_by_link").to_pylist()
    told = {row["device"]: row["repeated_frac"] for row in profiles}
    assert told == {"p1": None, "t1": pytest.approx(np.mean(np.diff(repeating) == 0), rel=0.05)}
    assert {row["link_id"]: row["repeated_frac"] for row in links} == {"a1": None, "trunk": told["t1"]}
    assert host["n_repeating"] == 1
    assert [one.what for one in analysis.skipped if "repeat" in one.why] == ["single rates of 1 port, sw1/t1/transmit"]


def test_reads_since_the_analysis_are_as_they_are_and_no_byte_is_lost(tmp_path: Path) -> None:
    t_s = _polls_s(duration_s=900)
    t_ns, value = _steady(t_s, is_delta=False)
    known = t_s < 600
    lake = _analysed(tmp_path / "lake", {TRUNK: (t_ns[known], value[known])})
    add_reads(lake, {TRUNK: (t_ns[~known], value[~known]), B: (t_ns[:1], value[:1])})
    with open_lake(lake.root) as database:
        rows = database.sql("select t_ns, bytes, refresh_s from rates order by t_ns").to_pylist()
    assert sum(row["bytes"] for row in rows) == value[-1] - value[0]
    assert {row["refresh_s"] is None for row in rows if row["t_ns"] <= t_ns[known][-1]} == {False}
    assert sum(row["refresh_s"] is None for row in rows) == np.count_nonzero(~known)


def test_closed_ranges_keep_the_clocks_that_they_had(tmp_path: Path) -> None:
    # The clock drifts: no line through all of the time would tell the ticks.
    t_s = _polls_s()
    copied_s = _copied(t_s + 0.4 * np.sin(t_s / 400), phase_s=-0.2)
    reads = (T0_NS + np.round(t_s * 1e9).astype(np.int64), np.round((1 + copied_s) * 30e6).astype(np.int64))
    lake = _analysed(tmp_path / "lake", {TRUNK: reads}, window_s=400.0)
    with open_lake(lake.root) as database:
        rows = database.sql("select bytes, rate_bps, refresh_s from rates").to_pylist()
        (history,) = database.sql("select count(*) as n from profile_history where refresh_s > 0").to_pylist()
    assert history["n"] >= 2
    assert sum(row["bytes"] for row in rows) == reads[1][-1] - reads[1][0]
    # Ranges part a tick, whose parts each have all of its bytes or none.
    odd = [row for row in rows if row["refresh_s"] is None or not 225e6 < row["rate_bps"] < 255e6]
    assert len(odd) <= 2 * (history["n"] + 1)


def _answers(lake: Lake) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    with open_lake(lake.root) as database:
        rates = database.sql("from rates order by all").to_pylist()
        return rates, database.run("contention_by_link").to_pylist()


def test_a_longer_window_after_a_shorter_one_answers_as_one_that_was_always_long(tmp_path: Path, lake: Lake) -> None:
    reads = {series: _reads(series, _polls_s(), phase_s=phase_s) for series, phase_s in ((A, -0.3), (B, -0.77))}
    again = _analysed(tmp_path / "lake", reads, window_s=400.0)
    with open_lake(again.root) as database:
        (before,) = database.sql("select count(distinct from_ns) as n from clocks(null, null)").to_pylist()
    assert before["n"] >= 4
    analyze(again.root, cluster=tmp_path / "lake.toml", batch=BatchOptions(n_workers=1))
    assert _answers(again) == _answers(lake)


def test_windows_that_cut_each_other_part_no_tick_twice(tmp_path: Path) -> None:
    t_s = _polls_s()
    t_ns, value = _steady(t_s, is_delta=False)
    lake = _analysed(tmp_path / "lake", {TRUNK: (t_ns, value)}, window_s=200.0)
    analyze(lake.root, cluster=tmp_path / "lake.toml", batch=BatchOptions(n_workers=1, window_s=330.0))
    with open_lake(lake.root) as database:
        rows = database.sql("select t_ns, bytes, rate_bps, refresh_s from rates order by t_ns").to_pylist()
        clocks = database.sql("select from_ns, to_ns, knots_ns from clocks(null, null) order by from_ns").to_pylist()
    assert any(one["to_ns"] < one["knots_ns"][-1] for one in clocks)
    assert all(one["to_ns"] < later["from_ns"] for one, later in pairwise(clocks))
    assert sum(row["bytes"] for row in rows) == value[-1] - value[0]
    assert len(rows) == pytest.approx(DURATION_S, abs=2 * len(clocks))
    odd = [row for row in rows if row["rate_bps"] != pytest.approx(0.6 * CAPACITY_BPS, rel=0.06)]
    assert len(odd) <= 2 * len(clocks)


def _clock_rows(table: str, rows: list[dict[str, Any]]) -> pa.Table:
    known = [
        {"series_id": 1, "status": "periodic", **row, **({"knots_ticks": [0.0, 1.0]} if row["refresh_s"] else {})}
        for row in rows
    ]
    return pa.Table.from_pylist(known, schema=arrow_schema(table))


@pytest.mark.parametrize("seed", range(6))
def test_an_instant_has_the_clock_of_what_was_analysed_last(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ranges: list[dict[str, Any]] = []
    for from_ns in rng.choice(60, size=8, replace=False).tolist():
        to_ns = from_ns + int(rng.integers(2, 40))
        refresh_s = None if rng.random() < 0.25 else float(len(ranges) + 1)
        knots = {} if refresh_s is None else {"knots_ns": [from_ns, to_ns - 1]}
        ranges.append({"from_ns": from_ns, "to_ns": to_ns, "refresh_s": refresh_s, **knots})
    history = [{**row, "analysed_ns": int(rng.integers(3))} for row in ranges[1:]]
    # What found no clock up to its last read has that in its time.
    present = ranges[0] | ({} if ranges[0]["refresh_s"] else {"to_ns": ranges[0]["to_ns"] - 1})
    truth = {}
    in_order = sorted(history, key=lambda row: (row["analysed_ns"], row["from_ns"]))
    for row in [*in_order, ranges[0]]:
        truth.update(dict.fromkeys(range(row["from_ns"], row["to_ns"]), row["refresh_s"]))
    tables = {
        "profiles": _clock_rows("profiles", [present]),
        "profile_history": _clock_rows("profile_history", history),
    }
    with Database(tables) as database:
        told = database.sql("from clocks(null, null)").to_pylist()
    instants = [(t_ns, one["refresh_s"]) for one in told for t_ns in range(one["from_ns"], one["to_ns"] + 1)]
    assert sorted(instants) == sorted((t_ns, refresh_s) for t_ns, refresh_s in truth.items() if refresh_s is not None)
    assert len({one["from_ns"] for one in told}) == len(told)


def test_without_an_analysis_no_clock_is_known(tmp_path: Path) -> None:
    t_ns, value = _steady(_polls_s(duration_s=600), is_delta=False)
    with open_lake(make_lake(tmp_path / "lake", {TRUNK: (t_ns, value)}).root) as database:
        rows = database.sql("select bytes, refresh_s from rates").to_pylist()
    assert len(rows) == t_ns.size - 1
    assert {row["refresh_s"] for row in rows} == {None}
