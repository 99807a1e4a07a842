"""Bytes as they arrive, cut into bins of a fraction of the period."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Bins"]


class Bins:
    """The newest bins of a rate; bin ``i`` covers ``i * bin_s`` to one ``bin_s`` later, after ``origin_ns``.

    Parameters
    ----------
    origin_ns
        Start of the first window.
    bin_s
        Width of a bin in seconds.
    n_kept
        Bins that can be looked back on.
    hole_s
        Windows longer than this leave their bins unknown (NaN): how the bytes lay in them is not known.
    """

    def __init__(self, *, origin_ns: int, bin_s: float, n_kept: int, hole_s: float) -> None:
        self.origin_ns = origin_ns
        self.bin_s = bin_s
        self.end = 0
        """Bins that are complete."""
        self._n_kept = n_kept
        self._hole_s = hole_s
        self._rates = np.zeros(2 * n_kept)
        self.first = 0
        """The oldest bin that is kept."""
        self._last_s = 0.0
        self._carried_bytes = 0.0

    def add(self, ends_ns: NDArray[np.int64], delta_bytes: NDArray[np.float64]) -> None:
        """Take the bytes of windows that follow those before; ``ends_ns`` are their ends, shape (n_windows,)."""
        if not ends_ns.size:
            return
        times_s = np.concatenate(([self._last_s], (ends_ns - self.origin_ns) / NS_PER_S))
        total_bytes = self._carried_bytes + np.concatenate(([0.0], np.cumsum(delta_bytes)))
        end = max(self.end, int(times_s[-1] / self.bin_s))
        # A hole may be of any length: bins that would be forgotten at once are not made.
        first = max(self.end, end - self._n_kept)
        at_edges = np.interp(np.arange(first, end + 1) * self.bin_s, times_s, total_bytes)
        if first == self.end:
            at_edges[0] = 0.0
        else:
            self.first = self.end = first
        rates_bps = np.diff(at_edges) * BITS_PER_BYTE / self.bin_s
        for i in np.flatnonzero(np.diff(times_s) > self._hole_s):
            before, after = int(times_s[i] / self.bin_s), int(times_s[i + 1] / self.bin_s)
            rates_bps[max(0, before - self.end) : max(0, after + 1 - self.end)] = np.nan
        self._append(rates_bps)
        self._last_s = float(times_s[-1])
        self._carried_bytes = float(total_bytes[-1] - at_edges[-1])

    def between(self, first: int, end: int) -> NDArray[np.float64]:
        """Return the rates of bins ``first`` to ``end`` (not included) in bit/s, of those that are still kept."""
        rates: NDArray[np.float64] = self._rates[max(0, first - self.first) : max(0, end - self.first)]
        return rates

    def at_ns(self, place: float) -> int:
        """Return the time of a place counted in bins, UTC epoch ns."""
        return self.origin_ns + round(place * self.bin_s * NS_PER_S)

    def _append(self, rates_bps: NDArray[np.float64]) -> None:
        n_held = self.end - self.first
        if n_held + rates_bps.size > self._rates.size:
            n_moved = self._n_kept
            self._rates[:n_moved] = self._rates[n_held - n_moved : n_held].copy()
            n_held = n_moved
        self._rates[n_held : n_held + rates_bps.size] = rates_bps
        self.end += rates_bps.size
        self.first = self.end - rates_bps.size - n_held
