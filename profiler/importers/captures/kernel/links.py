"""From the link layer to what it carries.

References
----------
.. [1] https://www.tcpdump.org/linktypes.html
.. [2] https://wiki.wireshark.org/ERF, and Endace's "Extensible record format types", for ERF.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from profiler.importers.captures.kernel.carried import (
    BY_VERSION,
    FRAME,
    IB_FRAME,
    LLC,
    LONGEST_LENGTH,
    NOTHING,
    SNAP,
    UNKNOWN_LINK,
)
from profiler.importers.captures.kernel.compiling import Bytes, Whole, Words, compiled
from profiler.importers.captures.kernel.integers import u16
from profiler.importers.captures.layout import LINK, STRANGE, WIRE

__all__ = ["ether_type", "link_layer", "read_llc"]

_ETHERNET, _SLL, _SLL2, _NULL, _LOOP, _ERF, _INFINIBAND = 1, 113, 276, 0, 108, 197, 247
_RAW_BSD, _RAW_OPENBSD, _RAW, _IPV4, _IPV6 = 12, 14, 101, 228, 229
_SLL_LLC: Final = 4
"""Protocol of a cooked packet that is an 802.2 frame; smaller numbers are no Ethernet types either."""

_ERF_BYTES: Final = 16
_ERF_EXTENDED: Final = 0x80
_ERF_TYPE_AT: Final = 8
_ERF_ETHERNETS = (2, 11, 16, 20)
_ERF_INFINIBANDS = (21, 25)
_MOST_EXTENSIONS: Final = 16


@compiled
def link_layer(data: Bytes, words: Words, at: Whole, end: Whole) -> tuple[Whole, Whole]:
    """Return where what the link layer carries starts, and what it is; see `carried`."""
    link = words[LINK]
    if link == _ETHERNET:
        return at, FRAME
    if link in (_RAW_BSD, _RAW_OPENBSD, _RAW, _IPV4, _IPV6):
        return at, BY_VERSION
    if link in (_NULL, _LOOP):
        return at + 4, BY_VERSION
    if link == _SLL:
        return at + 16, _cooked(data, at + 14, end)
    if link == _SLL2:
        return at + 20, _cooked(data, at, end)
    if link == _INFINIBAND:
        return at, IB_FRAME
    if link == _ERF:
        return _erf(data, words, at, end)
    words[STRANGE] = UNKNOWN_LINK + link
    return at, NOTHING


@compiled
def ether_type(data: Bytes, at: Whole, end: Whole) -> tuple[Whole, Whole]:
    """Return where what the Ethernet type at a place tells of starts, and what it is."""
    if at + 2 > end:
        return at, NOTHING
    kind = u16(data, at)
    if kind > LONGEST_LENGTH:
        return at + 2, kind
    return read_llc(data, at + 2, end)


@compiled
def read_llc(data: Bytes, at: Whole, end: Whole) -> tuple[Whole, Whole]:
    """Return what an 802.2 frame carries: an Ethernet type where its header is that of SNAP, else nothing."""
    if at + 8 > end or u16(data, at) != SNAP or u16(data, at + 2) != 0x0300 or data[at + 4] != 0:
        return at, NOTHING
    return at + 8, u16(data, at + 6)


@compiled
def _cooked(data: Bytes, at: Whole, end: Whole) -> Whole:
    if at + 2 > end:
        return NOTHING
    kind = u16(data, at)
    if kind == _SLL_LLC:
        return LLC
    return kind if kind > LONGEST_LENGTH else NOTHING


@compiled
def _erf(data: Bytes, words: Words, at: Whole, end: Whole) -> tuple[Whole, Whole]:
    if at + _ERF_BYTES > end:
        return at, NOTHING
    kind = np.int64(data[at + _ERF_TYPE_AT])
    more, start = kind & _ERF_EXTENDED, at
    at += _ERF_BYTES
    for _ in range(_MOST_EXTENSIONS):
        if not more or at + 8 > end:
            break
        more = np.int64(data[at]) & _ERF_EXTENDED
        at += 8
    kind &= _ERF_EXTENDED - 1
    if kind in _ERF_ETHERNETS:
        at += 2
    words[WIRE] = max(np.int64(0), words[WIRE] - (at - start))  # the card's header was on no wire
    if kind in _ERF_INFINIBANDS:
        return at, IB_FRAME
    if kind in _ERF_ETHERNETS:
        return at, FRAME
    words[STRANGE] = UNKNOWN_LINK + words[LINK]
    return at, NOTHING
