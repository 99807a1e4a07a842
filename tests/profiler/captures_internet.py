"""Traps of the internet layer: options, fragments, extension headers, and lengths that do not say what they seem to."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Final

from tests.profiler.captures_layers import IPV4, IPV6, TCP, UDP, V4, V6, tcp, tcp_flow, tcp_v4, tcp_v6, udp_flow
from tests.profiler.captures_truth import NOWHERE, Ends, Packet, Trap, at_ms, sent, trap_of
from tests.profiler.frames import MORE_FRAGMENTS, ethernet, ipv4, ipv6, ports

__all__ = ["internet_traps"]

ETHERNET_BYTES: Final = 14
OF_V4, OF_V6 = tcp_flow(), tcp_flow(V6)
HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION, AUTHENTICATION, ESP = 0, 43, 44, 60, 51, 50
ICMP: Final = 1
FRAGMENT_BYTES: Final = 1480
N_DATAGRAM: Final = 4000
"""Payload of a UDP datagram that travels in three fragments."""


def internet_traps() -> list[Trap]:
    """Return a trap for each way in which the internet layer misleads."""
    return [*_headers(), *_fragments(), *_lengths(), *_cut()]


def _headers() -> list[Trap]:
    options = ipv4(tcp(1000, 2000, bytes(70), options=bytes(12)), V4, proto=TCP, options=b"\x01" * 40)
    segment = tcp(1000, 2000, bytes(71))
    chain = (
        struct.pack(">BB14x", ROUTING, 1)
        + struct.pack(">BB6x", DESTINATION, 0)
        + struct.pack(">BB6x", AUTHENTICATION, 0)
        + struct.pack(">BB14x", FRAGMENT, 2)
        + struct.pack(">BBHI", TCP, 0, 0, 5)
    )
    others = sent(
        (ethernet(ipv4(b"\x08" + bytes(55), V4, proto=ICMP), IPV4), Ends(*V4, ICMP), 56),
        (ethernet(ipv4(bytes(72), V4, proto=ESP), IPV4), Ends(*V4, ESP), 72),
    )
    return [
        trap_of("ipv4-options", sent((ethernet(options, IPV4), OF_V4, 70))),
        trap_of(
            "ipv6-every-extension-header",
            sent((ethernet(ipv6(chain + segment, V6, next_header=HOP_BY_HOP), IPV6), OF_V6, 71)),
            flows_wrong={"scapy": "goes no further than an authentication header"},
        ),
        trap_of("ip-without-ports", others),
    ]


def _fragments() -> list[Trap]:
    whole, other = _fragments_v4(sport=1000, number=7), _fragments_v4(sport=1001, number=8)
    woven = [packet for pair in zip(whole, other, strict=True) for packet in pair]
    lost = [replace(packet, ends=Ends(*V4, UDP)) for packet in whole[1:]]
    wrong = dict.fromkeys(("tshark", "scapy"), "knows no ports of a later fragment")
    return [
        trap_of("fragments", _in_order(whole), flows_wrong=wrong),
        trap_of("fragments-last-first", _in_order(whole[::-1]), flows_wrong=wrong),
        trap_of("fragments-of-two-datagrams-woven", _in_order(woven), flows_wrong=wrong),
        trap_of("fragments-whose-first-was-lost", _in_order(lost)),
        trap_of("fragments-of-ipv6", _in_order(_fragments_v6()), flows_wrong=wrong),
        trap_of("fragments-of-ipv6-last-first", _in_order(_fragments_v6()[::-1]), flows_wrong=wrong),
    ]


def _in_order(packets: list[Packet]) -> list[Packet]:
    return [replace(packet, t_ns=at_ms(i)) for i, packet in enumerate(packets)]


def _fragments_v4(*, sport: int, number: int) -> list[Packet]:
    datagram = ports(sport, 2000, bytes(N_DATAGRAM))
    made = []
    for at in range(0, len(datagram), FRAGMENT_BYTES):
        part = datagram[at : at + FRAGMENT_BYTES]
        more = MORE_FRAGMENTS if at + FRAGMENT_BYTES < len(datagram) else 0
        fragment = ipv4(part, V4, proto=UDP, fragment=more | at // 8, number=number)
        made.append((ethernet(fragment, IPV4), udp_flow(sport=sport), len(part) - (8 if at == 0 else 0)))
    return sent(*made)


def _fragments_v6() -> list[Packet]:
    datagram = ports(1000, 2000, bytes(N_DATAGRAM))
    made = []
    for at in range(0, len(datagram), FRAGMENT_BYTES):
        part = datagram[at : at + FRAGMENT_BYTES]
        more = int(at + FRAGMENT_BYTES < len(datagram))
        head = struct.pack(">BBHI", UDP, 0, at | more, 99)
        frame = ethernet(ipv6(head + part, V6, next_header=FRAGMENT), IPV6)
        made.append((frame, udp_flow(V6), len(part) - (8 if at == 0 else 0)))
    return sent(*made)


def _lengths() -> list[Trap]:
    super_bytes = 70_000
    segment = tcp(1000, 2000, bytes(super_bytes))
    without_total = ethernet(ipv4(segment, V4, proto=TCP, total=0), IPV4)
    jumbo = struct.pack(">BBBBI", TCP, 0, 0xC2, 4, 8 + len(segment))
    nothing = "takes a length of zero for no payload"
    big = ethernet(_without_length(ipv6(jumbo + segment[:60_000], V6, next_header=HOP_BY_HOP)), IPV6)
    small = ethernet(_without_length(tcp_v6(500)), IPV6)
    return [
        trap_of("tso-super-packet", sent((ethernet(tcp_v4(60_000), IPV4), OF_V4, 60_000))),
        trap_of("tso-super-packet-without-total-length", sent((without_total, OF_V4, super_bytes))),
        trap_of(
            "total-length-zero",
            sent((ethernet(ipv4(tcp(1000, 2000, bytes(9)), V4, proto=TCP, total=0), IPV4), OF_V4, 9)),
        ),
        trap_of(
            "ipv6-jumbogram",
            [
                Packet(
                    data=big,
                    wire=len(big) + super_bytes + 20 - 60_000,
                    t_ns=at_ms(0),
                    ends=OF_V6,
                    payload_bytes=super_bytes,
                )
            ],
        ),
        trap_of("ipv6-length-zero", sent((small, OF_V6, 500)), flows_wrong={"scapy": nothing, "tshark": nothing}),
        trap_of(
            "total-length-beyond-the-frame",
            sent((ethernet(ipv4(tcp(1000, 2000, bytes(9)), V4, proto=TCP, total=900), IPV4), OF_V4, 9)),
        ),
    ]


def _without_length(packet: bytes) -> bytes:
    """Return an IPv6 packet whose payload length is zero, as in a jumbogram or a packet that a NIC has yet to cut."""
    return packet[:4] + bytes(2) + packet[6:]


def _cut() -> list[Trap]:
    """Return packets of which a short snap length left only so much: what is missing must not be read."""
    v4, v6 = ethernet(tcp_v4(1400), IPV4), ethernet(tcp_v6(1400), IPV6)
    return [
        trap_of(
            "snap-length-behind-the-ports",
            [_snapped(v4, 54, OF_V4, i=0), _snapped(v4, 60, OF_V4, i=1), _snapped(v6, 74, OF_V6, i=2)],
        ),
        trap_of(
            "snap-length-before-the-ports",
            [
                replace(_snapped(v4, n, Ends(*V4, TCP) if n >= 34 else NOWHERE, i=n), payload_bytes=None)
                for n in range(38)
            ],
            flows_wrong={"tshark": "names a half of the addresses", "scapy": "fails on headers that are cut"},
        ),
    ]


def _snapped(frame: bytes, n_captured: int, ends: Ends, *, i: int) -> Packet:
    return Packet(data=frame[:n_captured], wire=len(frame), t_ns=at_ms(i), ends=ends, payload_bytes=1400)
