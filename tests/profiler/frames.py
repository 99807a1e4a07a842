"""Captures made by arithmetic: frames, pcap records and pcapng blocks, byte by byte."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable

__all__ = [
    "MORE_FRAGMENTS",
    "ROCE_PORT",
    "block",
    "bth",
    "ethernet",
    "interface",
    "ipv4",
    "ipv6",
    "old_packet",
    "option",
    "packet",
    "pcap",
    "ports",
    "section",
    "simple_packet",
]

ROCE_PORT = 4791
MORE_FRAGMENTS = 0x2000


def ethernet(payload: bytes, ether_type: int, tags: Iterable[tuple[int, int]] = ()) -> bytes:
    """Return a frame; each tag is its type and its VLAN."""
    tagged = b"".join(struct.pack(">HH", kind, vlan) for kind, vlan in tags)
    return bytes(12) + tagged + struct.pack(">H", ether_type) + payload


def ipv4(
    payload: bytes,
    ends: tuple[str, str],
    *,
    proto: int,
    options: bytes = b"",
    fragment: int = 0,
    number: int = 1,
    total: int | None = None,
) -> bytes:
    """Return a packet from one address to another.

    ``fragment`` is its offset in units of 8 bytes, `MORE_FRAGMENTS` added where more follow; ``number`` its
    identification; ``total`` the length that it claims, if not the true one.
    """
    words = 5 + len(options) // 4
    head = struct.pack(
        ">BBHHHBBH4s4s",
        0x40 | words,
        0,
        4 * words + len(payload) if total is None else total,
        number,
        fragment,
        64,
        proto,
        0,
        *(ipaddress.IPv4Address(end).packed for end in ends),
    )
    return head + options + payload


def ipv6(payload: bytes, ends: tuple[str, str], *, next_header: int) -> bytes:
    """Return a packet from one address to another."""
    addresses = b"".join(ipaddress.IPv6Address(end).packed for end in ends)
    return struct.pack(">IHBB", 6 << 28, len(payload), next_header, 64) + addresses + payload


def ports(sport: int, dport: int, payload: bytes = b"") -> bytes:
    """Return a transport header as far as its ports, padded to that of UDP."""
    return struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload


def bth(queue_pair: int) -> bytes:
    """Return InfiniBand's base transport header."""
    return struct.pack(">BBHII", 4, 0, 0xFFFF, queue_pair, 7)


def pcap(
    packets: Iterable[tuple[int, int, bytes, int]],
    *,
    magic: int = 0xA1B2C3D4,
    order: str = "<",
    link: int = 1,
    snap: int = 262_144,
) -> bytes:
    """Return a capture; a packet is its seconds, its fraction as written, what was captured, and its length."""
    extra = bytes(8) if magic == 0xA1B2CD34 else b""
    records = (
        struct.pack(f"{order}IIII", seconds, fraction, len(data), wire) + extra + data
        for seconds, fraction, data, wire in packets
    )
    return struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, snap, link) + b"".join(records)


def block(kind: int, body: bytes, *, order: str = "<") -> bytes:
    """Return a pcapng block."""
    body += bytes(-len(body) % 4)
    size = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + size + body + size


def option(code: int, value: bytes, *, order: str = "<") -> bytes:
    """Return an option of a block."""
    return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(*options: bytes, order: str = "<", n_bytes: int = -1) -> bytes:
    """Return a section header block; ``n_bytes`` is the length of the section that it claims, -1 for none."""
    return block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, n_bytes) + b"".join(options), order=order)


def interface(*options: bytes, link: int = 1, snap: int = 0, order: str = "<") -> bytes:
    """Return an interface description block."""
    return block(1, struct.pack(f"{order}HHI", link, 0, snap) + b"".join(options), order=order)


def packet(
    data: bytes,
    *,
    ticks: int = 0,
    wire: int | None = None,
    number: int = 0,
    order: str = "<",
    options: bytes = b"",
) -> bytes:
    """Return an enhanced packet block."""
    head = struct.pack(
        f"{order}IIIII", number, ticks >> 32, ticks & 0xFFFF_FFFF, len(data), len(data) if wire is None else wire
    )
    return block(6, head + data + (bytes(-len(data) % 4) + options if options else b""), order=order)


def old_packet(data: bytes, *, ticks: int = 0, wire: int | None = None, number: int = 0, order: str = "<") -> bytes:
    """Return an obsolete packet block."""
    head = struct.pack(
        f"{order}HHIIII", number, 3, ticks >> 32, ticks & 0xFFFF_FFFF, len(data), len(data) if wire is None else wire
    )
    return block(2, head + data, order=order)


def simple_packet(data: bytes, *, wire: int | None = None, order: str = "<") -> bytes:
    """Return a simple packet block."""
    return block(3, struct.pack(f"{order}I", len(data) if wire is None else wire) + data, order=order)
