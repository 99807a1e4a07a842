"""Gauges of bytes/s, as sadf and collectl print them, take part in an analysis as counters do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline import analyze
from pipeline.sql import open_lake
from tests.pipeline.lakes import CLUSTER, T0_NS, make_lake, port

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store import Series

N_S = 900
"""Seconds of each gauge, one value each."""


def gauge(device: str) -> Series:
    return port("sw1", device, "receive", metric="bytes_per_s", unit="bytes/s", kind="gauge", width_bits=None)


def bursts(*, period_s: int, up_s: int, start_s: int) -> np.ndarray:
    """Return bytes/s of each second: 300 Mbit/s while Up."""
    return np.where((np.arange(N_S) - start_s) % period_s < up_s, 300_000_000 // 8, 0).astype(np.int64)


def test_jobs_seen_by_gauges_alone_have_periods_and_contention(tmp_path: Path) -> None:
    t_ns = T0_NS + np.arange(1, N_S + 1) * 1_000_000_000
    reads = {
        gauge("p1"): (t_ns, bursts(period_s=20, up_s=8, start_s=0)),
        gauge("p2"): (t_ns, bursts(period_s=20, up_s=8, start_s=4)),
    }
    lake = make_lake(tmp_path / "lake", reads)
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    analysis = analyze(lake.root, cluster=tmp_path / "cluster.toml")
    assert {job: profile.period_s for job, profile in analysis.jobs.items()} == pytest.approx(
        {"A": 20, "B": 20}, rel=1e-3
    )
    with open_lake(lake.root) as database:
        profiles = database.run("profiles_by_job").to_pylist()
        loads = database.run("links_by_load").to_pylist()
        (trunk,) = (row for row in database.run("contention_by_link").to_pylist() if row["direction"] == "forward")
    assert [row["mean_bps"] for row in profiles] == pytest.approx([120e6, 120e6], rel=0.02)
    assert {row["link_id"]: row["mean_bps"] for row in loads} == pytest.approx({"a1": 120e6, "b1": 120e6}, rel=0.02)
    assert trunk["shared_frac"] == pytest.approx(4 / 20, rel=0.05)
    assert trunk["over_bytes"] == pytest.approx(N_S / 20 * 4 * 200e6 / 8, rel=0.05)
