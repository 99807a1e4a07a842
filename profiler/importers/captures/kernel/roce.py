"""The packet that an RDMA capture is full of, in one step: Ethernet, IPv4 without options, UDP, RoCE version 2.

What it fills is what `layers` fills for the same packet, in a tenth of the time; a test holds the two equal.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from profiler.importers.captures.kernel.compiling import Bytes, Words, compiled
from profiler.importers.captures.kernel.integers import u16, u32
from profiler.importers.captures.layout import (
    CAPTURED,
    FRAGMENT,
    INTERFACE,
    KEY,
    LINK,
    OPCODE,
    OPCODES_AT,
    PAYLOAD,
    PLACE,
    PSN,
    START,
    STRANGE,
    TRANSPORT,
    TUNNELS,
    WIRE,
)

__all__ = ["read_roce"]

_HEADER_BYTES: Final = 14 + 20 + 8 + 12
_LEAST_IP_BYTES: Final = 20 + 8 + 12 + 4


@compiled
def read_roce(data: Bytes, words: Words) -> bool:
    """Fill the key of the packet at hand, if it is such a packet; return whether it is."""
    at = words[START]
    if words[CAPTURED] < _HEADER_BYTES or words[LINK] != 1:
        return False
    # Ethernet type, version and length of the header; fragments; protocol; destination port.
    if u32(data, at + 12) & 0xFFFF_FF00 != 0x0800_4500 or data[at + 23] != 17 or u16(data, at + 36) != 4791:
        return False
    ip_bytes, on_wire = u16(data, at + 16), words[WIRE] - 14
    if u16(data, at + 20) & 0x3FFF or ip_bytes < _LEAST_IP_BYTES or ip_bytes > on_wire:
        return False
    if u16(data, at + 38) != ip_bytes - 20:
        return False
    opcode = np.int64(data[at + 42])
    words[KEY], words[KEY + 1], words[KEY + 2], words[KEY + 3] = 0, u32(data, at + 26), 0, u32(data, at + 30)
    words[KEY + TRANSPORT] = 4 << 40 | 17 << 32 | u32(data, at + 34)
    words[KEY + PLACE] = words[INTERFACE] << 32 | (u32(data, at + 46) & 0xFF_FFFF) + 1
    words[OPCODE], words[PSN] = opcode, u32(data, at + 50) & 0xFF_FFFF
    further_bytes = words[words[OPCODES_AT] + opcode] >> 8 & 0xFF
    padding = np.int64(data[at + 43]) >> 4 & 3
    words[PAYLOAD] = max(np.int64(0), ip_bytes - _LEAST_IP_BYTES - further_bytes - padding)
    words[STRANGE], words[FRAGMENT], words[TUNNELS] = 0, 0, 1
    return True
