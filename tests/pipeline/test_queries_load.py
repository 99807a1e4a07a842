"""Queries of load: percentiles of utilisation, and traffic that no job accounts for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
    rows = database.run("utilisation_by_link", link_id="trunk", bin_s=0.05).to_pylist()
    row = only(rows, direction="forward")
    # Of each 250 ms: 50 ms both jobs, 600 of 400 Mbit/s, 100 ms one of them, 300, and 100 ms neither.
    assert (row["p50_frac"], row["p90_frac"], row["p99_frac"], row["max_frac"]) == (0.75, 1.5, 1.5, 1.5)
    assert row["mean_frac"] == pytest.approx((50 * 600 + 100 * 300) / 250 / 400)
    assert row["full_frac"] == pytest.approx(0.2)
    assert (row["observed_s"], row["unknown_s"]) == (pytest.approx(20.0), 0.0)


def test_a_wider_bin_has_the_mean_of_what_is_in_it(database: Database) -> None:
    row = only(database.run("utilisation_by_link", link_id="trunk").to_pylist(), direction="forward")
    assert (row["p50_frac"], row["max_frac"], row["full_frac"]) == (0.6, 0.6, 0.0)


def test_neither_bins_nor_windows_across_them_lose_or_gain_a_byte(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    t_ns = T0_NS + np.sort(rng.choice(9_000_000_000, 900, replace=False))
    value = np.cumsum(rng.integers(0, 10**7, t_ns.size))
    root = tmp_path / "lake"
    add_advice(root, make_lake(root, {port("sw1", "t1", "transmit"): (t_ns, value)}))
    with open_lake(root) as opened:
        for bin_s in (0, 0.001, 0.003, 0.7, 1, 60):
            rows = opened.sql(f"from link_loads(null, null, bin_s := {bin_s})").to_pylist()
            n_bytes, load_ns = (sum(row[name] for row in rows) for name in ("bytes", "load_ns"))
            assert (n_bytes, load_ns) == (value[-1] - value[0], t_ns[-1] - t_ns[0])


def test_loads_are_those_of_bins_filled_one_window_after_the_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    spreads_ns = ((9 * 10**8, 11 * 10**8, 200), (10**6, 8 * 10**8, 200), (10**9, 6 * 10**9, 50))
    steps_ns = np.concatenate([*(rng.integers(*spread_ns) for spread_ns in spreads_ns), np.full(20, 10**9)])
    steps_ns[449] += -steps_ns[:450].sum() % 10**9  # reads from here on are on edges of bins
    value = np.cumsum(rng.integers(0, 10**7, steps_ns.size + 1))
    value[[50, 51, 250, 420]] = [value[49], value[49] - 1000, 0, 0]
    root = tmp_path / "lake"
    reads = (T0_NS + np.concatenate([[0], np.cumsum(steps_ns)]), value)
    add_advice(root, make_lake(root, {port("sw1", "t1", "transmit"): reads}))
    with open_lake(root) as opened:
        windows = opened.sql("select t_ns, window_ns, bytes, rate_bps from rates order by t_ns").to_pylist()
        for bin_s in (0.3, 1.0, 2.5):
            rows = opened.sql(f"from link_loads(null, null, bin_s := {bin_s})").to_pylist()
            found = {row["load_permille"]: (row["load_ns"], row["bytes"]) for row in rows}
            assert found == _loads_of(windows, bin_ns=round(bin_s * 1e9), capacity_bps=400e6)


def _loads_of(
    windows: Sequence[Mapping[str, Any]], *, bin_ns: int, capacity_bps: float
) -> dict[int | None, tuple[int, int]]:
    """Return the time and bytes at each load in permille, by a dictionary of bins."""
    bins: dict[int, list[int]] = {}
    loads: dict[int | None, tuple[int, int]] = {}

    def add(rate_bps: float | None, n_ns: int, n_bytes: int) -> None:
        load = None if rate_bps is None else round(rate_bps * 1000 / capacity_bps)
        ns, total = loads.get(load, (0, 0))
        loads[load] = (ns + n_ns, total + n_bytes)

    for window in windows:
        end_ns, length_ns, n_bytes = window["t_ns"], window["window_ns"], window["bytes"]
        start_ns = end_ns - length_ns
        if window["rate_bps"] is None:
            add(None, length_ns, n_bytes)
            continue
        for i_bin in range(start_ns // bin_ns, (end_ns - 1) // bin_ns + 1):
            edges_ns = max(start_ns, i_bin * bin_ns), min(end_ns, (i_bin + 1) * bin_ns)
            before, now = (int(n_bytes * ((edge_ns - start_ns) / length_ns)) for edge_ns in edges_ns)
            whole = bins.setdefault(i_bin, [0, 0])
            whole[0] += edges_ns[1] - edges_ns[0]
            whole[1] += now - before
    for n_ns, n_bytes in bins.values():
        add(n_bytes * 8e9 / n_ns if 2 * n_ns >= bin_ns else None, n_ns, n_bytes)
    return loads


def test_the_noise_of_when_short_windows_end_is_no_load(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    t_ns = np.arange(0, 20_000_000_000, 1_000_000)
    # The counter is read up to 0.4 ms after the time that is written down.
    value = np.round((t_ns + rng.uniform(0, 4e5, t_ns.size)) * 399e6 / 8e9).astype(np.int64)
    root = tmp_path / "lake"
    add_advice(root, make_lake(root, {port("sw1", "t1", "transmit"): (T0_NS + t_ns, value)}))
    with open_lake(root) as opened:
        (binned,) = opened.run("utilisation_by_link").to_pylist()
        (busiest,) = opened.run("links_by_load").to_pylist()
        (read,) = opened.run("utilisation_by_link", bin_s=0).to_pylist()
    assert (binned["max_frac"], busiest["p99_bps"]) == (
        pytest.approx(0.998, abs=0.002),
        pytest.approx(399e6, rel=0.002),
    )
    assert read["max_frac"] > 1.3


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
