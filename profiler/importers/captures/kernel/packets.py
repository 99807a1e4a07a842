"""One packet: counted, or put aside for the slow path where it is of a kind that is not known here."""

from __future__ import annotations

from profiler.importers.captures.flow_words import N_STRANGE, STRANGER_WORDS
from profiler.importers.captures.kernel.compiling import Bytes, Words, compiled
from profiler.importers.captures.kernel.flows import count_packet
from profiler.importers.captures.kernel.layers import read_layers
from profiler.importers.captures.kernel.roce import read_roce
from profiler.importers.captures.layout import (
    CAPTURED,
    KEY,
    N_EMPTY,
    N_ENDLESS,
    N_OVERLONG,
    N_STRANGERS,
    NUMBER,
    START,
    STRANGE,
    STRANGERS_AT,
    WIRE,
)
from profiler.importers.captures.statuses import LARGEST_WIRE_BYTES

__all__ = ["take_packet"]


@compiled
def take_packet(data: Bytes, words: Words) -> None:
    """Take the packet at hand."""
    words[NUMBER] += 1
    if words[WIRE] > LARGEST_WIRE_BYTES:
        words[N_ENDLESS] += 1
        words[WIRE] = words[CAPTURED]
    if words[CAPTURED] > words[WIRE]:
        words[N_OVERLONG] += 1
    if words[WIRE] == 0:
        words[N_EMPTY] += 1
    if not read_roce(data, words):
        read_layers(data, words)
    if words[STRANGE]:
        row = words[STRANGERS_AT] + words[N_STRANGERS] * STRANGER_WORDS
        for i in range(STRANGER_WORDS):
            words[row + i] = words[KEY + i - N_STRANGE] if i >= N_STRANGE else words[START + i]
        words[N_STRANGERS] += 1
    else:
        count_packet(words)
