"""Flows and bins: counted exactly whatever the order and number of packets, in bounded memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from profiler.importers.captures.bins import BIN, BYTES, PACKETS, SERIES, BinTable
from profiler.importers.captures.flow_words import BYTES as BYTES_OF_FLOW
from profiler.importers.captures.flow_words import PACKETS as PACKETS_OF_FLOW
from profiler.importers.captures.layout import N_KEY
from profiler.importers.captures.memory import KernelMemory
from profiler.importers.captures.names import read_name
from profiler.importers.captures.pcap import walk_pcap
from profiler.importers.captures.rates import FEWEST_BINS, NEVER, ZEROS_PER_BIN, samples_of
from profiler.importers.captures.reader import CaptureReader
from profiler.importers.captures.series import SeriesTable
from profiler.importers.captures.window import ByteWindow
from profiler.importers.sink import MemorySink
from profiler.schema import Flag
from tests.profiler.frames import ethernet, interface, ipv4, pcap, ports, section, simple_packet

if TYPE_CHECKING:
    import pytest

    from profiler.importers.captures.series import SeriesBy

BIN_NS = 1000


# Flows


def walked(packets: list[tuple[int, int, bytes, int]]) -> KernelMemory:
    """Return the memory of a kernel that walked a capture of packets."""
    memory = KernelMemory(BIN_NS)
    window = ByteWindow(iter([pcap(packets)]))
    for _ in walk_pcap(window, memory):
        memory.take_bins()
    return memory


def test_flow_table_counts_as_a_dictionary_does_while_it_grows() -> None:
    rng = np.random.default_rng(1)
    expected = Counter[tuple[str, str]]()
    packets = []
    for src, dst, wire in zip(
        rng.integers(0, 300, 20_000), rng.integers(0, 100, 20_000), rng.integers(60, 9000, 20_000), strict=True
    ):
        ends = (f"10.0.{src // 256}.{src % 256}", f"10.1.0.{dst}")
        expected[ends] += int(wire)
        packets.append((1, 0, ethernet(ipv4(b"", ends, proto=99), 0x0800), int(wire)))
    flows = walked(packets).flows

    names = [read_name(flow[:N_KEY]) for flow in flows[1:]]
    assert {
        (name.src, name.dst): int(flow[BYTES_OF_FLOW]) for name, flow in zip(names, flows[1:], strict=True)
    } == dict(expected)
    assert len(flows) > 10_000


def test_flow_without_times_has_none() -> None:
    data = section() + interface() + simple_packet(bytes(60))
    sink = MemorySink()
    CaptureReader("made", sink, host=None, bin_ns=1_000_000, by="pair").read(iter([data]))

    assert sink.flows[0].select(["first_ns", "last_ns", "packets"]).to_pylist() == [
        {"first_ns": None, "last_ns": None, "packets": 1}
    ]


def test_flows_beyond_the_most_count_together() -> None:
    memory = KernelMemory(BIN_NS, most_flows=3)
    frames = [(1, 0, ethernet(ipv4(b"", ("10.0.0.1", f"10.0.0.{i}"), proto=99), 0x0800), 100) for i in range(4)]
    for _ in walk_pcap(ByteWindow(iter([pcap(frames)])), memory):
        pass

    assert memory.flows[:, PACKETS_OF_FLOW].tolist() == [2, 1, 1]
    assert memory.flows[0, BYTES_OF_FLOW] == 200


# Bins


def rows_at(t_ns: NDArray[np.int64], wire: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a bin a packet; packets alternate between two series."""
    return np.column_stack((np.arange(t_ns.size) % 2, t_ns // BIN_NS, wire, np.ones_like(wire)))


def collected(table: BinTable, batches: list[NDArray[np.int64]]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return bytes and packets by series and bin."""
    handed_out = []
    for batch in batches:
        table.add(batch)
        if table.is_full:
            handed_out.append(table.older())
    bins: dict[tuple[int, int], tuple[int, int]] = {}
    for rows in [*handed_out, table.rest()]:
        assert rows[:, :2].tolist() == sorted(rows[:, :2].tolist())
        for row in rows.tolist():
            assert (row[SERIES], row[BIN]) not in bins or table.moved_bytes
            n_bytes, n_packets = bins.get((row[SERIES], row[BIN]), (0, 0))
            bins[row[SERIES], row[BIN]] = n_bytes + row[BYTES], n_packets + row[PACKETS]
    return bins


def summed(batches: list[NDArray[np.int64]]) -> dict[tuple[int, int], tuple[int, int]]:
    bins: dict[tuple[int, int], tuple[int, int]] = {}
    for row in np.concatenate(batches).tolist() if batches else []:
        n_bytes, n_packets = bins.get((row[SERIES], row[BIN]), (0, 0))
        bins[row[SERIES], row[BIN]] = n_bytes + row[BYTES], n_packets + row[PACKETS]
    return bins


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(
        st.lists(
            st.tuples(st.integers(-(10**6), 10**6) | st.sampled_from([2**62, -(2**62)]), st.integers(0, 9000)),
            min_size=1,
            max_size=40,
        ),
        max_size=6,
    )
)
def test_bins_are_the_sums_of_their_packets_in_any_order(batches: list[list[tuple[int, int]]]) -> None:
    arrays = [np.array(batch, dtype=np.int64) for batch in batches]
    rows = [rows_at(array[:, 0], array[:, 1]) for array in arrays]

    assert collected(BinTable(), [part.copy() for part in rows]) == summed(rows)


def test_full_table_hands_out_the_older_half_and_keeps_every_byte() -> None:
    rng = np.random.default_rng(2)
    t_ns = np.arange(40_000, dtype=np.int64) * 700 + rng.integers(0, 5000, 40_000)
    table = BinTable(most_rows=2000)
    batches = [rows_at(part, np.full(part.size, 100)) for part in np.split(t_ns, 40)]
    expected = summed(batches)

    assert collected(table, batches) == expected
    assert table.moved_bytes == 0


def test_packet_that_comes_too_late_counts_in_a_later_bin_and_is_told() -> None:
    table = BinTable(most_rows=100)
    t_ns = np.arange(1000, dtype=np.int64) * BIN_NS
    batches = [rows_at(t_ns, np.full(1000, 10)), rows_at(np.array([0]), np.array([77]))]

    assert sum(n_bytes for n_bytes, _ in collected(table, batches).values()) == 10_077
    assert table.moved_bytes == 77


@settings(max_examples=40, deadline=None)
@given(
    packets=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 9999), st.integers(0, 2), st.integers(0, 9000)), max_size=80
    )
)
def test_bins_of_the_kernel_are_those_of_a_dictionary(packets: list[tuple[int, int, int, int]]) -> None:
    expected: dict[tuple[str, int], tuple[int, int]] = {}
    frames = []
    for seconds, at_us, dst, wire in packets:
        end = f"10.0.0.{dst}"
        frames.append((seconds, at_us, ethernet(ipv4(b"", ("10.9.9.9", end), proto=99), 0x0800), wire))
        t_ns = (seconds * 1_000_000 + at_us // 1000 * 1000 + 1000) * 1000
        n_bytes, n_packets = expected.get((end, t_ns), (0, 0))
        expected[end, t_ns] = n_bytes + wire, n_packets + 1
    sink = MemorySink()
    CaptureReader("made", sink, host=None, bin_ns=1_000_000, by="flow").read(iter([pcap(frames)]))

    found: dict[str, dict[tuple[str, int], int]] = {"bytes": {}, "packets": {}}
    for series, t_ends_ns, value, _ in sink.counters():
        for t_ns, amount in zip(t_ends_ns.tolist(), value.tolist(), strict=True):
            found[series.metric][series.device.split()[0], t_ns] = amount
    assert {key: n for key, n in found["packets"].items() if n} == {key: n for key, (_, n) in expected.items()}
    assert {key: n for key, n in found["bytes"].items() if n} == {key: n for key, (n, _) in expected.items() if n}


# Samples


def rows_of(bins: list[int], series: int = 0) -> NDArray[np.int64]:
    return np.array([(series, i_bin, 100, 1) for i_bin in bins], dtype=np.int64).reshape(-1, 4)


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
    t_ns, value, _, window_ns, flags = (np.concatenate(column) for column in list(zip(*parts, strict=True))[1:])

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
    assert samples.n_bytes.tolist() == [0, 100, 0, 100, 0, 100]
    assert samples.n_packets.tolist() == [0, 1, 0, 1, 0, 1]


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


TRAFFIC = [
    ("10.0.0.1", "10.0.0.2", 7, 0),
    ("10.0.0.1", "10.0.0.2", 8, 1500),
    ("10.0.0.2", "10.0.0.1", 7, 1600),
]


def test_one_series_for_each_pair_of_addresses_and_direction() -> None:
    counters = [counter for counter in read(TRAFFIC).counters() if counter[0].metric == "bytes"]

    assert [(series.host, series.device, int(value.sum())) for series, _, value, _ in counters] == [
        ("10.0.0.1", "10.0.0.2", 200),
        ("10.0.0.2", "10.0.0.1", 100),
    ]
    assert {(series.direction, series.kind, series.layer) for series, _, _, _ in counters} == {
        ("transmit", "delta", "capture")
    }


def test_one_series_for_each_flow_if_asked() -> None:
    counters = [counter for counter in read(TRAFFIC, by="flow").counters() if counter[0].metric == "bytes"]

    assert [(series.device, int(value.sum())) for series, _, value, _ in counters] == [
        ("10.0.0.2 udp 9>7", 100),
        ("10.0.0.2 udp 9>8", 100),
        ("10.0.0.1 udp 9>7", 100),
    ]


def test_place_of_the_capture_keeps_its_series_apart() -> None:
    here, there = (read(TRAFFIC, host=host) for host in ("leaf-1", "leaf-2"))

    ids = [{series.series_id for series, _, _, _ in sink.counters()} for sink in (here, there)]
    assert ids[0].isdisjoint(ids[1])
    assert set(here.flows[0]["flow_id"].to_pylist()).isdisjoint(there.flows[0]["flow_id"].to_pylist())


def test_flow_rows_have_first_and_last_time() -> None:
    rows = read([TRAFFIC[0], (*TRAFFIC[0][:3], 900)]).flows[0].to_pylist()

    assert [(row["first_ns"], row["last_ns"], row["packets"]) for row in rows] == [(10**9, 10**9 + 900_000, 2)]


def test_no_flow_of_one_capture_replaces_one_of_another() -> None:
    first, second = (read([(*TRAFFIC[0][:3], at_us)]).flows[0]["flow_id"].to_pylist() for at_us in (0, 900))

    assert set(first).isdisjoint(second)


def test_series_beyond_the_most_go_to_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiler.importers.captures.series.MOST_SERIES", 2)
    table = SeriesTable(MemorySink(), bin_ns=BIN_NS, by="flow", source="made")
    keys = np.arange(4 * N_KEY, dtype=np.int64).reshape(4, N_KEY)

    assert table.of_flows(keys, np.arange(4)).tolist() == [0, 1, 0, 0]
    assert table.n_left_out == 2


def test_bins_that_stay_open_are_not_late_when_others_are_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiler.importers.captures.bins.BinTable.__init__.__kwdefaults__", {"most_rows": 100})
    often = [("10.0.0.1", "10.0.0.2", 7, at_us) for at_us in range(0, 500_000, 1000)]
    sink = read([("10.0.0.3", "10.0.0.2", 7, 0), *often, ("10.0.0.3", "10.0.0.2", 7, 499_000)])

    found = {(series.host, t) for series, t_ns, value, _ in sink.counters() for t in t_ns[value > 0].tolist() if t}
    assert ("10.0.0.3", 10**9 + 10**6) in found
