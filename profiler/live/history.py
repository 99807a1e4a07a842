"""What is remembered of a counter: its newest minutes as they were read, and the hour before on coarser steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.live.ring import Ring
from profiler.rates import rate_series
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.signals import RateSeries
    from profiler.store import Series

__all__ = ["REACH_NS", "History"]

FINE_READS: Final = 1 << 17
"""Two minutes at 1 ms: iterations of 20 ms and of 15 s are both seen often enough."""
COARSE_READS: Final = 72_000
COARSE_NS: Final = NS_PER_S // 20
"""An hour at 50 ms: iterations of 1 s to several minutes."""
REACH_NS: Final = COARSE_READS * COARSE_NS
"""What is older is not remembered."""
STEPS_PER_PERIOD: Final = 64
"""Coarse steps that an iteration must have to be followed on them."""
WORTHWHILE: Final = 1.2
"""The coarse reads are worth a look if they reach back this many times as far as the fine ones."""


class History:
    """The readings of one cumulative counter, in a fixed amount of memory.

    Reads are thinned, not averaged: a cumulative count read less often loses no bytes.

    Parameters
    ----------
    series
        What the counter is.
    """

    def __init__(self, series: Series) -> None:
        self.series = series
        self._fine = Ring(FINE_READS, [np.int64, np.int64, np.uint16])
        self._coarse = Ring(COARSE_READS, [np.int64, np.int64, np.uint16])
        self._next_step = 0

    @property
    def nbytes(self) -> int:
        """Bytes that the readings take, now and for ever."""
        return self._fine.nbytes + self._coarse.nbytes

    def add(self, t_ns: NDArray[np.int64], value: NDArray[np.int64], *, flags: NDArray[np.uint16]) -> None:
        """Take readings that come after those before them, times strictly increasing."""
        self._fine.extend(t_ns, value, flags)
        # The first read of each coarse step, by whole steps of the epoch.
        step = np.maximum(t_ns // COARSE_NS, self._next_step - 1)
        first = np.diff(step, prepend=self._next_step - 1) > 0
        self._coarse.extend(t_ns[first], value[first], flags[first])
        self._next_step = int(step[-1]) + 1

    def readings(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
        """Return times, values and flags of all that is remembered: coarse ones, then fine ones."""
        fine, coarse = self._fine.columns(), self._coarse.columns()
        is_older = coarse[0] < (fine[0][0] if fine[0].size else 0)
        t_ns, value, flags = (np.concatenate((old[is_older], new)) for old, new in zip(coarse, fine, strict=True))
        return t_ns, value, flags

    def recent(self, *, since_ns: int = 0) -> RateSeries:
        """Return the rate over the newest minutes, as fine as it was read, from a time on."""
        return self._rates(self._fine, since_ns=since_ns)

    def long(self, *, since_ns: int = 0) -> RateSeries | None:
        """Return the rate over the newest hour in coarse steps; None if it reaches no further back than `recent`."""
        fine_ns, coarse_ns = self._fine.columns()[0], self._coarse.columns()[0]
        if fine_ns.size == 0 or fine_ns[0] <= since_ns:
            return None
        reaches = fine_ns[-1] - max(since_ns, int(coarse_ns[0])) > WORTHWHILE * (fine_ns[-1] - fine_ns[0])
        return self._rates(self._coarse, since_ns=since_ns) if reaches else None

    def around(self, period_s: float, *, since_ns: int = 0) -> RateSeries:
        """Return the rate that shows most iterations of a period, in steps that are fine enough for them."""
        longer = self.long(since_ns=since_ns) if period_s * NS_PER_S >= STEPS_PER_PERIOD * COARSE_NS else None
        return self.recent(since_ns=since_ns) if longer is None else longer

    def _rates(self, ring: Ring, *, since_ns: int) -> RateSeries:
        t_ns, value, flags = ring.columns()
        first = int(np.searchsorted(t_ns, since_ns))
        return rate_series(self.series, t_ns=t_ns[first:], value=value[first:], flags=flags[first:])
