"""Flows and bins: counted exactly whatever the order and number of packets, in bounded memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from profiler.importers.captures.bins import BIN, BYTES, SERIES, BinTable
from profiler.importers.captures.flows import MOST_FLOWS, FlowTable
from profiler.importers.captures.packets import N_WORDS
from profiler.importers.captures.rates import FEWEST_BINS, NEVER, ZEROS_PER_BIN, samples_of
from profiler.importers.captures.reader import CaptureReader
from profiler.importers.captures.records import N_COLUMNS, TIME, UNTIMED, WIRE
from profiler.importers.captures.series import SeriesTable
from profiler.importers.sink import MemorySink
from profiler.schema import Flag
from tests.profiler.frames import ethernet, ipv4, pcap, ports

if TYPE_CHECKING:
    import pytest

    from profiler.importers.captures.series import SeriesBy

BIN_NS = 1000


def records_of(t_ns: NDArray[np.int64], wire: NDArray[np.int64]) -> NDArray[np.int64]:
    records = np.zeros((t_ns.size, N_COLUMNS), dtype=np.int64)
    records[:, TIME], records[:, WIRE] = t_ns, wire
    return records


# Flows


def test_flow_table_counts_as_a_dictionary_does_while_it_grows() -> None:
    rng = np.random.default_rng(1)
    table, expected = FlowTable(), Counter[bytes]()
    for _ in range(5):
        keys = np.zeros((20_000, N_WORDS), dtype=np.uint64)
        keys[:, 1], keys[:, 3] = rng.integers(0, 300, 20_000), rng.integers(0, 100, 20_000)
        wire = rng.integers(60, 9000, 20_000)
        found = table.add(records_of(rng.integers(0, 10**9, 20_000), wire), keys)
        np.testing.assert_array_equal(table.keys[found], keys)
        for key, n_bytes in zip(keys, wire, strict=True):
            expected[key.tobytes()] += int(n_bytes)

    counted = {table.keys[i].tobytes(): int(table.counts.n_bytes[i]) for i in range(1, table.n_flows)}
    assert counted == dict(expected)


def test_flow_without_times_has_none() -> None:
    table = FlowTable()
    table.add(records_of(np.array([UNTIMED]), np.array([70])), np.ones((1, N_WORDS), dtype=np.uint64))

    assert table.counts.is_timed.tolist()[1:] == [False]


def test_flows_beyond_the_most_count_together() -> None:
    table = FlowTable()
    table.n_flows = MOST_FLOWS  # as if as many had been seen
    keys = np.arange(2 * N_WORDS, dtype=np.uint64).reshape(2, N_WORDS)
    found = table.add(records_of(np.array([1, 2]), np.array([100, 200])), keys)

    assert found.tolist() == [0, 0]


# Bins


def collected(table: BinTable, batches: list[NDArray[np.int64]]) -> Counter[tuple[int, int]]:
    """Return bytes by series and bin; packets alternate between two series."""
    bins = Counter[tuple[int, int]]()
    handed_out = []
    for records in batches:
        series = np.arange(len(records), dtype=np.int64) % 2
        handed_out += list(table.add(records, series))
    for rows in [*handed_out, table.rest()]:
        assert len({(row[SERIES], row[BIN]) for row in rows.tolist()}) == len(rows)
        for row in rows.tolist():
            bins[row[SERIES], row[BIN]] += row[BYTES]
    return bins


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 9000)), min_size=1, max_size=40), max_size=6
    )
)
def test_bins_are_the_sums_of_their_packets_in_any_order(batches: list[list[tuple[int, int]]]) -> None:
    expected = Counter[tuple[int, int]]()
    for batch in batches:
        for i, (t_ns, wire) in enumerate(batch):
            expected[i % 2, t_ns // BIN_NS] += wire
    arrays = [np.array(batch, dtype=np.int64) for batch in batches]

    found = collected(BinTable(BIN_NS), [records_of(array[:, 0], array[:, 1]) for array in arrays])

    assert found == expected


def test_full_table_hands_out_the_older_half_and_keeps_every_byte() -> None:
    rng = np.random.default_rng(2)
    t_ns = np.arange(40_000, dtype=np.int64) * 700 + rng.integers(0, 5000, 40_000)
    table = BinTable(BIN_NS, most_rows=2000)
    batches = [records_of(part, np.full(part.size, 100)) for part in np.split(t_ns, 40)]
    expected = Counter[tuple[int, int]]()
    for part in np.split(t_ns, 40):
        for i, time in enumerate(part.tolist()):
            expected[i % 2, time // BIN_NS] += 100

    assert collected(table, batches) == expected
    assert table.moved_bytes == 0


def test_packet_that_comes_too_late_counts_in_a_later_bin_and_is_told() -> None:
    table = BinTable(BIN_NS, most_rows=100)
    t_ns = np.arange(1000, dtype=np.int64) * BIN_NS
    batches = [records_of(t_ns, np.full(1000, 10)), records_of(np.array([0]), np.array([77]))]

    assert sum(collected(table, batches).values()) == 10_077
    assert table.moved_bytes == 77


def test_packets_without_time_are_in_no_bin() -> None:
    assert collected(BinTable(BIN_NS), [records_of(np.array([UNTIMED, 5]), np.array([70, 60]))]) == {(1, 0): 60}


# Samples


def rows_of(bins: list[int], series: int = 0) -> NDArray[np.int64]:
    return np.array([(series, i_bin, 100) for i_bin in bins], dtype=np.int64).reshape(-1, 3)


@settings(max_examples=80, deadline=None)
@given(
    gaps=st.lists(st.sampled_from([1, 1, 1, 2, 3, 40, 5000, 10**7]), min_size=1, max_size=200),
    n_first=st.integers(0, 200),
)
def test_windows_touch_and_cover_from_the_first_bin_to_the_last(gaps: list[int], n_first: int) -> None:
    bins = rows_of(np.cumsum([1000, *gaps]).tolist())
    last_bin = np.array([NEVER], dtype=np.int64)
    parts = []
    for part in (bins[:n_first], bins[n_first:]):
        if len(part):
            parts.append(samples_of(part, last_bin, bin_ns=BIN_NS))
            last_bin[0] = part[-1, BIN]
    t_ns, value, window_ns, flags = (np.concatenate(column) for column in list(zip(*parts, strict=True))[1:])

    assert t_ns[0] == 1000 * BIN_NS
    assert (value[0], window_ns[0], flags[0]) == (0, 0, Flag.MISSED)
    assert np.all(np.diff(t_ns) > 0)
    told = window_ns[1:] > 0
    np.testing.assert_array_equal(np.diff(t_ns)[told], window_ns[1:][told])
    assert np.all(np.diff(t_ns)[~told] > 2**31 - 1)
    assert not flags[1:].any()
    occupied = dict(zip(((bins[:, BIN] + 1) * BIN_NS).tolist(), bins[:, BYTES].tolist(), strict=True))
    assert {time: n_bytes for time, n_bytes in zip(t_ns.tolist(), value.tolist(), strict=True) if n_bytes} == occupied


def test_pause_of_a_busy_series_is_written_bin_by_bin() -> None:
    bins = [cycle * 255 + i for cycle in range(20) for i in range(114)]
    samples = samples_of(rows_of(bins), np.array([NEVER]), bin_ns=BIN_NS)

    assert samples.t_ns.size == 1 + 19 * 255 + 114
    assert set(samples.window_ns[1:].tolist()) == {BIN_NS}


def test_pause_of_a_quiet_series_is_one_window() -> None:
    samples = samples_of(rows_of([0, 500, 900]), np.array([NEVER]), bin_ns=BIN_NS)

    assert samples.t_ns.tolist() == [0, 1000, 500_000, 501_000, 900_000, 901_000]
    assert samples.value.tolist() == [0, 100, 0, 100, 0, 100]


def test_zeros_stay_a_bounded_multiple_of_the_bins() -> None:
    bins = (np.arange(2 * FEWEST_BINS) * 1_000_000).tolist()
    samples = samples_of(rows_of(bins), np.array([NEVER]), bin_ns=BIN_NS)

    assert samples.t_ns.size <= (ZEROS_PER_BIN + 2) * len(bins) + 1


def test_one_broken_clock_does_not_hide_the_pauses_of_the_rest() -> None:
    bins = [cycle * 255 + i for cycle in range(20) for i in range(114)] + [10**12]
    samples = samples_of(rows_of(bins), np.array([NEVER]), bin_ns=BIN_NS)

    assert samples.t_ns.size == 1 + 19 * 255 + 114 + 2


# Series


def read(packets: list[tuple[str, str, int, int]], *, by: SeriesBy = "pair", host: str | None = None) -> MemorySink:
    """Read a capture of (source, destination, destination port, microsecond) of 100 bytes each."""
    frames = [
        (1, at_us, ethernet(ipv4(ports(9, dport), (src, dst), proto=17), 0x0800), 100)
        for src, dst, dport, at_us in packets
    ]
    sink = MemorySink()
    CaptureReader("made", sink, host=host, bin_ns=1_000_000, by=by).read(iter([pcap(frames)]))
    return sink


PACKETS = [
    ("10.0.0.1", "10.0.0.2", 7, 0),
    ("10.0.0.1", "10.0.0.2", 8, 1500),
    ("10.0.0.2", "10.0.0.1", 7, 1600),
]


def test_one_series_for_each_pair_of_addresses_and_direction() -> None:
    counters = read(PACKETS).counters()

    assert [(series.host, series.device, int(value.sum())) for series, _, value, _ in counters] == [
        ("10.0.0.1", "10.0.0.2", 200),
        ("10.0.0.2", "10.0.0.1", 100),
    ]
    assert {(series.direction, series.kind, series.layer) for series, _, _, _ in counters} == {
        ("transmit", "delta", "capture")
    }


def test_one_series_for_each_flow_if_asked() -> None:
    counters = read(PACKETS, by="flow").counters()

    assert [(series.device, int(value.sum())) for series, _, value, _ in counters] == [
        ("10.0.0.2 udp 9>7", 100),
        ("10.0.0.2 udp 9>8", 100),
        ("10.0.0.1 udp 9>7", 100),
    ]


def test_place_of_the_capture_keeps_its_series_apart() -> None:
    here, there = (read(PACKETS, host=host) for host in ("leaf-1", "leaf-2"))

    ids = [{series.series_id for series, _, _, _ in sink.counters()} for sink in (here, there)]
    assert ids[0].isdisjoint(ids[1])
    assert set(here.flows[0]["flow_id"].to_pylist()).isdisjoint(there.flows[0]["flow_id"].to_pylist())


def test_flow_rows_have_first_and_last_time() -> None:
    rows = read([PACKETS[0], (*PACKETS[0][:3], 900)]).flows[0].to_pylist()

    assert [(row["first_ns"], row["last_ns"], row["packets"]) for row in rows] == [(10**9, 10**9 + 900_000, 2)]


def test_no_flow_of_one_capture_replaces_one_of_another() -> None:
    first, second = (read([(*PACKETS[0][:3], at_us)]).flows[0]["flow_id"].to_pylist() for at_us in (0, 900))

    assert set(first).isdisjoint(second)


def test_series_beyond_the_most_go_to_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiler.importers.captures.series.MOST_SERIES", 2)
    table = SeriesTable(MemorySink(), bin_ns=BIN_NS, by="flow", source="made")
    keys = np.arange(4 * N_WORDS, dtype=np.uint64).reshape(4, N_WORDS)

    assert table.of_flows(keys, np.arange(4)).tolist() == [0, 1, 0, 0]
    assert table.n_left_out == 2
