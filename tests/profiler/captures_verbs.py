"""Packets of remote direct memory access: InfiniBand's transport over Ethernet, over IP, and on its own links.

References
----------
.. [1] InfiniBand Architecture Specification 1.7, sections 7.7 (local route header), 8.3 (global route header), 9.2 to
   9.3 (transport headers), annexes A16 (RoCE) and A17 (RoCEv2, congestion notification).
"""

from __future__ import annotations

import struct
from typing import Final

from tests.profiler.captures_layers import IPV4, IPV6, UDP, V4, V6
from tests.profiler.captures_truth import Ends
from tests.profiler.frames import ROCE_PORT, ethernet, ipv4, ipv6, ports

__all__ = [
    "ACK",
    "ATOMIC_ACK",
    "ATOMIC_ADD",
    "CNP",
    "IB_PROTOCOL",
    "READ_FIRST",
    "READ_LAST",
    "READ_MIDDLE",
    "READ_ONLY",
    "READ_REQUEST",
    "SEND_IMMEDIATE",
    "SEND_ONLY",
    "UD_SEND",
    "WRITE_FIRST",
    "WRITE_IMMEDIATE",
    "WRITE_LAST",
    "WRITE_MIDDLE",
    "WRITE_ONLY",
    "infiniband",
    "roce1",
    "roce2",
    "roce2_flow",
    "roce2_v6",
    "verb",
]

SEND_ONLY, SEND_IMMEDIATE = 0x04, 0x05
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY, WRITE_IMMEDIATE = 0x06, 0x07, 0x08, 0x0A, 0x0B
READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = 0x0C, 0x0D, 0x0E, 0x0F, 0x10
ACK, ATOMIC_ACK, ATOMIC_ADD = 0x11, 0x12, 0x14
UD_SEND, CNP = 0x64, 0x81

RETH, AETH, ATOMIC, ATOMIC_REPLY, IMMEDIATE, DATAGRAM, RESERVED = 16, 4, 28, 8, 4, 8, 16
_HEADER_BYTES: Final = {
    SEND_ONLY: 0,
    SEND_IMMEDIATE: IMMEDIATE,
    WRITE_FIRST: RETH,
    WRITE_MIDDLE: 0,
    WRITE_LAST: 0,
    WRITE_ONLY: RETH,
    WRITE_IMMEDIATE: RETH + IMMEDIATE,
    READ_REQUEST: RETH,
    READ_FIRST: AETH,
    READ_MIDDLE: 0,
    READ_LAST: AETH,
    READ_ONLY: AETH,
    ACK: AETH,
    ATOMIC_ACK: AETH + ATOMIC_REPLY,
    ATOMIC_ADD: ATOMIC,
    UD_SEND: DATAGRAM,
    CNP: RESERVED,
}
"""Bytes between the base transport header and the payload; a notification's reserved bytes are no payload."""

IB_PROTOCOL: Final = 0x1B
"""What a global route header says follows it."""
CHECKSUM: Final = bytes(4)


def verb(opcode: int, *, qp: int, psn: int, n_payload: int = 0) -> bytes:
    """Return base transport header, its extension, payload, padding to four bytes, and the invariant checksum."""
    n_pad = -n_payload % 4
    base = struct.pack(">BBHII", opcode, n_pad << 4, 0xFFFF, qp, psn)
    return base + bytes(_HEADER_BYTES[opcode] + n_payload + n_pad) + CHECKSUM


def roce2(transport: bytes, *, ends: tuple[str, str] = V4, sport: int = 49_152) -> bytes:
    """Return a frame of RoCE version 2 over IPv4."""
    return ethernet(ipv4(ports(sport, ROCE_PORT, transport), ends, proto=UDP), IPV4)


def roce2_v6(transport: bytes, *, ends: tuple[str, str] = V6, sport: int = 49_152) -> bytes:
    """Return a frame of RoCE version 2 over IPv6."""
    return ethernet(ipv6(ports(sport, ROCE_PORT, transport), ends, next_header=UDP), IPV6)


def roce2_flow(qp: int, ends: tuple[str, str] = V4, *, sport: int = 49_152) -> Ends:
    """Return the flow of `roce2` and `roce2_v6`."""
    return Ends(*ends, UDP, sport, ROCE_PORT, qp)


def roce1(transport: bytes, *, ends: tuple[str, str] = V6) -> bytes:
    """Return a frame of RoCE version 1: a global route header, which looks like IPv6, on Ethernet."""
    return ethernet(ipv6(transport, ends, next_header=IB_PROTOCOL), 0x8915)


def infiniband(transport: bytes, *, ends: tuple[str, str] = V6) -> bytes:
    """Return a packet of a native link: local and global route headers before, the variant checksum after it."""
    routed = ipv6(transport, ends, next_header=IB_PROTOCOL)
    words = (8 + len(routed)) // 4
    return struct.pack(">BBHHH", 0, 0x03, 5, words, 4) + routed + bytes(2)
