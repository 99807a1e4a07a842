"""What stands around a packet: transports, link layers, tags, labels and tunnels, byte by byte.

References
----------
.. [1] https://www.tcpdump.org/linktypes.html
.. [2] RFC 2784 and 2890 (GRE), 3032 (MPLS), 7348 (VXLAN), 8926 (GENEVE), 2516 (PPPoE).
.. [3] https://wiki.wireshark.org/ERF
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from tests.profiler.captures_truth import Ends
from tests.profiler.frames import ethernet, ipv4, ipv6, ports

__all__ = [
    "IPV4",
    "IPV6",
    "TCP",
    "TEB",
    "UDP",
    "V4",
    "V6",
    "erf",
    "erspan2",
    "erspan3",
    "geneve",
    "gre",
    "llc_snap",
    "mpls",
    "pppoe",
    "sll",
    "sll2",
    "tcp",
    "tcp_flow",
    "tcp_v4",
    "tcp_v6",
    "udp_flow",
    "udp_v4",
    "vxlan",
]

IPV4: Final = 0x0800
IPV6: Final = 0x86DD
TEB: Final = 0x6558
"""Transparent Ethernet bridging: a whole frame inside GRE or GENEVE."""
TCP: Final = 6
UDP: Final = 17

V4: Final = ("10.0.0.1", "10.0.0.2")
V6: Final = ("fd00::1", "fd00::2")

VXLAN_PORT: Final = 4789
GENEVE_PORT: Final = 6081
CHECKSUM, KEY, SEQUENCE = 0x8000, 0x2000, 0x1000


def tcp(sport: int, dport: int, payload: bytes = b"", *, options: bytes = b"") -> bytes:
    """Return a segment."""
    words = 5 + len(options) // 4
    return struct.pack(">HHIIBBHHH", sport, dport, 1, 1, words << 4, 0x10, 512, 0, 0) + options + payload


def tcp_v4(n_payload: int, *, ends: tuple[str, str] = V4, sport: int = 1000) -> bytes:
    """Return an IPv4 packet of a TCP flow to port 2000."""
    return ipv4(tcp(sport, 2000, bytes(n_payload)), ends, proto=TCP)


def tcp_v6(n_payload: int, *, ends: tuple[str, str] = V6, sport: int = 1000) -> bytes:
    """Return an IPv6 packet of a TCP flow to port 2000."""
    return ipv6(tcp(sport, 2000, bytes(n_payload)), ends, next_header=TCP)


def udp_v4(n_payload: int, *, ends: tuple[str, str] = V4, sport: int = 1000) -> bytes:
    """Return an IPv4 packet of a UDP flow to port 2000."""
    return ipv4(ports(sport, 2000, bytes(n_payload)), ends, proto=UDP)


def tcp_flow(ends: tuple[str, str] = V4, *, sport: int = 1000) -> Ends:
    """Return the flow of `tcp_v4` and `tcp_v6`."""
    return Ends(*ends, TCP, sport, 2000)


def udp_flow(ends: tuple[str, str] = V4, *, sport: int = 1000) -> Ends:
    """Return the flow of `udp_v4`."""
    return Ends(*ends, UDP, sport, 2000)


# Link layers


def sll(payload: bytes, ether_type: int) -> bytes:
    """Return a packet as Linux's "any" device gives it."""
    return struct.pack(">HHH8sH", 0, 1, 6, bytes(8), ether_type) + payload


def sll2(payload: bytes, ether_type: int) -> bytes:
    """Return a packet as Linux's "any" device gives it to newer tools."""
    return struct.pack(">HHIHBB8s", ether_type, 0, 3, 1, 0, 6, bytes(8)) + payload


def erf(payload: bytes, *, kind: int, wire: int, t_s: int) -> bytes:
    """Return a record of an Endace card; its time is fixed point, its length counts header and payload."""
    return struct.pack("<Q", t_s << 32) + struct.pack(">BBHHH", kind, 4, 16 + len(payload), 0, wire) + payload


# Tags and labels


def mpls(payload: bytes, labels: Iterable[int]) -> bytes:
    """Return a payload under a stack of labels."""
    stack = list(labels)
    last = len(stack) - 1
    return b"".join(struct.pack(">I", label << 12 | (i == last) << 8 | 64) for i, label in enumerate(stack)) + payload


def llc_snap(payload: bytes, ether_type: int) -> bytes:
    """Return an IEEE 802.3 frame: a length where Ethernet II has a type, which comes after a SNAP header."""
    body = b"\xaa\xaa\x03" + bytes(3) + struct.pack(">H", ether_type) + payload
    return bytes(12) + struct.pack(">H", len(body)) + body


def pppoe(payload: bytes) -> bytes:
    """Return an Ethernet frame of a PPPoE session that carries IPv4."""
    return ethernet(struct.pack(">BBHHH", 0x11, 0, 7, len(payload) + 2, 0x0021) + payload, 0x8864)


# Tunnels


def gre(payload: bytes, ether_type: int, *, flags: int = 0) -> bytes:
    """Return a tunnelled packet; flags say which of `CHECKSUM`, `KEY` and `SEQUENCE` stand in its header."""
    fields = b"".join(bytes(4) for flag in (CHECKSUM, KEY, SEQUENCE) if flags & flag)
    return struct.pack(">HH", flags, ether_type) + fields + payload


def erspan2(frame: bytes) -> bytes:
    """Return a frame that a switch mirrors, behind the header of type II; goes into `gre` with a `SEQUENCE`."""
    return struct.pack(">HHI", 1 << 12 | 7, 3 << 11 | 5, 9) + frame


def erspan3(frame: bytes) -> bytes:
    """Return a frame that a switch mirrors, behind the header of type III."""
    return struct.pack(">HHIHH", 2 << 12 | 7, 3 << 11 | 5, 12345, 1, 0) + frame


def vxlan(frame: bytes, *, vni: int = 7) -> bytes:
    """Return an Ethernet frame as the datagram of a tunnel."""
    return ports(50_000, VXLAN_PORT, struct.pack(">II", 0x08 << 24, vni << 8) + frame)


def geneve(payload: bytes, protocol: int, *, options: bytes = b"") -> bytes:
    """Return a payload as the datagram of a tunnel."""
    head = struct.pack(">BBHI", len(options) // 4, 0, protocol, 7 << 8)
    return ports(50_000, GENEVE_PORT, head + options + payload)
