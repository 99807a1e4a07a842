"""Ticks of an interface's clock to nanoseconds, exactly, in 64-bit integers."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.importers.captures.records import UNTIMED

__all__ = ["BINARY", "CLOCK", "DIVIDE", "MULTIPLY", "OFFSET", "UNIT", "clock_of", "time_ns"]

CLOCK: Final = 0
"""Column that tells how ticks become nanoseconds."""
UNIT: Final = 1
"""Column of the number by which they do."""
OFFSET: Final = 2
"""Column of the nanoseconds to add."""

MULTIPLY: Final = 0
"""A tick is ``unit`` nanoseconds."""
DIVIDE: Final = 1
"""A nanosecond is ``unit`` ticks."""
BINARY: Final = 2
"""A second is 2 to the power of ``unit`` ticks."""

_FINEST_POWER: Final = 28
"""Ticks of 10 ** -29 s and finer do not come to one nanosecond in 64 bits."""

_LARGEST: Final = (1 << 63) - 1


def clock_of(resolution: int) -> tuple[int, int]:
    """Return clock and unit of option ``if_tsresol``: 10 to the power of minus n, or 2 if the highest bit is set.

    Examples
    --------
    >>> clock_of(6) == (MULTIPLY, 1000), clock_of(0x80 | 10) == (BINARY, 10)
    (True, True)
    """
    if resolution & 0x80:
        return BINARY, resolution & 0x7F
    if resolution <= 9:
        return MULTIPLY, 10 ** (9 - resolution)
    if resolution <= _FINEST_POWER:
        return DIVIDE, 10 ** (resolution - 9)
    return BINARY, 0x7F


@njit(cache=True, nogil=True)
def time_ns(ticks: np.uint64, facts: NDArray[np.int64]) -> np.int64:
    """Return ticks as UTC epoch ns, rounded down, or `UNTIMED` where int64 cannot hold them."""
    unit, offset_ns = np.uint64(facts[UNIT]), facts[OFFSET]
    largest = np.uint64(_LARGEST)
    if facts[CLOCK] == MULTIPLY:
        if ticks > largest // unit:
            return np.int64(UNTIMED)
        since = ticks * unit
    elif facts[CLOCK] == DIVIDE:
        since = ticks // unit
    else:
        since = _binary_ns(ticks, unit)
    if since > largest or offset_ns == UNTIMED:
        return np.int64(UNTIMED)
    since_ns = np.int64(since)
    if offset_ns > 0 and since_ns > _LARGEST - offset_ns:
        return np.int64(UNTIMED)
    t_ns: np.int64 = since_ns + offset_ns
    return t_ns


@njit(cache=True, nogil=True)
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
