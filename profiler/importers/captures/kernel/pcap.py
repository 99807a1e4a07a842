"""The records of classic pcap, one after the other."""

from __future__ import annotations

from profiler.importers.captures.kernel.compiling import Bytes, Whole, Words, compiled
from profiler.importers.captures.kernel.integers import u32_of
from profiler.importers.captures.kernel.packets import take_packet
from profiler.importers.captures.layout import (
    BIG_ENDIAN,
    BUDGET,
    CAPTURED,
    MOST_STRANGERS,
    N_CARRIED,
    N_STRANGERS,
    NS_PER_TICK,
    RECORD_BYTES,
    START,
    STATUS,
    TIME,
    WIRE,
)
from profiler.importers.captures.statuses import DAMAGED, FULL, LARGEST_PACKET_BYTES, MORE

__all__ = ["walk_pcap"]

_NS_PER_S = 1_000_000_000


@compiled
def walk_pcap(data: Bytes, words: Words, at: Whole, stop: Whole) -> Whole:
    """Take the packets between two places; return where the first one that was not taken starts."""
    big_endian, header_bytes, ns_per_tick = words[BIG_ENDIAN], words[RECORD_BYTES], words[NS_PER_TICK]
    words[STATUS] = FULL
    for _ in range(words[BUDGET]):
        if at + header_bytes > stop:
            words[STATUS] = MORE
            break
        captured = u32_of(data, at + 8, big_endian)
        if captured > LARGEST_PACKET_BYTES:
            words[STATUS] = DAMAGED
            break
        start = at + header_bytes
        if start + captured > stop:
            words[STATUS] = MORE
            break
        fraction_ns = u32_of(data, at + 4, big_endian) * ns_per_tick
        if fraction_ns >= _NS_PER_S:
            words[N_CARRIED] += 1
        words[START], words[CAPTURED] = start, captured
        words[WIRE] = u32_of(data, at + 12, big_endian)
        words[TIME] = u32_of(data, at, big_endian) * _NS_PER_S + fraction_ns
        take_packet(data, words)
        at = start + captured
        if words[N_STRANGERS] == words[MOST_STRANGERS]:
            break
    return at
