"""Queries of load: percentiles of utilisation, and traffic that no job accounts for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.sql import Database, open_lake
from tests.pipeline.lakes import PERIOD_NS, T0_NS, add_advice, analysed_lake, make_lake, on_off_counter, only, port

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Two jobs at 300 Mbit/s for 100 of 250 ms over a 400 Mbit/s trunk for 20 s, B 50 ms after A."""
    with open_lake(analysed_lake(tmp_path_factory.mktemp("lakes") / "lake").root) as database:
        yield database


def test_percentiles_of_utilisation_are_those_of_time(database: Database) -> None:
    row = only(database.run("utilisation_by_link", link_id="trunk").to_pylist(), direction="forward")
    # Of each 250 ms: 50 ms both jobs, 600 of 400 Mbit/s, 100 ms one of them, 300, and 100 ms neither.
    assert (row["p50_frac"], row["p90_frac"], row["p99_frac"], row["max_frac"]) == (0.75, 1.5, 1.5, 1.5)
    assert row["mean_frac"] == pytest.approx((50 * 600 + 100 * 300) / 250 / 400)
    assert row["full_frac"] == pytest.approx(0.2)
    assert (row["observed_s"], row["unknown_s"]) == (pytest.approx(20.0), 0.0)


def test_long_windows_count_for_as_long_as_they_are(tmp_path: Path) -> None:
    t_s, rates_bps = np.array([0, 1, 2, 12]), np.array([400e6, 200e6, 100e6])
    value = np.concatenate([[0], np.cumsum(rates_bps / 8 * np.diff(t_s))]).astype(np.int64)
    root = tmp_path / "lake"
    add_advice(root, make_lake(root, {port("sw1", "t1", "transmit"): (T0_NS + t_s * 10**9, value)}))
    with open_lake(root) as opened:
        (row,) = opened.run("utilisation_by_link").to_pylist()
        (first,) = opened.run("utilisation_by_link", until="2026-11-30T00:53:21").to_pylist()
    assert (row["p50_frac"], row["p90_frac"], row["max_frac"]) == (0.25, 0.5, 1.0)
    assert row["mean_frac"] == pytest.approx((400 + 200 + 1000) / 12 / 400)
    assert (first["observed_s"], first["p50_frac"]) == (1.0, 1.0)


def test_traffic_of_jobs_that_are_placed_is_not_unplaced(database: Database) -> None:
    row = only(database.run("unplaced_by_link", link_id="trunk").to_pylist(), direction="forward")
    assert (row["n_jobs"], row["jobs"], row["n_unknown"]) == (2, "A, B", 0)
    assert row["mean_bps"] == pytest.approx(row["placed_bps"]) == pytest.approx(240e6)
    assert row["unplaced_bps"] == pytest.approx(0, abs=1)


def test_traffic_that_no_job_accounts_for_is_unplaced(tmp_path: Path) -> None:
    a, b = (
        on_off_counter(period_ns=PERIOD_NS, up_ns=100_000_000, rate_bps=300e6, start_ns=start_ns)
        for start_ns in (0, 50_000_000)
    )
    storage = np.round(np.arange(a[0].size) * 50e6 / 8e3).astype(np.int64)
    root = tmp_path / "lake"
    reads = {
        port("sw1", "p1", "receive"): a,
        port("sw1", "p2", "receive"): b,
        port("sw1", "t1", "transmit"): (a[0], a[1] + b[1] + storage),
    }
    lake = make_lake(root, reads)
    add_advice(root, lake)
    with open_lake(root) as opened:
        row = only(opened.run("unplaced_by_link", min_bps=1e6).to_pylist(), link_id="trunk")
        assert opened.run("unplaced_by_link", min_bps=1e9).num_rows == 0
    assert (row["unplaced_bps"], row["unplaced_frac"]) == pytest.approx((50e6, 50 / 290))
    lake.replace("profiles", lake.read("profiles").slice(0, 0))
    with open_lake(root) as opened:
        unknown = only(opened.run("unplaced_by_link").to_pylist(), link_id="trunk")
    assert (unknown["n_unknown"], unknown["placed_bps"]) == (2, 0)
    assert unknown["unplaced_bps"] == pytest.approx(290e6)
