"""The one way into the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.importers.captures.kernel.compiling import compiled
from profiler.importers.captures.kernel.digest import digest_stripes
from profiler.importers.captures.kernel.flows import count_packet, place_flows
from profiler.importers.captures.kernel.layers import read_inner
from profiler.importers.captures.kernel.pcap import walk_pcap
from profiler.importers.captures.kernel.pcapng import walk_pcapng
from profiler.importers.captures.layout import DIGEST, FORMAT, INNER, PCAP, PCAPNG, PLACING

if TYPE_CHECKING:
    from profiler.importers.captures.kernel.compiling import Bytes, Whole, Words

__all__ = ["enter"]


@compiled
def enter(data: Bytes, words: Words, at: Whole, stop: Whole) -> Whole:
    """Do what word `FORMAT` tells with the bytes from one place to another; return where that ended."""
    what = words[FORMAT]
    if what == PCAP:
        return walk_pcap(data, words, at, stop)
    if what == PCAPNG:
        return walk_pcapng(data, words, at, stop)
    if what == DIGEST:
        return digest_stripes(data, words, at, stop)
    if what == INNER:
        read_inner(data, words, at)
    if what != PLACING:
        count_packet(words)
    else:
        place_flows(words)
    return at
