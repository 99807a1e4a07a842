"""Captures built byte by byte."""

from __future__ import annotations

import gzip
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from profiler.errors import BadInput
from profiler.importers import read_counters
from profiler.importers.captures.reader import CaptureReader
from profiler.importers.inputs import Input
from profiler.importers.sink import MemorySink
from profiler.phases import profile
from profiler.rates import rate_series
from tests.data import SAMPLE_DATA, shared, truth_of
from tests.profiler.frames import (
    block,
    ethernet,
    interface,
    ipv4,
    old_packet,
    option,
    packet,
    pcap,
    ports,
    section,
    simple_packet,
)

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.importers.coverage import Coverage

SECOND_NS = 10**9
FRAME = ethernet(ipv4(ports(1000, 2000, bytes(20)), ("10.0.0.1", "10.0.0.2"), proto=6), 0x0800)


def read(data: bytes, *, piece_bytes: int = 1 << 20) -> tuple[Coverage, MemorySink]:
    sink = MemorySink()
    pieces = (data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes))
    coverage = CaptureReader("made", sink, host=None, bin_ns=1_000_000, by="pair").read(pieces)
    return coverage, sink


def times_of(data: bytes) -> list[int | None]:
    """Return the first and last time of a capture of two packets."""
    coverage, _ = read(data)
    assert coverage.n_rows == 2
    return [coverage.t_first_ns, coverage.t_last_ns]


# Times


def test_nanoseconds_beyond_a_second_carry_over() -> None:
    path = shared("captures/tcpdump__timestamp_invalid_nano.pcap")
    coverage, _ = read(path.read_bytes())

    assert coverage.t_first_ns == 1418145369_999_999_999
    assert coverage.t_last_ns == 1418145370_000_000_000 + 2_147_483_648


def test_custom_blocks_are_no_packets() -> None:
    for name, n_packets, n_bytes in (("test102", 5, 1480), ("test202", 8, 2304)):
        coverage, _ = read(shared(f"captures/pcapng-test-generator__{name}.pcapng").read_bytes())
        assert (coverage.totals["packets"], coverage.totals["wire_bytes"]) == (n_packets, n_bytes)


# Framing of pcap


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "ns_per_tick"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1), (0xA1B2CD34, 1000)])
def test_pcap_of_every_magic_and_byte_order(order: str, magic: int, ns_per_tick: int) -> None:
    data = pcap([(5, 7, FRAME, 900), (6, 8, FRAME[:40], 1514)], magic=magic, order=order)

    coverage, _ = read(data)

    assert coverage.totals | {"packets": 2, "wire_bytes": 2414, "untimed": 0} == coverage.totals
    assert times_of(data) == [5 * SECOND_NS + 7 * ns_per_tick, 6 * SECOND_NS + 8 * ns_per_tick]


def test_upper_bits_of_the_link_type_do_not_hide_it() -> None:
    _, sink = read(pcap([(0, 0, FRAME, 60)], link=0x14000001))

    assert sink.flows[0]["src"].to_pylist() == ["10.0.0.1"]


def test_capture_without_packets_is_sound() -> None:
    coverage, sink = read(pcap([]))

    assert (coverage.n_rows, coverage.n_samples, coverage.problems) == (0, 0, [])
    assert sink.flows[0].num_rows == 0


# Framing of pcapng


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("make", [packet, old_packet])
def test_pcapng_packet_blocks_of_either_byte_order(order: str, make: object) -> None:
    assert callable(make)
    blocks = [make(FRAME, ticks=ticks, wire=1000, order=order) for ticks in (2_000_000, 3_000_001)]
    data = section(order=order) + interface(order=order) + b"".join(blocks)

    assert times_of(data) == [2 * SECOND_NS, 3 * SECOND_NS + 1000]
    assert read(data)[0].totals["wire_bytes"] == 2000


def test_sections_of_different_byte_order_and_their_own_interfaces() -> None:
    data = (
        section(order=">")
        + interface(option(9, b"\x09", order=">"), order=">")
        + packet(FRAME, ticks=11, order=">")
        + section()
        + block(0x0BAD, b"custom, of a vendor")
        + interface(option(9, b"\x03"))
        + packet(FRAME, ticks=12)
    )

    assert times_of(data) == [11, 12_000_000]


