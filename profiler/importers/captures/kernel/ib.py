"""InfiniBand's headers: local routes, and the base transport header that RoCE has too.

References
----------
.. [1] InfiniBand Architecture Specification 1.7, volume 1, sections 7.7 (LRH), 8.3 (GRH), 9.2 (BTH); annex A17.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from profiler.importers.captures.kernel.carried import GRH, IPV6, NOTHING
from profiler.importers.captures.kernel.compiling import Bytes, Whole, Words, compiled
from profiler.importers.captures.kernel.integers import u16, u32
from profiler.importers.captures.layout import (
    DATAGRAM_END,
    END,
    INTERFACE,
    KEY,
    OPCODE,
    OPCODES_AT,
    PAYLOAD,
    PLACE,
    PSN,
    TRANSPORT,
)

__all__ = ["read_bth", "read_ib_frame"]

_BTH_BYTES: Final = 12
_QUEUE_PAIR_BYTES: Final = 8
"""Of which the destination queue pair is the last three."""
_OPCODE_BYTES: Final = 2
"""Of which the first is the opcode, which tells what headers follow, and the second tells the padding."""
_ICRC_BYTES: Final = 4
_LRH_BYTES: Final = 8
_BTH_NEXT, _GRH_NEXT, _IPV6_NEXT = 2, 3, 1
_LID_VERSION: Final = 1
"""In place of an IP version in the key: addresses are local identifiers."""
_BTH_PROTOCOL: Final = 0x1B


@compiled
def read_ib_frame(data: Bytes, words: Words, at: Whole) -> tuple[Whole, Whole]:
    """Read a local route header; return where what it carries starts, and what that is."""
    if at + _LRH_BYTES > words[END]:
        return at, NOTHING
    following = np.int64(data[at + 1]) & 3
    if following == _GRH_NEXT:
        return at + _LRH_BYTES, GRH
    if following == _IPV6_NEXT:
        return at + _LRH_BYTES, IPV6
    words[KEY + 1], words[KEY + 3] = u16(data, at + 6), u16(data, at + 2)
    words[KEY + TRANSPORT] = _LID_VERSION << 40 | _BTH_PROTOCOL << 32
    words[KEY + PLACE] = words[INTERFACE] << 32
    if following == _BTH_NEXT:
        n_bytes = (u16(data, at + 4) & 0x07FF) * 4 - _LRH_BYTES
        read_bth(data, words, at + _LRH_BYTES, n_bytes)
    return at, NOTHING


@compiled
def read_bth(data: Bytes, words: Words, at: Whole, n_bytes: Whole) -> None:
    """Read a base transport header, and how much of the packet is payload.

    ``n_bytes`` is what the header before tells that there is from here to the end of the invariant checksum; where it
    tells nothing (segmentation left to the card), or more than was on the wire, the wire counts. Headers that were not
    captured are no payload; of those that an opcode would tell which was not captured either, there are none.
    """
    left = words[DATAGRAM_END] - at
    if n_bytes <= _BTH_BYTES or n_bytes > left:
        n_bytes = left
    further_bytes = np.int64(0)
    if at + _OPCODE_BYTES <= words[END]:
        further_bytes = words[words[OPCODES_AT] + np.int64(data[at])] >> 8 & 0xFF
        further_bytes += np.int64(data[at + 1]) >> 4 & 3
    words[PAYLOAD] = max(np.int64(0), n_bytes - _BTH_BYTES - further_bytes - _ICRC_BYTES)
    if at + _QUEUE_PAIR_BYTES <= words[END]:
        words[KEY + PLACE] |= (u32(data, at + 4) & 0xFF_FFFF) + 1
    if at + _BTH_BYTES <= words[END]:
        words[OPCODE], words[PSN] = np.int64(data[at]), u32(data, at + 8) & 0xFF_FFFF
