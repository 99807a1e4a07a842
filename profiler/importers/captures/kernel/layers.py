"""Inside a packet: from its link layer to the key of its flow, through tags and tunnels to the innermost addresses."""

from __future__ import annotations

from typing import Final

import numpy as np

from profiler.importers.captures.kernel.carried import (
    BY_VERSION,
    FRAME,
    GRH,
    IB_FRAME,
    IPV4,
    IPV6,
    LLC,
    MPLS,
    NOTHING,
    PLAIN_TYPES,
    UNKNOWN_TYPE,
    VLAN_TAGS,
)
from profiler.importers.captures.kernel.compiling import Bytes, Whole, Words, compiled
from profiler.importers.captures.kernel.fragments import keep_fragment
from profiler.importers.captures.kernel.ib import read_ib_frame
from profiler.importers.captures.kernel.integers import u16
from profiler.importers.captures.kernel.ip import read_ipv4, read_ipv6
from profiler.importers.captures.kernel.links import ether_type, link_layer, read_llc
from profiler.importers.captures.layout import (
    CAPTURED,
    DATAGRAM_END,
    END,
    FRAGMENT,
    INTERFACE,
    KEY,
    N_KEY,
    OPCODE,
    PAYLOAD,
    PLACE,
    PSN,
    START,
    STRANGE,
    TUNNELS,
    WIRE,
)

__all__ = ["read_inner", "read_layers"]

_MOST_LAYERS: Final = 16
"""Headers that are followed; more than any network stacks, and an end to a packet that points at itself."""


@compiled
def read_layers(data: Bytes, words: Words) -> None:
    """Fill the key of the packet at hand; that of zeros but for the interface where it tells no addresses."""
    _start(words)
    at, kind = link_layer(data, words, words[START], words[END])
    _follow(data, words, at, kind)


@compiled
def read_inner(data: Bytes, words: Words, at: Whole) -> None:
    """Fill the key of the packet at hand, of which the IP packet inside starts at a place."""
    _start(words)
    _follow(data, words, at, BY_VERSION)


@compiled
def _start(words: Words) -> None:
    for i in range(N_KEY):
        words[KEY + i] = 0
    words[KEY + PLACE] = words[INTERFACE] << 32
    words[OPCODE], words[PSN], words[PAYLOAD] = -1, -1, 0
    words[STRANGE], words[FRAGMENT], words[TUNNELS] = 0, 0, 0
    words[END] = words[START] + words[CAPTURED]
    words[DATAGRAM_END] = words[START] + words[WIRE]


@compiled
def _follow(data: Bytes, words: Words, at: Whole, kind: Whole) -> None:
    for _ in range(_MOST_LAYERS):
        if kind == NOTHING:
            break
        at, kind = _next(data, words, at, kind)
    if words[FRAGMENT] and not words[STRANGE]:
        keep_fragment(words)


@compiled
def _next(data: Bytes, words: Words, at: Whole, kind: Whole) -> tuple[Whole, Whole]:
    """Read one header; return where the next one starts, and what it is."""
    end = words[END]
    if kind == FRAME:
        return ether_type(data, at + 12, end)
    if kind == IPV4:
        return read_ipv4(data, words, at)
    if kind in (IPV6, GRH):
        return read_ipv6(data, words, at)
    if kind == BY_VERSION:
        return at, _version(data, at, end)
    if kind in VLAN_TAGS:
        return ether_type(data, at + 2, end)
    if kind in MPLS:
        return _after_labels(data, at, end)
    if kind == LLC:
        return read_llc(data, at, end)
    if kind == IB_FRAME:
        return read_ib_frame(data, words, at)
    if kind not in PLAIN_TYPES:
        words[STRANGE] = UNKNOWN_TYPE + kind
    return at, NOTHING


@compiled
def _version(data: Bytes, at: Whole, end: Whole) -> Whole:
    if at >= end:
        return NOTHING
    version = data[at] >> 4
    if version == 4:
        return IPV4
    return IPV6 if version == 6 else NOTHING


@compiled
def _after_labels(data: Bytes, at: Whole, end: Whole) -> tuple[Whole, Whole]:
    """Return what follows a stack of MPLS labels: IP by its version, else a frame, behind a control word of zeros."""
    for _ in range(_MOST_LAYERS):
        if at + 4 >= end:
            return at, NOTHING
        is_last = np.int64(data[at + 2]) & 1
        at += 4
        if is_last:
            break
    kind = _version(data, at, end)
    if kind != NOTHING:
        return at, kind
    if at + 4 <= end and u16(data, at) >> 12 == 0:
        return at + 4, FRAME
    return at, FRAME
