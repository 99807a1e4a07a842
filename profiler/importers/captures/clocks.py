"""How an interface's ticks are written, for the kernel to make nanoseconds of."""

from __future__ import annotations

from typing import Final

__all__ = ["BINARY", "CLOCK", "DIVIDE", "MULTIPLY", "OFFSET", "UNIT", "clock_of"]

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
