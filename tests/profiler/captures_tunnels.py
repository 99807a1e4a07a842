"""Traps of tunnels: the flow is the innermost one, the bytes are those of the whole packet."""

from __future__ import annotations

from typing import Final

from tests.profiler.captures_layers import (
    CHECKSUM,
    IPV4,
    IPV6,
    KEY,
    SEQUENCE,
    TEB,
    UDP,
    V6,
    erspan2,
    erspan3,
    geneve,
    gre,
    tcp_flow,
    tcp_v4,
    tcp_v6,
    vxlan,
)
from tests.profiler.captures_truth import Ends, Trap, sent, trap_of
from tests.profiler.captures_verbs import WRITE_MIDDLE, roce2, roce2_flow, verb
from tests.profiler.frames import ethernet, ipv4, ipv6, ports

__all__ = ["tunnel_traps"]

OUTER: Final = ("192.0.2.1", "192.0.2.2")
OUTER_V6: Final = ("2001:db8::1", "2001:db8::2")
GRE, IP_IN_IP, IPV6_IN_IP = 47, 4, 41
ERSPAN, ERSPAN_3 = 0x88BE, 0x22EB
LOOPBACK: Final = 0x9000
"""Ethernet's configuration test: no tunnel."""
PPP: Final = 0x880B
OPTIONS: Final = bytes.fromhex("0102800100000000") + bytes.fromhex("01020003") + bytes(12)
"""Of GENEVE: one of four bytes that is critical, and one of twelve."""
OF_V4, OF_V6 = tcp_flow(), tcp_flow(V6)


def tunnel_traps() -> list[Trap]:
    """Return a trap for each kind of tunnel."""
    return [*_gre(), *_ip_in_ip(), *_over_udp()]


def _in_ipv4(payload: bytes, proto: int) -> bytes:
    return ethernet(ipv4(payload, OUTER, proto=proto), IPV4)


def _gre() -> list[Trap]:
    flags = (0, CHECKSUM, KEY, SEQUENCE, CHECKSUM | KEY | SEQUENCE)
    framed = ethernet(tcp_v4(64), IPV4, [(0x8100, 9)])
    version_1 = gre(bytes(40), PPP, flags=KEY | 1)
    return [
        trap_of(
            "gre-of-what-is-not-ip-is-the-outer-flow",
            sent(
                (_in_ipv4(version_1, GRE), Ends(*OUTER, GRE), 4 + 4 + 40),
                (_in_ipv4(gre(bytes(60), LOOPBACK, flags=SEQUENCE), GRE), Ends(*OUTER, GRE), 4 + 4 + 60),
            ),
        ),
        trap_of(
            "gre-with-every-header-field",
            sent(*((_in_ipv4(gre(tcp_v4(64), IPV4, flags=flag), GRE), OF_V4, 64) for flag in flags)),
        ),
        trap_of(
            "erspan",
            sent(
                (_in_ipv4(gre(framed, ERSPAN), GRE), OF_V4, 64),
                (_in_ipv4(gre(erspan2(framed), ERSPAN, flags=SEQUENCE), GRE), OF_V4, 64),
                (_in_ipv4(gre(erspan3(framed), ERSPAN_3, flags=SEQUENCE), GRE), OF_V4, 64),
            ),
            flows_wrong={"scapy": "knows no mirrored frames"},
        ),
        trap_of("gre-ipv6", sent((_in_ipv4(gre(tcp_v6(65), IPV6, flags=KEY), GRE), OF_V6, 65))),
        trap_of("gre-ethernet-vlan", sent((_in_ipv4(gre(framed, TEB, flags=KEY), GRE), OF_V4, 64))),
        trap_of(
            "gre-over-ipv6", sent((ethernet(ipv6(gre(tcp_v4(64), IPV4), OUTER_V6, next_header=GRE), IPV6), OF_V4, 64))
        ),
    ]


def _ip_in_ip() -> list[Trap]:
    twice = ipv4(ipv4(tcp_v4(33), OUTER, proto=IP_IN_IP), ("198.51.100.1", "198.51.100.2"), proto=IP_IN_IP)
    return [
        trap_of(
            "ip-in-ip", sent((_in_ipv4(tcp_v4(31), IP_IN_IP), OF_V4, 31), (_in_ipv4(tcp_v6(32), IPV6_IN_IP), OF_V6, 32))
        ),
        trap_of("ip-in-ip-in-ip", sent((ethernet(twice, IPV4), OF_V4, 33))),
        trap_of(
            "ip-in-ipv6",
            sent((ethernet(ipv6(tcp_v4(31), OUTER_V6, next_header=IP_IN_IP), IPV6), OF_V4, 31)),
        ),
    ]


def _over_udp() -> list[Trap]:
    inner, inner_v6 = ethernet(tcp_v4(200), IPV4), ethernet(tcp_v6(201), IPV6)
    rdma = roce2(verb(WRITE_MIDDLE, qp=77, psn=5, n_payload=1024))
    over_v6 = ethernet(ipv6(vxlan(inner), OUTER_V6, next_header=UDP), IPV6)
    return [
        trap_of("vxlan", sent((_in_ipv4(vxlan(inner), UDP), OF_V4, 200), (_in_ipv4(vxlan(inner_v6), UDP), OF_V6, 201))),
        trap_of("vxlan-over-ipv6", sent((over_v6, OF_V4, 200))),
        trap_of("vxlan-rocev2", sent((_in_ipv4(vxlan(rdma), UDP), roce2_flow(77), 1024))),
        trap_of(
            "vxlan-of-nothing-known",
            sent((_in_ipv4(vxlan(ethernet(bytes(50), 0x88B5)), UDP), _outer(4789), 8 + 14 + 50)),
        ),
        trap_of("geneve", sent((_in_ipv4(geneve(inner, TEB), UDP), OF_V4, 200))),
        trap_of(
            "geneve-options",
            sent(
                (_in_ipv4(geneve(inner, TEB, options=OPTIONS), UDP), OF_V4, 200),
                (_in_ipv4(geneve(tcp_v4(3), IPV4, options=OPTIONS), UDP), OF_V4, 3),
            ),
        ),
        trap_of("udp-that-is-no-tunnel", sent((_in_ipv4(ports(50_000, 4789, bytes(5)), UDP), _outer(4789), 5))),
    ]


def _outer(port: int) -> Ends:
    return Ends(*OUTER, UDP, 50_000, port)
