"""`UniformRate`: a rate on a uniform grid, and how windows of any length are put there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.units import BITS_PER_BYTE, NS_PER_S

__all__ = ["UniformRate", "on_grid"]

ON_GRID_FRAC: Final = 1e-5
"""Edges this near to the grid, over its step, are on it: times are rounded to nanoseconds."""
KNOWN_FRAC: Final = 0.5
"""A bin is known if more than this part of it is."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UniformRate:
    """A rate on a uniform grid.

    ``rate_bps`` and ``known`` have shape (n_bins,); bin ``i`` covers ``t0_ns + i * dt_s`` to one ``dt_s`` later. A bin
    that is not known carries a rate of 0 and must be given no weight.
    """

    t0_ns: int
    dt_s: float
    rate_bps: NDArray[np.float64]
    known: NDArray[np.bool_]


def on_grid(
    edges_ns: NDArray[np.int64], delta_bytes: NDArray[np.float64], *, known: NDArray[np.bool_], dt_s: float
) -> UniformRate:
    """Put windows on a uniform grid by interpolating their *cumulative* bytes, so that bytes are conserved.

    Parameters
    ----------
    edges_ns
        Ends of the windows, strictly increasing, shape (n_samples + 1,), at least two.
    delta_bytes, known
        Bytes of each window, and whether it is known when in the window they moved; shape (n_samples,).
    dt_s
        Width of a bin, positive.

    Notes
    -----
    A bin's rate is that of the known windows in it. Cost O(n_samples + n_bins) in time and memory.
    """
    t_s = (edges_ns - edges_ns[0]) / NS_PER_S
    n_bins = max(1, int(np.floor(t_s[-1] / dt_s * (1 + 1e-9))))
    all_known = bool(known.all())
    if n_bins == delta_bytes.size and np.abs(t_s - np.arange(n_bins + 1) * dt_s).max() <= ON_GRID_FRAC * dt_s:
        rate_bps = np.where(known, delta_bytes, 0.0) * (BITS_PER_BYTE / dt_s)
        return UniformRate(t0_ns=int(edges_ns[0]), dt_s=dt_s, rate_bps=rate_bps, known=known.copy())
    grid_s = np.arange(n_bins + 1) * dt_s
    moved = np.diff(np.interp(grid_s, t_s, _sums(delta_bytes if all_known else np.where(known, delta_bytes, 0.0))))
    if all_known and t_s[-1] >= grid_s[-1] * (1 - 1e-9):
        rate_bps, is_known = moved * (BITS_PER_BYTE / dt_s), np.ones(n_bins, dtype=bool)
    else:
        known_s = np.diff(np.interp(grid_s, t_s, _sums(np.where(known, np.diff(t_s), 0.0))))
        is_known = known_s > KNOWN_FRAC * dt_s
        rate_bps = np.where(is_known, moved * BITS_PER_BYTE / np.maximum(known_s, KNOWN_FRAC * dt_s), 0.0)
    return UniformRate(t0_ns=int(edges_ns[0]), dt_s=dt_s, rate_bps=rate_bps, known=is_known)


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.empty(values.size + 1)
    sums[0] = 0.0
    np.cumsum(values, out=sums[1:])
    return sums
