"""Traps of the link layer: what stands before an IP packet, and how to come through it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.profiler.captures_layers import (
    IPV4,
    IPV6,
    V6,
    erf,
    llc_snap,
    mpls,
    pppoe,
    sll,
    sll2,
    tcp_flow,
    tcp_v4,
    tcp_v6,
    udp_flow,
    udp_v4,
)
from tests.profiler.captures_truth import NOWHERE, NS_PER_S, T0_NS, Trap, sent, trap_of
from tests.profiler.frames import ethernet

__all__ = ["link_traps"]

NULL, RAW_BSD, RAW_OPENBSD, RAW, LOOP, SLL, ERF, IPV4_ONLY, IPV6_ONLY, SLL2 = (
    0,
    12,
    14,
    101,
    108,
    113,
    197,
    228,
    229,
    276,
)
ERF_ETHERNET: Final = 2
AF_INET: Final = 2
AF_INET6: Final = (24, 28, 30)
"""Of NetBSD and OpenBSD, of FreeBSD, and of macOS."""
OF_V4, OF_V6 = tcp_flow(), tcp_flow(V6)


def link_traps() -> list[Trap]:
    """Return a trap for each link layer and each kind of tag."""
    return [*_ethernets(), *_without_ethernet(), *_tagged()]


def _ethernets() -> list[Trap]:
    plain = sent(
        (ethernet(tcp_v4(100), IPV4), OF_V4, 100),
        (ethernet(tcp_v6(7), IPV6), OF_V6, 7),
        (ethernet(udp_v4(0), IPV4), udp_flow(), 0),
        (ethernet(tcp_v4(50), IPV4), OF_V4, 50),
    )
    padded = sent(
        (ethernet(tcp_v4(2), IPV4).ljust(60, b"\x00"), OF_V4, 2), (ethernet(tcp_v4(0), IPV4).ljust(60), OF_V4, 0)
    )
    strangers = sent(
        (ethernet(bytes(46), 0x0806), NOWHERE, 0),
        (ethernet(bytes(100), 0x88B5), NOWHERE, 0),
        (ethernet(tcp_v4(9), IPV4), OF_V4, 9),
    )
    return [
        trap_of("ethernet", plain),
        trap_of("ethernet-padding-is-no-payload", padded),
        trap_of("ethernet-arp-and-a-private-type", strangers),
        trap_of("ethernet-802.3-snap", sent((llc_snap(tcp_v4(30), IPV4), OF_V4, 30))),
        trap_of("ethernet-pppoe", sent((pppoe(tcp_v4(30)), OF_V4, 30))),
    ]


def _without_ethernet() -> list[Trap]:
    both = sent((tcp_v4(11), OF_V4, 11), (tcp_v6(12), OF_V6, 12))
    of_v4, of_v6 = sent((tcp_v4(11), OF_V4, 11)), sent((tcp_v6(12), OF_V6, 12))
    bsd = [
        sent(
            (AF_INET.to_bytes(4, order) + tcp_v4(11), OF_V4, 11),
            *((family.to_bytes(4, order) + tcp_v6(12), OF_V6, 12) for family in AF_INET6),
        )
        for order in ("little", "big")
    ]
    family = {"scapy": "knows one number of IPv6 of the three, in its machine's byte order"}
    cooked = sent((sll(tcp_v4(11), IPV4), OF_V4, 11), (sll(tcp_v6(12), IPV6), OF_V6, 12))
    cooked_tag = sent((sll(b"\x00\x07\x08\x00" + tcp_v4(11), 0x8100), OF_V4, 11))
    cooked2 = sent((sll2(tcp_v4(11), IPV4), OF_V4, 11), (sll2(tcp_v6(12), IPV6), OF_V6, 12))
    return [
        trap_of("raw-101", both, link=RAW),
        trap_of("raw-12", both, link=RAW_BSD),
        trap_of("raw-14", both, link=RAW_OPENBSD, flows_wrong={"scapy": "does not know the link type"}),
        trap_of("ipv4-228", of_v4, link=IPV4_ONLY),
        trap_of("ipv6-229", of_v6, link=IPV6_ONLY),
        trap_of("null-little-endian", bsd[0], link=NULL, flows_wrong=family),
        trap_of("null-big-endian", bsd[1], link=NULL, flows_wrong=family),
        trap_of("loop", bsd[1][:2], link=LOOP, flows_wrong=family),
        trap_of("sll", cooked, link=SLL),
        trap_of("sll-vlan", cooked_tag, link=SLL),
        trap_of("sll2", cooked2, link=SLL2),
        _erf(),
    ]


def _erf() -> Trap:
    """Return Ethernet frames of an Endace card; two bytes stand between its header and the frame."""
    frame = ethernet(tcp_v4(40), IPV4)
    record = erf(bytes(2) + frame, kind=ERF_ETHERNET, wire=len(frame), t_s=T0_NS // NS_PER_S)
    packets = [replace(sent((record, OF_V4, 40))[0], n_card=len(record) - len(frame))]
    wrong = {"scapy": "does not know the link type"}
    return trap_of("erf-ethernet", packets, link=ERF, totals_wrong=wrong, flows_wrong=wrong)


def _tagged() -> list[Trap]:
    tagged = {
        "vlan": [(0x8100, 7)],
        "vlan-of-priority-only": [(0x8100, 0xE000)],
        "qinq": [(0x88A8, 7), (0x8100, 8)],
        "three-tags-of-old": [(0x9100, 1), (0x8100, 2), (0x8100, 3)],
    }
    return [
        *(
            trap_of(
                name,
                sent((ethernet(tcp_v4(21), IPV4, tags), OF_V4, 21), (ethernet(tcp_v6(22), IPV6, tags), OF_V6, 22)),
                flows_wrong={"scapy": "does not know the tag 0x9100"} if tags[0][0] == 0x9100 else {},
            )
            for name, tags in tagged.items()
        ),
        trap_of("mpls", sent((ethernet(mpls(tcp_v4(21), [16]), 0x8847), OF_V4, 21))),
        trap_of(
            "mpls-stack-after-vlan",
            sent(
                (ethernet(mpls(tcp_v4(21), [16, 17, 1_048_575]), 0x8847, [(0x8100, 7)]), OF_V4, 21),
                (ethernet(mpls(tcp_v6(22), [3, 2]), 0x8847, [(0x8100, 7)]), OF_V6, 22),
            ),
        ),
    ]
