"""The blocks of pcapng, one after the other, as far as they are packets."""

from __future__ import annotations

import numpy as np

from profiler.importers.captures.interface_words import INTERFACE_WORDS, LABEL, SNAP, TYPE
from profiler.importers.captures.kernel.clocks import time_ns
from profiler.importers.captures.kernel.compiling import Bytes, Whole, Words, compiled
from profiler.importers.captures.kernel.integers import u16_of, u32_of
from profiler.importers.captures.kernel.packets import take_packet
from profiler.importers.captures.layout import (
    BIG_ENDIAN,
    BUDGET,
    CAPTURED,
    INTERFACE,
    INTERFACES_AT,
    LINK,
    MOST_STRANGERS,
    N_INTERFACES,
    N_STRANGERS,
    START,
    STATUS,
    TIME,
    UNTIMED,
    WIRE,
)
from profiler.importers.captures.statuses import (
    DAMAGED,
    DESCRIBED,
    FULL,
    INTERFACE_BLOCK,
    LARGEST_BLOCK_BYTES,
    LARGEST_PACKET_BYTES,
    MORE,
    OLD_PACKET_BLOCK,
    PACKET_BLOCK,
    SECTION_BLOCK,
    SIMPLE_PACKET_BLOCK,
    SMALLEST_BLOCK_BYTES,
    STATISTICS_BLOCK,
    STRANGER,
)

__all__ = ["walk_pcapng"]


@compiled
def walk_pcapng(data: Bytes, words: Words, at: Whole, stop: Whole) -> Whole:
    """Take the packets between two places; return where the first block that was not taken starts."""
    big_endian, left = words[BIG_ENDIAN], words[BUDGET]
    while True:
        status = _check_block(data, at, stop, big_endian)
        if status != FULL:
            break
        kind, size = u32_of(data, at, big_endian), u32_of(data, at + 4, big_endian)
        if kind in (PACKET_BLOCK, OLD_PACKET_BLOCK, SIMPLE_PACKET_BLOCK):
            if left == 0 or words[N_STRANGERS] == words[MOST_STRANGERS]:
                break
            left -= 1
            status = _take_block(data, words, at, big_endian)
            if status != FULL:
                break
        at += size
    words[STATUS] = status
    return at


@compiled
def _check_block(data: Bytes, at: Whole, stop: Whole, big_endian: Whole) -> Whole:
    """Return why the block at a place cannot be taken, or `FULL`."""
    if at + SMALLEST_BLOCK_BYTES > stop:
        return MORE
    kind, size = u32_of(data, at, big_endian), u32_of(data, at + 4, big_endian)
    if kind == SECTION_BLOCK:
        return DESCRIBED
    if size < SMALLEST_BLOCK_BYTES or size % 4 or size > LARGEST_BLOCK_BYTES:
        return DAMAGED
    if at + size > stop:
        return MORE
    if u32_of(data, at + size - 4, big_endian) != size:
        return DAMAGED
    return DESCRIBED if kind in (INTERFACE_BLOCK, STATISTICS_BLOCK) else FULL


@compiled
def _take_block(data: Bytes, words: Words, at: Whole, big_endian: Whole) -> Whole:
    """Take the packet of a block; return why it cannot be, or `FULL`."""
    kind, size = u32_of(data, at, big_endian), u32_of(data, at + 4, big_endian)
    header_bytes = 12 if kind == SIMPLE_PACKET_BLOCK else 28
    if size < header_bytes + 4:
        return DAMAGED
    number = _interface(data, at, kind, big_endian)
    if number >= words[N_INTERFACES]:
        return STRANGER
    facts = words[INTERFACES_AT] + number * INTERFACE_WORDS
    if kind == SIMPLE_PACKET_BLOCK:
        words[WIRE] = u32_of(data, at + 8, big_endian)
        words[CAPTURED] = min(words[WIRE], size - 16)
        if words[facts + SNAP] > 0:
            words[CAPTURED] = min(words[CAPTURED], words[facts + SNAP])
        words[TIME] = UNTIMED
    else:
        words[CAPTURED], words[WIRE] = u32_of(data, at + 20, big_endian), u32_of(data, at + 24, big_endian)
        high, low = np.uint64(u32_of(data, at + 12, big_endian)), np.uint64(u32_of(data, at + 16, big_endian))
        words[TIME] = time_ns(high << np.uint64(32) | low, words, facts)
    if words[CAPTURED] > LARGEST_PACKET_BYTES or words[CAPTURED] > size - header_bytes - 4:
        return DAMAGED
    words[START], words[LINK], words[INTERFACE] = at + header_bytes, words[facts + TYPE], words[facts + LABEL]
    take_packet(data, words)
    return FULL


@compiled
def _interface(data: Bytes, at: Whole, kind: Whole, big_endian: Whole) -> Whole:
    if kind == SIMPLE_PACKET_BLOCK:
        return np.int64(0)
    if kind == OLD_PACKET_BLOCK:
        return u16_of(data, at + 8, big_endian)
    return u32_of(data, at + 8, big_endian)
