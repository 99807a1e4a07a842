"""A job of which it is not known when it is Up costs nothing that is known of the others, and is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from pipeline.overlaps import find_overlaps
from pipeline.sql import open_lake
from pipeline.topology import read_cluster
from tests.pipeline.fleets import profiles
from tests.pipeline.lakes import CLUSTER, T0_NS, add_advice, date_profiles, make_lake, on_off_counter, only, port

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store import Lake

THIRD = """
[[link]]
id = "c1"
a = "c1:eth0"
b = "sw1:p3"
capacity = "800Mbps"
[[link]]
id = "c2"
a = "c2:eth0"
b = "sw2:p3"
capacity = "800Mbps"
[[job]]
id = "C"
ranks = [{host = "c1", device = "eth0"}, {host = "c2", device = "eth0"}]
"""
OVERLAP_S, PERIOD_S, DURATION_S = 0.04, 0.25, 20.0


def _three_jobs(root: Path, *, without_period: tuple[str, ...]) -> Lake:
    """Return a lake of A and B, 300 Mbit/s for 100 of 250 ms, 60 ms apart, and C, which never sends."""
    counters = [
        on_off_counter(period_ns=250_000_000, up_ns=100_000_000, rate_bps=rate_bps, start_ns=start_ns)
        for start_ns, rate_bps in ((0, 300e6), (60_000_000, 300e6), (0, 0.0))
    ]
    names = {name: port("sw1", name, "receive") for name in ("p1", "p2", "p3")}
    lake = make_lake(root, dict(zip(names.values(), counters, strict=True)))
    add_advice(root, lake)
    date_profiles(lake)
    lost = {names[name].series_id for name in without_period}
    rows = lake.read("profiles").to_pylist()
    for row in rows:
        if row["series_id"] in lost:
            row.update(status="aperiodic", period_s=None)
    phases = [row for row in lake.read("phases").to_pylist() if row["series_id"] not in lost]
    cluster = root.with_suffix(".toml")
    cluster.write_text(CLUSTER + THIRD)
    schemas = {name: lake.read(name).schema for name in ("profiles", "phases")}
    lake.replace_all(
        {
            **read_cluster(cluster).to_tables(),
            "profiles": pa.Table.from_pylist(rows, schema=schemas["profiles"]),
            "phases": pa.Table.from_pylist(phases, schema=schemas["phases"]),
        }
    )
    return lake


def test_contention_of_the_others_is_told(tmp_path: Path) -> None:
    lake = _three_jobs(tmp_path / "lake", without_period=("p3",))
    with open_lake(lake.root) as database:
        row = only(database.run("contention_by_link").to_pylist(), link_id="trunk", direction="forward")
        window = database.run("windows_by_link", link_id="trunk").to_pylist()[0]
    shared_s = DURATION_S / PERIOD_S * OVERLAP_S
    assert (row["n_jobs"], row["jobs"], row["periods_s"]) == (3, "A, B, C", [0.25, 0.25, None])
    assert (row["uncounted_jobs"], window["uncounted_jobs"]) == ("C", "C")
    assert row["shared_s"] == pytest.approx(shared_s)
    assert row["over_bytes"] == pytest.approx(shared_s * 200e6 / 8, rel=1e-6)
    assert (window["start_ns"], window["jobs_up"]) == (T0_NS + 60_000_000, "A, B")


def test_one_job_alone_is_no_contention(tmp_path: Path) -> None:
    lake = _three_jobs(tmp_path / "lake", without_period=("p2", "p3"))
    with open_lake(lake.root) as database:
        row = only(database.run("contention_by_link").to_pylist(), link_id="trunk", direction="forward")
        assert database.run("windows_by_link").num_rows == 0
    assert (row["uncounted_jobs"], row["observed_s"], row["shared_s"]) == ("B, C", None, None)


def test_an_analysis_sees_the_time_that_the_others_share(tmp_path: Path) -> None:
    lake = _three_jobs(tmp_path / "lake", without_period=("p3",))
    found = profiles(lake)
    with open_lake(lake.root) as database:
        crossings = database.run("jobs_by_link", min_jobs=2).to_pylist()
        rows, faults = find_overlaps(database, crossings, found=found)
    assert faults == ()
    assert only(rows, link_id="trunk", direction="forward")["shared_frac"] == pytest.approx(OVERLAP_S / PERIOD_S)
