"""IPv4 and IPv6 with their options and extension headers, and the global route header of RoCE version 1."""

from __future__ import annotations

from typing import Final

import numpy as np

from profiler.importers.captures.kernel.carried import NOTHING
from profiler.importers.captures.kernel.compiling import Bytes, Whole, Words, compiled
from profiler.importers.captures.kernel.fragments import find_fragment, fragment_hash
from profiler.importers.captures.kernel.integers import u16, u32, u64
from profiler.importers.captures.kernel.transport import read_transport
from profiler.importers.captures.layout import (
    DATAGRAM_END,
    END,
    FRAGMENT,
    INTERFACE,
    KEY,
    PLACE,
    TRANSPORT,
    TUNNELS,
)

__all__ = ["read_ipv4", "read_ipv6"]

_SRC, _DST = KEY, KEY + 2
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION, _MOBILITY = 0, 43, 44, 51, 60, 135
_HIP, _SHIM6 = 139, 140
_MOST_HEADERS: Final = 16


@compiled
def read_ipv4(data: Bytes, words: Words, at: Whole) -> tuple[Whole, Whole]:
    """Read an IPv4 header into the key; return where what it carries starts, and what that is."""
    end = words[END]
    if at + 20 > end:
        return at, NOTHING
    header_bytes = (np.int64(data[at]) & 0x0F) * 4
    if data[at] >> 4 != 4 or header_bytes < 20:
        return at, NOTHING
    protocol = np.int64(data[at + 9])
    _new_key(words, 4, protocol)
    words[_SRC], words[_SRC + 1] = 0, u32(data, at + 12)
    words[_DST], words[_DST + 1] = 0, u32(data, at + 16)
    total_bytes, fragment = u16(data, at + 2), u16(data, at + 6)
    if total_bytes >= header_bytes:  # behind that is padding; 0 is what a card that segments leaves
        _cut(words, at + total_bytes)
    if fragment & 0x3FFF:
        datagram = fragment_hash(words, u16(data, at + 4))
        if fragment & 0x1FFF:
            return find_fragment(words, datagram, at + header_bytes)
        if words[FRAGMENT] == 0:
            words[FRAGMENT] = datagram
    return read_transport(data, words, at + header_bytes, protocol)


@compiled
def read_ipv6(data: Bytes, words: Words, at: Whole) -> tuple[Whole, Whole]:
    """Read an IPv6 or a global route header into the key; return where what it carries starts, and what that is."""
    end = words[END]
    if at + 40 > end or data[at] >> 4 != 6:
        return at, NOTHING
    protocol, payload_bytes = np.int64(data[at + 6]), u16(data, at + 4)
    _new_key(words, 6, protocol)
    words[_SRC], words[_SRC + 1] = u64(data, at + 8), u64(data, at + 16)
    words[_DST], words[_DST + 1] = u64(data, at + 24), u64(data, at + 32)
    if payload_bytes:
        _cut(words, at + 40 + payload_bytes)
    inner_at, inner, is_later = _extensions(data, words, at + 40, protocol)
    words[KEY + TRANSPORT] = 6 << 40 | inner << 32
    if is_later:
        return find_fragment(words, words[FRAGMENT], inner_at)
    return read_transport(data, words, inner_at, inner)


@compiled
def _cut(words: Words, end: Whole) -> None:
    words[END], words[DATAGRAM_END] = min(words[END], end), min(words[DATAGRAM_END], end)


@compiled
def _new_key(words: Words, version: Whole, protocol: Whole) -> None:
    words[TUNNELS] += 1
    words[KEY + TRANSPORT] = version << 40 | protocol << 32
    words[KEY + PLACE] = words[INTERFACE] << 32


@compiled
def _extensions(data: Bytes, words: Words, at: Whole, protocol: Whole) -> tuple[Whole, Whole, bool]:
    """Return where what follows the extension headers starts, its protocol, and whether its header is elsewhere."""
    for _ in range(_MOST_HEADERS):
        if at + 8 > words[END]:
            break
        if protocol in (_HOP_BY_HOP, _ROUTING, _DESTINATION, _MOBILITY, _HIP, _SHIM6):
            size = (np.int64(data[at + 1]) + 1) * 8
        elif protocol == _AUTHENTICATION:
            size = (np.int64(data[at + 1]) + 2) * 4
        elif protocol == _FRAGMENT:
            size = np.int64(8)
            fragment = u16(data, at + 2)
            if fragment & 0xFFF9:
                datagram = fragment_hash(words, u32(data, at + 4))
                if fragment & 0xFFF8:
                    words[FRAGMENT] = datagram
                    return at + 8, np.int64(data[at]), True
                if words[FRAGMENT] == 0:
                    words[FRAGMENT] = datagram
        else:
            break
        protocol = np.int64(data[at])
        at += size
    return at, protocol, False
