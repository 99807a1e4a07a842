"""Readings one chunk at a time: in order, and as the bytes of windows that follow one another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiler.errors import BadInput
from profiler.schema import Flag
from profiler.signals import RateSeries

if TYPE_CHECKING:
    from profiler.store import Series

__all__ = ["Taken", "Totals"]

UNBOUNDED_BITS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Taken:
    """Readings that were taken, shape (n_readings,), and the windows that they end, shape (n_windows,)."""

    t_ns: NDArray[np.int64]
    value: NDArray[np.int64]
    flags: NDArray[np.uint16]
    ends_ns: NDArray[np.int64]
    delta_bytes: NDArray[np.float64]


class Totals:
    """Turns readings into windows, by the rules of `RateSeries.from_counter` for wraps, resets and bad reads."""

    def __init__(self, series: Series) -> None:
        # Words of 4 bytes make a counter of canonical bytes 2 bits wider.
        raw_bits = UNBOUNDED_BITS if series.width_bits is None else series.width_bits
        self._wraps_at_bits = min(UNBOUNDED_BITS, raw_bits + round(math.log2(series.raw_scale)))
        self._last: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]] | None = None

    @property
    def last_ns(self) -> int | None:
        """Time of the newest reading; None before the first."""
        return None if self._last is None else int(self._last[0][0])

    def take(self, t_ns: ArrayLike, value: ArrayLike, flags: ArrayLike | None) -> Taken:
        """Take readings; those that come no later than one before are left out.

        Raises
        ------
        BadInput
            If lengths differ, or a value is negative or not finite; nothing is taken then.
        """
        times_ns, values, known = _checked(t_ns, value, flags)
        before = self._last or (times_ns[:0], values[:0], known[:0])
        floor_ns = times_ns[:1] - 1 if self.last_ns is None else np.array([self.last_ns])
        is_later = np.diff(np.maximum.accumulate(np.concatenate((floor_ns, times_ns)))) > 0
        new_t_ns, new_value, new_flags = times_ns[is_later], values[is_later], known[is_later]
        sound = (new_flags & np.uint16(Flag.IMPOSSIBLE)) == 0
        new_t_ns, new_value, new_flags = new_t_ns[sound], new_value[sound], new_flags[sound]
        rate = RateSeries.from_counter(
            np.concatenate((before[0], new_t_ns)),
            np.concatenate((before[1], new_value)),
            width_bits=self._wraps_at_bits,
        )
        if new_t_ns.size:
            self._last = (new_t_ns[-1:], new_value[-1:], new_flags[-1:])
        return Taken(
            t_ns=new_t_ns, value=new_value, flags=new_flags, ends_ns=rate.edges_ns[1:], delta_bytes=rate.delta_bytes
        )


def _checked(
    t_ns: ArrayLike, value: ArrayLike, flags: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
    times, values = np.asarray(t_ns).ravel(), np.asarray(value).ravel()
    known = np.zeros(times.size, dtype=np.uint16) if flags is None else np.asarray(flags, dtype=np.uint16).ravel()
    if not times.size == values.size == known.size:
        raise BadInput(f"add: {times.size} times, {values.size} values, {known.size} flags; give one of each a reading")
    for name, array in (("t_ns", times), ("value", values)):
        wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0) & (array < 2.0**63)))
        if wrong.size:
            raise BadInput(f"add: {name}[{wrong[0]}] = {array[wrong[0]]}: must be finite, not negative, under 2**63")
    return times.astype(np.int64), values.astype(np.int64), known