def test_each_interface_has_its_own_clock_and_link_type() -> None:
    raw = FRAME[14:]
    data = (
        section()
        + interface(option(2, b"eth0"), option(9, b"\x06"))
        + interface(option(2, b"tun0"), option(9, b"\x00"), option(14, (100).to_bytes(8, "little")), link=101)
        + packet(FRAME, ticks=5)
        + packet(raw, ticks=5, number=1)
    )
    _, sink = read(data)

    assert times_of(data) == [5_000, 105 * SECOND_NS]
    assert sink.flows[0]["src"].to_pylist() == ["10.0.0.1"] * 2
    assert [series.port for series, _, _, _ in sink.counters()] == ["eth0", "eth0", "tun0", "tun0"]


def test_simple_packets_have_bytes_and_no_time() -> None:
    data = section() + interface(snap=40) + simple_packet(FRAME[:40], wire=1514) + packet(FRAME, ticks=9)
    coverage, sink = read(data)

    assert coverage.totals | {"packets": 2, "wire_bytes": 1514 + len(FRAME), "untimed": 1} == coverage.totals
    assert coverage.t_first_ns == coverage.t_last_ns == 9_000
    assert [item.what for item in coverage.skipped] == ["packets (1)"]
    assert sink.flows[0]["bytes"].to_pylist() == [1514 + len(FRAME)]


@settings(max_examples=150, deadline=None)
@example(ticks=10**18, resolution=28, offset_s=0)
@example(ticks=2**64 - 1, resolution=28, offset_s=0)
@example(ticks=2**64 - 1, resolution=29, offset_s=0)
@example(ticks=2**64 - 1, resolution=0x80 | 64, offset_s=0)
@given(
    ticks=st.integers(0, 2**64 - 1),
    resolution=st.integers(0, 255),
    offset_s=st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**10), 10**10),
)
def test_ticks_become_the_nanoseconds_that_exact_arithmetic_gives(ticks: int, resolution: int, offset_s: int) -> None:
    offset = option(14, offset_s.to_bytes(8, "little", signed=True))
    data = section() + interface(option(9, bytes([resolution])), offset) + packet(FRAME, ticks=ticks)
    coverage, _ = read(data)

    unit = Fraction(1, 2 ** (resolution & 127)) if resolution & 128 else Fraction(1, 10**resolution)
    since_ns = int(ticks * unit * SECOND_NS)
    expected_ns = since_ns + offset_s * SECOND_NS
    if since_ns >= 2**63 or not -(2**63) < offset_s * SECOND_NS < 2**63 or not -(2**63) < expected_ns < 2**63:
        assert coverage.totals["untimed"] == 1
    else:
        assert coverage.t_first_ns == expected_ns


# Damage: what was sound counts, and where it ends is said


def test_cut_capture_counts_what_was_sound_and_says_where_it_ends() -> None:
    whole = pcap([(1, 0, FRAME, 100), (2, 0, FRAME, 100)])
    coverage, _ = read(whole[:-1])

    assert coverage.n_rows == 1
    assert f"byte {24 + 16 + len(FRAME)}: the file ends inside a packet" in coverage.problems[0]


def test_impossible_length_stops_the_walk_at_its_byte() -> None:
    data = pcap([(1, 0, FRAME, 100)]) + b"\xff" * 64
    coverage, _ = read(data)

    assert coverage.n_rows == 1
    assert f"byte {len(data) - 64}" in coverage.problems[0]


def test_more_captured_than_there_was_on_the_wire_counts_the_wire() -> None:
    coverage, _ = read(pcap([(1, 0, FRAME, 10)]))

    assert coverage.totals["wire_bytes"] == 10


@pytest.mark.parametrize(
    "damage",
    [
        block(6, b"\x00" * 12 + b"\xff" * 8),
        block(6, b"\x00" * 4),
        block(6, (99).to_bytes(4, "little") + bytes(28)),
        block(1, b"")[:-4] + b"\x0d\x00\x00\x00",
        block(1, b""),
        (5).to_bytes(4, "little") + (7).to_bytes(4, "little") + bytes(8),
        (5).to_bytes(4, "little") + (0xFFFF_FFFC).to_bytes(4, "little") + bytes(8),
        section()[:8] + b"\x00" * 20,
    ],
    ids=["captured", "short", "stranger", "lengths-differ", "no-body", "odd-length", "long", "section"],
)
def test_damaged_block_stops_the_walk_at_its_byte(damage: bytes) -> None:
    sound = section() + interface() + packet(FRAME, ticks=1)
    coverage, _ = read(sound + damage + packet(FRAME, ticks=2))

    assert coverage.n_rows == 1
    assert f"byte {len(sound)}: " in coverage.problems[0]


