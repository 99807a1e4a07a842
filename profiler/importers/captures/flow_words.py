"""Columns of the kernel's tables: flows, what RDMA has beside, bins, unknown packets, columns of packets, fragments."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BIN",
    "BIN_BYTES",
    "BIN_PACKETS",
    "BYTES",
    "FIRST",
    "FLOW_WORDS",
    "FRAGMENT_LIFETIME_NS",
    "FRAGMENT_SLOTS",
    "FRAGMENT_WORDS",
    "LAST",
    "LATE",
    "NEWEST",
    "N_STRANGE",
    "PACKETS",
    "PACKET_WORDS",
    "PAYLOAD_BYTES",
    "RDMA",
    "RDMA_WORDS",
    "READ_BYTES",
    "REPEATED",
    "ROW_WORDS",
    "SEEN",
    "SEEN_WORDS",
    "SPAN",
    "STRANGER_WORDS",
]

FLOW_WORDS: Final = 16
"""Six of the key, and"""
FIRST, LAST, BYTES, PACKETS = 6, 7, 8, 9
BIN, BIN_BYTES, BIN_PACKETS = 10, 11, 12
"""The bin that is open: its number since the epoch, or `layout.UNTIMED`, and what came in it."""
RDMA: Final = 13
"""Number of the flow's row of RDMA, 0 for none."""
PAYLOAD_BYTES: Final = 14
"""Bytes inside the headers of the innermost packet."""

RDMA_WORDS: Final = 32
"""Eight counts of packets, one a class of `opcodes`, and"""
READ_BYTES, REPEATED = 8, 9
"""Payload that answers a READ, and packets whose sequence number (PSN) came before."""
SPAN: Final = 10
"""Two words, of requests and of answers: how far back from the newest number the flow has sent, in numbers."""
NEWEST: Final = 12
"""Two words, of requests and of answers: the newest number plus one, 0 before the first."""
LATE: Final = 14
"""Two words: the last number that was too old for the bitmap, plus one, doubled; odd if it was counted."""
SEEN: Final = 16
"""Two bitmaps of the newest 512 numbers."""
SEEN_WORDS: Final = 8

ROW_WORDS: Final = 4
"""Flow, bin, bytes, packets."""

STRANGER_WORDS: Final = 18
"""`N_STRANGE` words from `layout.START` on of a packet that is not known, then its key as far as it was read."""
N_STRANGE: Final = 12

PACKET_WORDS: Final = 8
"""Number of the packet, time, wire, captured, flow, opcode and PSN (-1 for none), payload."""

FRAGMENT_WORDS: Final = 8
"""Hash of the datagram, time of its first fragment, key."""
FRAGMENT_LIFETIME_NS: Final = 30_000_000_000
"""How long an identification stands for one datagram: Linux's ``ipfrag_time``."""
FRAGMENT_SLOTS: Final = 4096
"""Datagrams whose later fragments find their flow; a power of 2."""
