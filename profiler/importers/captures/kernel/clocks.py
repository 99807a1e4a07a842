"""Ticks of an interface's clock to nanoseconds, exactly, in 64-bit integers."""

from __future__ import annotations

import numpy as np

from profiler.importers.captures.clocks import CLOCK, DIVIDE, MULTIPLY, OFFSET, UNIT
from profiler.importers.captures.kernel.compiling import Whole, Words, compiled
from profiler.importers.captures.layout import UNTIMED

__all__ = ["time_ns"]

_LARGEST = (1 << 63) - 1


@compiled
def time_ns(ticks: np.uint64, words: Words, facts: Whole) -> Whole:
    """Return ticks as UTC epoch ns, rounded down, or `UNTIMED` where int64 cannot hold them."""
    unit, offset_ns = np.uint64(words[facts + UNIT]), words[facts + OFFSET]
    largest = np.uint64(_LARGEST)
    if words[facts + CLOCK] == MULTIPLY:
        if ticks > largest // unit:
            return np.int64(UNTIMED)
        since = ticks * unit
    elif words[facts + CLOCK] == DIVIDE:
        since = ticks // unit
    else:
        since = _binary_ns(ticks, unit)
    if since > largest or offset_ns == UNTIMED:
        return np.int64(UNTIMED)
    since_ns = np.int64(since)
    if offset_ns > 0 and since_ns > _LARGEST - offset_ns:
        return np.int64(UNTIMED)
    return since_ns + offset_ns


@compiled
def _binary_ns(ticks: np.uint64, power: np.uint64) -> np.uint64:
    """Return ticks of 2 ** -power s as ns: exact, since the two halves of the fraction are multiplied apart."""
    billion, half = np.uint64(1_000_000_000), np.uint64(32)
    seconds, fraction = np.uint64(0), ticks
    if power < np.uint64(64):
        seconds = ticks >> power
        fraction = ticks - (seconds << power)
    if seconds >= np.uint64(9_223_372_036):
        return np.uint64(0xFFFF_FFFF_FFFF_FFFF)
    if power <= half:
        return seconds * billion + ((fraction * billion) >> power)
    # Each product is below 2**62: neither half of the fraction has more than 32 bits.
    low_ns = ((fraction & np.uint64(0xFFFF_FFFF)) * billion) >> half
    scaled = (fraction >> half) * billion + low_ns
    shift = power - half
    return seconds * billion + (scaled >> shift if shift < np.uint64(64) else np.uint64(0))
