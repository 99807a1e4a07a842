"""Readings one chunk at a time: in order, and as the bytes of windows that follow one another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiler.errors import BadInput
from profiler.live.timeline import Timeline
from profiler.rates import clock_of
from profiler.schema import Flag
from profiler.signals import RateSeries

if TYPE_CHECKING:
    from profiler.store import Series

__all__ = ["Taken", "Totals"]

UNBOUNDED_BITS: Final = 64
_MOST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Taken:
    """Readings that were taken, shape (n_readings,), at least one, and the windows that they end, shape (n_windows,).

    ``broken`` says why they do not go on from the readings before; it is empty if they do.
    """

    t_ns: NDArray[np.int64]
    value: NDArray[np.int64]
    flags: NDArray[np.uint16]
    ends_ns: NDArray[np.int64]
    delta_bytes: NDArray[np.float64]
    broken: str = ""


class Totals:
    """Turns readings into windows, by the rules of `RateSeries.from_counter` for wraps, resets and bad reads."""

    def __init__(self, series: Series) -> None:
        # Words of 4 bytes make a counter of canonical bytes 2 bits wider.
        raw_bits = UNBOUNDED_BITS if series.width_bits is None else series.width_bits
        self._wraps_at_bits = min(UNBOUNDED_BITS, raw_bits + round(math.log2(series.raw_scale)))
        self._clock = clock_of(series)
        self._timeline = Timeline()
        self._last_ns = np.zeros(0, dtype=np.int64)
        self._last_value = np.zeros(0, dtype=np.int64)

    def take(self, t_ns: ArrayLike, value: ArrayLike, *, flags: ArrayLike | None = None) -> list[Taken]:
        """Take readings, and return them in stretches between which time breaks off; mostly there is one.

        Those that are flagged impossible are left out, whatever their values.

        Raises
        ------
        BadInput
            If lengths differ, or a value is negative or not finite; nothing is taken then.
        """
        times_ns, values, known = _checked(t_ns, value, flags=flags)
        return [
            self._taken(times_ns[part.places], values[part.places], flags=known[part.places], broken=part.broken)
            for part in self._timeline.follow(times_ns)
        ]

    def _taken(
        self, t_ns: NDArray[np.int64], value: NDArray[np.int64], *, flags: NDArray[np.uint16], broken: str
    ) -> Taken:
        n_before = 0 if broken else self._last_ns.size
        rate = RateSeries.from_counter(
            np.concatenate((self._last_ns[:n_before], t_ns)),
            np.concatenate((self._last_value[:n_before], value)),
            width_bits=self._wraps_at_bits,
            clock=self._clock,
        )
        self._last_ns, self._last_value = t_ns[-1:], value[-1:]
        return Taken(
            t_ns=t_ns, value=value, flags=flags, ends_ns=rate.edges_ns[1:], delta_bytes=rate.delta_bytes, broken=broken
        )


def _checked(
    t_ns: ArrayLike, value: ArrayLike, *, flags: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
    times, values = np.asarray(t_ns).ravel(), np.asarray(value).ravel()
    known = np.zeros(times.size, dtype=np.uint16) if flags is None else np.asarray(flags, dtype=np.uint16).ravel()
    if not times.size == values.size == known.size:
        raise BadInput(f"add: {times.size} times, {values.size} values, {known.size} flags; give one of each a reading")
    is_sound = (known & np.uint16(Flag.IMPOSSIBLE)) == 0
    times, values, known = times[is_sound], values[is_sound], known[is_sound]
    for name, array in (("t_ns", times), ("value", values)):
        if array.size and not np.issubdtype(array.dtype, np.number):
            raise BadInput(f"add: {name} has {array.dtype} values: give numbers")
        # As a float, the largest counts are 2**63.
        is_small = array <= _MOST if np.issubdtype(array.dtype, np.integer) else array < 2.0**63
        wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0) & is_small))
        if wrong.size:
            raise BadInput(f"add: {name}[{wrong[0]}] = {array[wrong[0]]}: must be finite, not negative, under 2**63")
    return times.astype(np.int64), values.astype(np.int64), known
