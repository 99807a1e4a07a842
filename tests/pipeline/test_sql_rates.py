"""The view ``rates``: wraps, resets, deltas and gauges are what the profiler takes them for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sql import open_lake
from profiler.rates import rate_series
from profiler.schema import Flag
from profiler.signals import RateSeries
from tests.pipeline.lakes import make_lake, port

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from numpy.typing import NDArray

    from profiler.store import Series

SECOND_NS = 1_000_000_000


def rates_of(
    root: Path, series: Series, t_s: list[int], value: list[int], **columns: object
) -> list[dict[str, object]]:
    lake = make_lake(root, {series: (np.array(t_s) * SECOND_NS, np.array(value))}, **columns)
    with open_lake(lake.root) as database:
        rows = database.sql("select t_ns, window_ns, bytes, rate_bps from rates order by t_ns")
    return [dict(row) for row in rows.to_pylist()]


def test_a_rate_is_bits_over_the_time_between_two_reads(tmp_path: Path) -> None:
    rows = rates_of(tmp_path / "lake", port("h", "eth0", "transmit"), [0, 1, 3], [1000, 1125, 1375])
    assert rows == [
        {"t_ns": SECOND_NS, "window_ns": SECOND_NS, "bytes": 125, "rate_bps": 1000.0},
        {"t_ns": 3 * SECOND_NS, "window_ns": 2 * SECOND_NS, "bytes": 250, "rate_bps": 1000.0},
    ]


def test_a_narrow_counter_that_wraps_keeps_its_bytes(tmp_path: Path) -> None:
    words = port("h", "mlx5_0", "transmit", layer="rdma_vport", raw_scale=4.0, width_bits=32)
    full = 4 * 2**32
    rows = rates_of(tmp_path / "lake", words, [0, 1, 2], [full - 400, 400, 800], flags=[0, Flag.WRAP, 0])
    assert [row["bytes"] for row in rows] == [800, 400]


def test_a_step_back_of_a_wide_counter_is_a_reset(tmp_path: Path) -> None:
    rows = rates_of(tmp_path / "lake", port("h", "eth0", "transmit"), [0, 1, 2], [10**12, 500, 750])
    assert [(row["bytes"], row["rate_bps"]) for row in rows] == [(500, None), (250, 2000.0)]


def test_a_reset_to_a_larger_value_is_known_by_its_epoch(tmp_path: Path) -> None:
    reads = ([0, 1, 2], [100, 500, 750])
    rows = rates_of(tmp_path / "lake", port("h", "eth0", "transmit"), *reads, epoch=[0, 1, 1])
    assert [(row["bytes"], row["rate_bps"]) for row in rows] == [(500, None), (250, 2000.0)]


def test_a_counter_near_the_top_of_63_bits_does_not_overflow(tmp_path: Path) -> None:
    top = 2**63 - 1
    rows = rates_of(tmp_path / "lake", port("h", "eth0", "transmit"), [0, 1, 2], [top - 8, top, 0])
    assert [row["bytes"] for row in rows] == [8, 0]


def test_what_was_not_captured_between_two_captures_is_no_silence(tmp_path: Path) -> None:
    flow = port("h", "eth0", "transmit", layer="capture", kind="delta")
    reads = (np.array([1, 2, 61, 62]) * SECOND_NS, np.array([7, 125, 0, 250]))
    flags = np.array([8, 0, 8, 0], np.uint16)
    window_ns = np.array([0, SECOND_NS, 0, SECOND_NS], np.int32)
    make_lake(tmp_path / "lake", {flow: reads}, flags=flags, window_ns=window_ns)
    with open_lake(tmp_path / "lake") as database:
        rows = database.sql("select window_ns, bytes from rates order by t_ns").to_pylist()
    assert rows == [{"window_ns": SECOND_NS, "bytes": 125}, {"window_ns": SECOND_NS, "bytes": 250}]


def test_a_delta_covers_its_own_window(tmp_path: Path) -> None:
    flow = port("h", "eth0", "transmit", layer="capture", kind="delta")
    rows = rates_of(tmp_path / "lake", flow, [5, 9], [125, 250], window_ns=SECOND_NS)
    assert [(row["window_ns"], row["rate_bps"]) for row in rows] == [(SECOND_NS, 1000.0), (SECOND_NS, 2000.0)]


@settings(max_examples=5, deadline=None)
@given(
    reads=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2**32 - 1)), min_size=2, max_size=20),
    width_bits=st.sampled_from([32, 64]),
)
def test_rates_are_those_of_signals(
    tmp_path_factory: pytest.TempPathFactory, reads: list[tuple[int, int]], width_bits: int
) -> None:
    reads = sorted(dict(reads).items())
    t_ns = np.array([t_s for t_s, _ in reads]) * SECOND_NS
    value = np.array([bytes_ for _, bytes_ in reads])
    lake = make_lake(
        tmp_path_factory.mktemp("lakes") / "lake",
        {port("h", "eth0", "transmit", width_bits=width_bits): (t_ns[::-1], value[::-1])},
    )
    expected = RateSeries.from_counter(t_ns, value, width_bits=width_bits)
    with open_lake(lake.root) as database:
        rows = database.sql("select t_ns, bytes, rate_bps from rates order by t_ns").to_pylist()
    assert [row["t_ns"] for row in rows] == expected.edges_ns[1:].tolist()
    assert [row["bytes"] for row in rows] == expected.delta_bytes.tolist()
    not_known = (expected.flags & (Flag.RESET | Flag.IMPOSSIBLE)) != 0
    assert [row["rate_bps"] is None for row in rows] == not_known.tolist()


def test_two_reads_at_one_time_lose_no_bytes(tmp_path: Path) -> None:
    rows = rates_of(tmp_path / "lake", port("h", "eth0", "transmit"), [0, 1, 1, 1, 2], [0, 100, 120, 120, 200])
    assert [row["bytes"] for row in rows] == [120, 80]


def test_packets_and_levels_have_no_rate_in_bits(tmp_path: Path) -> None:
    t_ns = np.arange(3) * SECOND_NS
    packets = port("h", "eth0", "transmit", metric="packets", unit="packets")
    level = port("h", "eth0", "receive", kind="gauge")
    lake = make_lake(tmp_path / "lake", {packets: (t_ns, t_ns), level: (t_ns, t_ns)})
    with open_lake(lake.root) as database:
        assert database.sql("select * from rates").num_rows == 0


def test_a_gauge_of_bytes_per_s_is_the_mean_since_the_read_before_as_the_profiler_takes_it(tmp_path: Path) -> None:
    gauge = port("h", "eth0", "receive", metric="bytes_per_s", unit="bytes/s", kind="gauge", width_bits=None)
    t_ns, value = np.array([0, 1, 3, 4]) * SECOND_NS, np.array([999, 125, 250, 0])
    rows = rates_of(tmp_path / "lake", gauge, [0, 1, 3, 4], value.tolist())
    truth = rate_series(gauge, t_ns=t_ns, value=value)
    assert [row["bytes"] for row in rows] == truth.delta_bytes.tolist() == [125, 500, 0]
    assert [row["rate_bps"] for row in rows] == truth.rate_bps.tolist() == [1000.0, 2000.0, 0.0]


def test_a_gauge_that_tells_its_window_covers_it(tmp_path: Path) -> None:
    gauge = port("h", "eth0", "receive", metric="bytes_per_s", unit="bytes/s", kind="gauge", width_bits=None)
    rows = rates_of(tmp_path / "lake", gauge, [0, 10], [125, 250], window_ns=SECOND_NS)
    assert [(row["window_ns"], row["bytes"]) for row in rows] == [(SECOND_NS, 125), (SECOND_NS, 250)]


def test_a_counter_stands_for_a_port_before_a_gauge_of_its_layer(tmp_path: Path) -> None:
    t_ns = np.arange(3) * SECOND_NS
    gauge = port("h", "eth0", "receive", metric="bytes_per_s", unit="bytes/s", kind="gauge", width_bits=None)
    alone = port("h", "eth1", "receive", metric="bytes_per_s", unit="bytes/s", kind="gauge", width_bits=None)
    reads = dict.fromkeys((gauge, alone, port("h", "eth0", "receive")), (t_ns, t_ns))
    with open_lake(make_lake(tmp_path / "lake", reads).root) as database:
        rows = database.run("series_by_port").to_pylist()
    assert [(row["device"], row["kind"]) for row in rows] == [("eth0", "counter"), ("eth1", "gauge")]


def test_a_part_of_the_time_has_the_windows_between_its_reads(tmp_path: Path) -> None:
    t_ns = np.arange(6) * SECOND_NS
    lake = make_lake(tmp_path / "lake", {port("h", "eth0", "transmit"): (t_ns, np.arange(6) ** 2 * 1000)})
    with open_lake(lake.root) as database:
        whole = database.sql("from rates order by t_ns").to_pylist()
        part = database.sql("from rates_between(1000000000, 3000000000) order by t_ns").to_pylist()
        onward = database.sql("from rates_between(4000000000, null)").to_pylist()
    assert (part, onward) == (whole[1:3], whole[4:])


def test_chosen_series_have_the_windows_that_they_have_among_all(tmp_path: Path) -> None:
    t_ns, ports = np.arange(6) * SECOND_NS, [port("h", f"eth{i}", "transmit") for i in range(3)]
    lake = make_lake(tmp_path / "lake", {one: (t_ns, np.arange(6) ** 2 * 1000) for one in ports})
    with open_lake(lake.root) as database:
        whole = database.sql("from rates order by device, t_ns").to_pylist()
        ids = sorted({row["series_id"] for row in whole if row["device"] != "eth1"})
        some = database.sql(f"from rates_between(null, null, chosen := {ids}) order by device, t_ns").to_pylist()
        none = database.sql("from rates_between(null, null, chosen := [])").to_pylist()
    assert some == [row for row in whole if row["device"] != "eth1"]
    assert (len(some), none) == (10, [])


def test_a_read_that_is_flagged_impossible_is_left_out_as_the_profiler_does(tmp_path: Path) -> None:
    series, value, flags = port("h", "eth0", "transmit"), np.array([0, 125, 10**9, 375]), np.array([0, 0, 64, 0])
    rows = rates_of(tmp_path / "lake", series, [0, 1, 2, 3], value.tolist(), flags=flags)
    truth = rate_series(series, t_ns=np.arange(4) * SECOND_NS, value=value, flags=flags.astype(np.uint16))
    assert [row["bytes"] for row in rows] == truth.delta_bytes.tolist() == [125, 250]


def readings(rng: np.random.Generator, *, full: float) -> NDArray[np.int64]:
    """Return where a counter stood that wraps, jumps anywhere, has a bad read, or is reset, to much or little."""
    n_reads = int(rng.integers(2, 14))
    moved = np.cumsum(rng.random(n_reads) * 1e6)
    k = int(rng.integers(n_reads))
    bad, reset = moved.copy(), moved.copy()
    bad[k] *= 0.97
    reset[k:] -= moved[k] * rng.choice([0.9, 0.3])
    wrapping = np.cumsum(rng.random(n_reads) * full * 0.2) % full
    chosen = (rng.random(n_reads) * full, wrapping, bad, reset)[int(rng.integers(4))]
    return np.abs(chosen).astype(np.int64)


def test_hundreds_of_counters_of_every_width_are_judged_as_the_profiler_judges_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    reads = {}
    for i in range(300):
        scale, width_bits = int(rng.choice([1, 4])), int(rng.choice([32, 48, 64]))
        series = port(f"h{i}", "e", "transmit", layer="wire", raw_scale=float(scale), width_bits=width_bits)
        value = readings(rng, full=scale * 2.0 ** min(width_bits, 40)) // scale * scale
        reads[series] = (np.sort(rng.choice(40, value.size, replace=False)) * SECOND_NS, value)
    with open_lake(make_lake(tmp_path / "lake", reads).root) as database:
        rows = database.sql("select series_id, t_ns, bytes, rate_bps from rates order by all").to_pylist()
    for series, (t_ns, value) in reads.items():
        truth = rate_series(series, t_ns=t_ns, value=value)
        own = [row for row in rows if row["series_id"] == series.series_id]
        assert [row["t_ns"] for row in own] == truth.edges_ns[1:].tolist()
        assert [row["bytes"] for row in own] == truth.delta_bytes.tolist()
        not_known = (truth.flags & (Flag.RESET | Flag.IMPOSSIBLE)) != 0
        assert [row["rate_bps"] is None for row in own] == not_known.tolist()
