"""Why a walk ended, and the blocks and lengths at which it does."""

from __future__ import annotations

from typing import Final

__all__ = [
    "DAMAGED",
    "DESCRIBED",
    "FULL",
    "INTERFACE_BLOCK",
    "LARGEST_BLOCK_BYTES",
    "LARGEST_PACKET_BYTES",
    "LARGEST_WIRE_BYTES",
    "MORE",
    "OLD_PACKET_BLOCK",
    "PACKET_BLOCK",
    "SECTION_BLOCK",
    "SIMPLE_PACKET_BLOCK",
    "SMALLEST_BLOCK_BYTES",
    "STATISTICS_BLOCK",
    "STRANGER",
]

MORE, FULL, DAMAGED, DESCRIBED, STRANGER = 0, 1, 2, 3, 4
"""More bytes are needed, more room is, a length cannot be, a block is for Python, there is no such interface."""

SECTION_BLOCK: Final = 0x0A0D0D0A
INTERFACE_BLOCK, OLD_PACKET_BLOCK, SIMPLE_PACKET_BLOCK, STATISTICS_BLOCK, PACKET_BLOCK = 1, 2, 3, 5, 6

LARGEST_PACKET_BYTES: Final = 262_144
"""tcpdump's and Wireshark's limit; a longer record is no packet but damage."""
LARGEST_WIRE_BYTES: Final = 1 << 20
"""Longest that a packet can have been: twice what Linux puts together before a card cuts it (``GSO_MAX_SIZE``)."""
LARGEST_BLOCK_BYTES: Final = 64 << 20
SMALLEST_BLOCK_BYTES: Final = 12
