"""Queries of coverage: reads, gaps, losses and flags, by series and by host."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from pipeline.sql import open_lake
from profiler.errors import UsageError
from tests.pipeline.lakes import GAPPY, T0_NS, add_reads, make_lake, port

if TYPE_CHECKING:
    from pathlib import Path


def test_coverage_counts_reads_gaps_and_flags(tmp_path: Path) -> None:
    t_ns = np.array([0, 1, 2, 9, 10]) * 1_000_000_000
    columns = {"flags": np.array([0, 0, 8, 1, 0]), "epoch": np.array([0, 0, 0, 1, 1])}
    lake = make_lake(tmp_path / "lake", {port("h1", "eth0", "transmit"): (t_ns, np.arange(5))}, **columns)
    with open_lake(lake.root) as database:
        (row,) = database.run("samples_by_series", host="h1").to_pylist()
        assert database.run("samples_by_series", host="h2").num_rows == 0
    assert (row["n_samples"], row["span_s"], row["step_s"], row["longest_gap_s"]) == (5, 10.0, 1.0, 7.0)
    assert (row["n_gaps"], row["unread_s"]) == (1, 6.0)
    assert (row["n_missed"], row["n_resets"], row["n_flagged"]) == (1, 1, 2)


def test_a_host_is_covered_but_for_its_gaps_and_its_late_series(tmp_path: Path) -> None:
    whole = (T0_NS + np.arange(11) * 1_000_000_000, np.arange(11))
    late = (T0_NS + np.arange(5, 11) * 1_000_000_000, np.arange(6))
    devices = {"eth0": GAPPY, "eth1": whole, "eth2": late}
    lake = make_lake(tmp_path / "lake", {port("h1", name, "transmit"): reads for name, reads in devices.items()})
    add_reads(lake, {port("h2", "eth0", "transmit"): (whole[0][:0], whole[1][:0])})
    with open_lake(lake.root) as database:
        first, second = database.run("coverage_by_host").to_pylist()
        (gap,) = database.run("gaps_by_host", host="h1").to_pylist()
        none = database.run("gaps_by_host", since="2026-11-30T00:53:30").num_rows
        part = database.run("coverage_by_host", host="h1", until="2026-11-30T00:53:22").to_pylist()
    assert (first["host"], first["n_series"], first["n_silent"], first["n_samples"]) == ("h1", 3, 0, 5 + 11 + 6)
    assert (first["span_s"], first["n_gaps"], first["unread_s"], first["longest_gap_s"]) == (10.0, 1, 6.0, 7.0)
    assert first["covered_frac"] == pytest.approx((4 + 10 + 5) / 30)
    assert str(first["first_at"]) == "2026-11-30 00:53:20"
    assert (second["host"], second["n_series"], second["n_silent"], second["covered_frac"]) == ("h2", 1, 1, None)
    assert (gap["device"], gap["start_ns"] - T0_NS, gap["end_ns"] - T0_NS) == ("eth0", 2 * 10**9, 9 * 10**9)
    assert (gap["gap_s"], gap["step_s"], gap["unread_s"], gap["is_reset"]) == (7.0, 1.0, 6.0, False)
    assert none == 0
    assert [(row["n_samples"], row["n_gaps"]) for row in part] == [(6, 0)]


def test_coverage_is_that_of_pandas(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    usual_ns, n_reads = 50_000_000, 2000
    steps_ns = usual_ns + rng.integers(-1_000_000, 1_000_000, n_reads)
    steps_ns[rng.choice(n_reads, 20, replace=False)] += rng.integers(4 * usual_ns, 40 * usual_ns, 20)
    t_ns = pd.Series(T0_NS + np.cumsum(steps_ns))
    lake = make_lake(tmp_path / "lake", {port("h", "eth0", "transmit"): (t_ns.to_numpy(), np.arange(n_reads))})
    gaps_ns = t_ns.diff().dropna()
    median_ns = gaps_ns.median()
    lost = gaps_ns[gaps_ns > 3 * median_ns] - median_ns
    with open_lake(lake.root) as database:
        (row,) = database.run("samples_by_series").to_pylist()
        gaps = database.run("gaps_by_host").to_pylist()
    assert row["step_s"] == pytest.approx(median_ns / 1e9, rel=0.01)
    assert (row["n_gaps"], len(gaps)) == (len(lost), len(lost)) == (20, 20)
    assert row["unread_s"] == pytest.approx(lost.sum() / 1e9, rel=0.01)
    assert [gap["gap_s"] for gap in gaps] == pytest.approx(sorted(gaps_ns.nlargest(20) / 1e9, reverse=True))


def test_a_silence_that_its_source_knows_of_is_no_gap(tmp_path: Path) -> None:
    flow = port("h", "eth0", "transmit", layer="capture", kind="delta")
    with open_lake(make_lake(tmp_path / "lake", {flow: GAPPY}).root) as database:
        (row,) = database.run("samples_by_series").to_pylist()
        assert (row["n_gaps"], row["unread_s"], row["longest_gap_s"]) == (None, None, 7.0)
        assert database.run("gaps_by_host").num_rows == 0


@pytest.mark.parametrize("wrong", ["yesterday", "2026-11-31", "9999-01-01T00:00", ""])
def test_a_time_that_is_none_is_refused_with_the_parameter_and_how_times_are_given(tmp_path: Path, wrong: str) -> None:
    lake = make_lake(tmp_path / "lake", {port("h", "eth0", "transmit"): GAPPY})
    complaint = f"parameter since='{wrong}': expected type time .*2026-11-30T08:00"
    with open_lake(lake.root) as database, pytest.raises(UsageError, match=complaint):
        database.run("coverage_by_host", since=wrong)


@pytest.mark.parametrize(
    "since",
    [
        "2026-11-30T00:53:22",
        "2026-11-30T00:53:22Z",
        "2026-11-30 02:53:22+02:00",
        "2026-11-29T22:53:22-02:00",
        "2026-11-30T00:53:21.000000001",
        datetime(2026, 11, 30, 2, 53, 22, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_a_time_is_of_its_own_zone_and_to_the_nanosecond(tmp_path: Path, since: str | datetime) -> None:
    lake = make_lake(tmp_path / "lake", {port("h", "eth0", "transmit"): GAPPY})
    with open_lake(lake.root) as database:
        (row,) = database.run("coverage_by_host", since=since).to_pylist()
        assert (row["n_samples"], row["first_ns"] - T0_NS) == (3, 2 * 10**9)
        earlier = database.run("coverage_by_host", until=since).to_pylist()
    assert earlier[0]["n_samples"] == (2 if str(since).endswith("1") else 3)