@pytest.mark.parametrize(("kept_frac", "n_least"), [(0.5, 100), (0.9, 1000)])
def test_cut_compression_keeps_the_sound_packets(tmp_path: Path, kept_frac: float, n_least: int) -> None:
    packed = gzip.compress(pcap([(i, i * i % 999_983, FRAME, 100) for i in range(2000)]))
    coverage = _read_cut(tmp_path / "c.pcap.gz", packed[: int(kept_frac * len(packed))])

    assert n_least <= coverage.n_rows < 2000
    assert "gzip data end early" in coverage.problems[0]


def test_cut_compression_without_one_packet_is_named_as_the_cause(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="gzip data end early, after 15 bytes"):
        _read_cut(tmp_path / "c.pcap.gz", gzip.compress(pcap([]))[:15])


def _read_cut(path: Path, content: bytes) -> Coverage:
    path.write_bytes(content)
    pieces = Input(name=path.name, path=path).pieces()
    return CaptureReader(path.name, MemorySink(), host=None, bin_ns=1_000_000, by="pair").read(pieces)


def test_what_is_no_capture_is_named() -> None:
    with pytest.raises(BadInput, match="looks like PNG image"):
        read(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(BadInput, match="ends after 10 bytes of 24"):
        read(pcap([])[:10])


MUTANTS = [
    pcap([(i, i, FRAME, 1000 + i) for i in range(9)]),
    section()
    + interface(option(2, b"eth0"), option(9, b"\x8a"))
    + packet(FRAME, ticks=5)
    + simple_packet(FRAME)
    + old_packet(FRAME, ticks=6)
    + section(order=">")
    + interface(order=">")
    + packet(FRAME, ticks=9, order=">"),
]


@settings(max_examples=150, deadline=None)
@given(
    whole=st.sampled_from(MUTANTS),
    edits=st.lists(st.tuples(st.integers(0, 900), st.binary(max_size=6), st.integers(0, 6)), max_size=4),
    piece_bytes=st.sampled_from([1, 37, 4096]),
)
def test_mutated_captures_never_crash_and_lose_no_byte_that_was_counted(
    whole: bytes, edits: list[tuple[int, bytes, int]], piece_bytes: int
) -> None:
    data = bytearray(whole)
    for at, new, n_old in edits:
        data[at : at + n_old] = new
    try:
        coverage, sink = read(bytes(data), piece_bytes=piece_bytes)
    except BadInput:
        return
    flows = sink.flows[0]
    assert sum(flows["packets"].to_pylist()) == coverage.totals["packets"] == coverage.n_rows
    assert sum(flows["bytes"].to_pylist()) == coverage.totals["wire_bytes"]


@settings(max_examples=30, deadline=None)
@given(
    packets=st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 999_999), st.binary(max_size=90), st.integers(0, 9000)),
        max_size=60,
    ),
    piece_bytes=st.sampled_from([1, 64, 1 << 20]),
)
def test_bytes_in_samples_are_the_bytes_on_the_wire(
    packets: list[tuple[int, int, bytes, int]], piece_bytes: int
) -> None:
    coverage, sink = read(pcap(packets), piece_bytes=piece_bytes)

    counted = Counter[str]()
    for series, _, value, _ in sink.counters():
        counted[series.metric] += int(value.sum())
    assert counted["bytes"] == coverage.totals["wire_bytes"] == sum(wire for _, _, _, wire in packets)
    assert counted["packets"] == coverage.totals["packets"] == len(packets)
    for _, t_ns, _, _ in sink.counters():
        assert np.all(np.diff(t_ns) > 0)


# The main job


def test_capture_of_two_jobs_gives_the_beat_of_each() -> None:
    path = SAMPLE_DATA / "trunk.pcap.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    truth = truth_of(SAMPLE_DATA / "trunk.truth.json")
    counters, problems = read_counters(path)

    assert problems == []
    periods_s = {
        series.host: profile(rate_series(series, t_ns=t_ns, value=value, flags=flags)).period_s
        for series, t_ns, value, flags in counters
    }
    for job, hosts in (("A", ("10.77.0.1", "10.77.0.2")), ("B", ("10.77.1.1", "10.77.1.2"))):
        iterations_s = np.diff(truth[job][:, 0]) / SECOND_NS
        for host in hosts:
            assert periods_s[host] == pytest.approx(np.median(iterations_s), rel=0.03)
