"""What stands inside a packet: addresses, ports and queue pairs, through tags, options and extension headers."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from profiler.importers.captures.reader import CaptureReader
from profiler.importers.sink import MemorySink
from tests.profiler.frames import (
    ROCE_PORT,
    bth,
    ethernet,
    interface,
    ipv4,
    ipv6,
    old_packet,
    option,
    packet,
    pcap,
    ports,
    section,
)

V4 = ("10.0.0.1", "10.0.0.2")
V6 = ("fd00::1", "fd00::2")
ENDS_V4, ENDS_V6 = ({"src": src, "dst": dst} for src, dst in (V4, V6))
TCP = ports(1000, 2000)
IPV4, IPV6 = 0x0800, 0x86DD
NOTHING = dict.fromkeys(("src", "dst", "proto", "sport", "dport", "qp"))


def flow_of(frame: bytes, *, link: int = 1) -> dict[str, Any]:
    """Return the flow of a capture of one packet, without its counts."""
    sink = MemorySink()
    CaptureReader("made", sink, host=None, bin_ns=1_000_000, by="pair").read(
        iter([pcap([(1, 0, frame, len(frame))], link=link)])
    )
    (row,) = sink.flows[0].to_pylist()
    return {name: row[name] for name in NOTHING}


TCP_V4 = {**ENDS_V4, "proto": 6, "sport": 1000, "dport": 2000, "qp": None}
TCP_V6 = {**ENDS_V6, "proto": 6, "sport": 1000, "dport": 2000, "qp": None}


@pytest.mark.parametrize(
    ("head", "link"),
    [
        (bytes(12) + b"\x08\x00", 1),
        (bytes(14) + b"\x08\x00", 113),
        (b"\x08\x00" + bytes(18), 276),
        (b"", 101),
        (b"", 12),
        (b"", 228),
        (b"\x02\x00\x00\x00", 0),
        (b"\x00\x00\x00\x02", 0),
        (b"\x00\x00\x00\x02", 108),
    ],
    ids=["ethernet", "sll", "sll2", "raw", "raw-bsd", "ipv4", "null-le", "null-be", "loop"],
)
def test_every_link_type_leads_to_the_network_layer(head: bytes, link: int) -> None:
    assert flow_of(head + ipv4(TCP, V4, proto=6), link=link) == TCP_V4


@pytest.mark.parametrize(("link", "head"), [(101, b""), (229, b""), (108, b"\x00\x00\x00\x1c")])
def test_ipv6_without_ethernet_is_known_by_its_version(link: int, head: bytes) -> None:
    assert flow_of(head + ipv6(TCP, V6, next_header=6), link=link) == TCP_V6


@pytest.mark.parametrize("tags", [[(0x8100, 7)], [(0x88A8, 7), (0x8100, 8)], [(0x9100, 1), (0x8100, 2), (0x8100, 3)]])
def test_vlan_tags_are_passed_over(tags: list[tuple[int, int]]) -> None:
    assert flow_of(ethernet(ipv4(TCP, V4, proto=6), IPV4, tags)) == TCP_V4
    assert flow_of(ethernet(ipv6(TCP, V6, next_header=6), IPV6, tags)) == TCP_V6


def test_options_of_ipv4_are_passed_over() -> None:
    assert flow_of(ethernet(ipv4(TCP, V4, proto=6, options=bytes(16)), IPV4)) == TCP_V4


def test_extension_headers_of_ipv6_are_passed_over() -> None:
    hop_by_hop = bytes([43, 1]) + bytes(14)
    routing = bytes([51, 0]) + bytes(6)
    authentication = bytes([44, 2]) + bytes(14)
    first_fragment = struct.pack(">BBHI", 6, 0, 1, 5)
    chain = hop_by_hop + routing + authentication + first_fragment

    assert flow_of(ethernet(ipv6(chain + TCP, V6, next_header=0), IPV6)) == TCP_V6


def test_later_fragments_have_addresses_and_no_ports() -> None:
    without_ports = {"sport": None, "dport": None}
    assert flow_of(ethernet(ipv4(TCP, V4, proto=17, fragment=185), IPV4)) == {**TCP_V4, "proto": 17, **without_ports}
    later = struct.pack(">BBHI", 17, 0, 185 << 3, 5)
    assert flow_of(ethernet(ipv6(later + TCP, V6, next_header=44), IPV6)) == {**TCP_V6, "proto": 17, **without_ports}


def test_more_fragments_to_come_is_not_a_later_fragment() -> None:
    assert flow_of(ethernet(ipv4(TCP, V4, proto=6, fragment=0x2000), IPV4)) == TCP_V4


@pytest.mark.parametrize("queue_pair", [0, 1, 0x0012D4, 0xFF_FFFF])
def test_rocev2_is_told_by_its_destination_queue_pair(queue_pair: int) -> None:
    udp = ports(49_152, ROCE_PORT, bth(queue_pair) + bytes(64))
    expected = {"proto": 17, "sport": 49_152, "dport": ROCE_PORT, "qp": queue_pair}

    assert flow_of(ethernet(ipv4(udp, V4, proto=17), IPV4)) == {**ENDS_V4, **expected}
    assert flow_of(ethernet(ipv6(udp, V6, next_header=17), IPV6, [(0x8100, 3)])) == {**ENDS_V6, **expected}


def test_upper_bits_beside_the_queue_pair_do_not_count() -> None:
    udp = ports(49_152, ROCE_PORT, bth(0xAB_000007))

    assert flow_of(ethernet(ipv4(udp, V4, proto=17), IPV4))["qp"] == 7


def test_rocev1_is_told_by_its_global_route_header() -> None:
    found = flow_of(ethernet(ipv6(bth(9), V6, next_header=0x1B), 0x8915))

    assert found == {**ENDS_V6, "proto": 0x1B, "sport": None, "dport": None, "qp": 9}


def test_udp_to_another_port_has_no_queue_pair() -> None:
    assert flow_of(ethernet(ipv4(ports(ROCE_PORT, 53, bth(5)), V4, proto=17), IPV4))["qp"] is None


@pytest.mark.parametrize("n_bytes", range(14 + 20 + 8 + 12))
def test_packet_cut_by_the_snap_length_tells_what_is_left_of_it(n_bytes: int) -> None:
    frame = ethernet(ipv4(ports(49_152, ROCE_PORT, bth(5)), V4, proto=17), IPV4)
    found = flow_of(frame[:n_bytes])

    addressed, with_ports, with_pair = n_bytes >= 34, n_bytes >= 38, n_bytes >= 50
    assert found["src"] == (ENDS_V4["src"] if addressed else None)
    assert found["dport"] == (ROCE_PORT if with_ports else None)
    assert found["qp"] == (5 if with_pair else None)


@pytest.mark.parametrize(
    "frame",
    [
        ethernet(bytes(46), 0x0806),
        ethernet(b"\x45" + bytes(10), IPV4),
        ethernet(b"\x42" + bytes(40), IPV4),
        ethernet(b"\x65" + bytes(60), IPV4),
        ethernet(b"\x45" + bytes(60), IPV6),
        ethernet(b"", 0x8100),
    ],
    ids=["arp", "short", "no-header-length", "version-6-as-4", "version-4-as-6", "tag-without-end"],
)
def test_what_is_not_ip_keeps_its_bytes_without_addresses(frame: bytes) -> None:
    assert flow_of(frame) == NOTHING


def test_unknown_link_type_keeps_its_bytes_without_addresses() -> None:
    assert flow_of(ethernet(ipv4(TCP, V4, proto=6), IPV4), link=147) == NOTHING


LONG = ethernet(ipv4(ports(1000, 2000, bytes(40)), V4, proto=6), IPV4)


@pytest.mark.parametrize("wire", [2**20 + 1, 2**32 - 1])
@pytest.mark.parametrize("kind", ["pcap", "pcapng", "pcapng of old blocks"])
def test_length_on_the_wire_that_no_packet_has_is_damage_and_what_was_captured_counts(wire: int, kind: str) -> None:
    head = section() + interface()
    data = {
        "pcap": pcap([(1, 0, LONG, wire), (1, 0, LONG, 9000)]),
        "pcapng": head + packet(LONG, ticks=1, wire=wire) + packet(LONG, ticks=1, wire=9000),
        "pcapng of old blocks": head + old_packet(LONG, ticks=1, wire=wire) + old_packet(LONG, ticks=1, wire=9000),
    }[kind]
    sink = MemorySink()
    coverage = CaptureReader("made", sink, host=None, bin_ns=1_000_000, by="pair").read(iter([data]))

    assert coverage.totals["wire_bytes"] == sink.flows[0]["bytes"].to_pylist()[0] == len(LONG) + 9000
    assert [(note.what, note.why.split(":")[0]) for note in coverage.skipped] == [
        ("packets (1)", "damaged, longer on the wire than any packet can be")
    ]


def test_super_packet_that_a_card_is_to_cut_is_no_damage() -> None:
    coverage = CaptureReader("made", MemorySink(), host=None, bin_ns=1_000_000, by="pair").read(
        iter([pcap([(1, 0, LONG, 8 * 65_535 + 14)])])
    )

    assert coverage.totals["wire_bytes"] == 8 * 65_535 + 14
    assert not coverage.skipped


def test_two_interfaces_of_one_name_in_a_section_are_two_places_and_the_same_two_in_the_next() -> None:
    names = (b"eth0", b"eth0", b"eth0#2", b"eth1")
    part = b"".join(
        (
            section(),
            *(interface(option(2, name)) for name in names),
            *(packet(LONG, ticks=number, number=number) for number in range(len(names))),
        )
    )
    sink = MemorySink()
    CaptureReader("made", sink, host="h", bin_ns=1_000_000, by="pair").read(iter([part + part]))

    assert sink.flows[0]["packets"].to_pylist() == [2, 2, 2, 2]
    assert len(set(sink.flows[0]["flow_id"].to_pylist())) == len(names)
    assert {series.port for series, *_ in sink.counters()} == {"h:eth0", "h:eth0#2", "h:eth0#2#2", "h:eth1"}
