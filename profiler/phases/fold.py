"""Iterations laid over one another: the demand of a typical one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from profiler.period.estimate import PeriodEstimate
    from profiler.signals import UniformRate

__all__ = ["MAX_FOLD_BINS", "cycle_bounds", "fold_cycles"]

MAX_FOLD_BINS: Final = 256
TRIM_FRAC: Final = 0.1
"""Of every fold bin, this part of the iterations is left out at either end: stalls and checkpoints are not typical."""
NEAR_FRAC: Final = 0.6


def cycle_bounds(estimate: PeriodEstimate) -> NDArray[np.float64]:
    """Return [start, next start) of every iteration that is followed by another, shape (n_cycles, 2), in seconds."""
    starts_s = estimate.starts_s
    bounds = np.stack([starts_s[:-1], starts_s[1:]], axis=1)
    lengths_s = np.diff(starts_s)
    return bounds[np.abs(lengths_s / (estimate.period_s or 1.0) - 1) < NEAR_FRAC]


def fold_cycles(rate: UniformRate, bounds_s: NDArray[np.float64], *, period_s: float) -> NDArray[np.float64]:
    """Return the trimmed mean rate over one period in bit/s, shape (n_bins,), at most `MAX_FOLD_BINS` bins.

    Bins are cut from the cumulative rate, so that an iteration may start within a window of the series. What comes
    after the next start is the next iteration's: where one is shorter than the period, its last bins hold nothing.
    """
    n_bins = int(np.clip(period_s / rate.dt_s, 4, MAX_FOLD_BINS))
    edges_s = np.minimum(bounds_s[:, :1] + np.linspace(0.0, period_s, n_bins + 1), bounds_s[:, 1:])
    grid_s = np.arange(rate.rate_bps.size + 1, dtype=np.float64) * rate.dt_s
    total_bits = np.concatenate(([0.0], np.cumsum(rate.rate_bps * rate.dt_s)))
    rates_bps = np.sort(np.diff(np.interp(edges_s, grid_s, total_bits), axis=1) * n_bins / period_s, axis=0)
    n_trimmed = int(TRIM_FRAC * len(rates_bps))
    fold_bps: NDArray[np.float64] = rates_bps[n_trimmed : len(rates_bps) - n_trimmed].mean(axis=0)
    return fold_bps
