"""Bursts of a rate, by a threshold between its two levels on a log scale."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["pooled", "runs", "threshold"]

FLOOR_FRAC: Final = 1e-3
"""Rates under this fraction of the high level are as good as none; it bounds the log scale below."""
N_LEVELS: Final = 128
STEADY: Final = 1e-6
"""A range of log rates that is rounding, not two levels."""


def threshold(rate_bps: NDArray[np.float64]) -> float:
    """Return the rate that best parts Up from Down: Otsu's threshold on log rate.

    Notes
    -----
    Maximises the between-class variance ``w0 w1 (m1 - m0)**2`` over all cuts of a histogram of log rate. The high
    end is the rate under which all but the topmost bytes move, so that a few wild samples do not stretch the scale.

    References
    ----------
    .. [1] N. Otsu, "A threshold selection method from gray-level histograms", IEEE Trans. SMC 9 (1979).
    """
    ordered = np.sort(rate_bps)
    total = np.cumsum(ordered)
    if total.size == 0 or total[-1] <= 0:
        return 0.0
    high_bps = float(ordered[np.searchsorted(total, 0.9 * total[-1])])
    lowest_bps = max(float(ordered[0]), FLOOR_FRAC * high_bps)
    if np.log(high_bps / lowest_bps) < STEADY:
        return high_bps
    return float(_otsu(rate_bps, lowest_bps, high_bps))


@njit(cache=True, nogil=True)
def _otsu(rate_bps: NDArray[np.float64], lowest_bps: float, high_bps: float) -> float:
    """Return the rate between two bounds that parts log rates best."""
    low, span = np.log(lowest_bps), np.log(high_bps / lowest_bps)
    counts = np.zeros(N_LEVELS)
    for rate in rate_bps:
        level = (np.log(min(max(rate, lowest_bps), high_bps)) - low) / span
        counts[min(N_LEVELS - 1, int(level * N_LEVELS))] += 1
    n_all, mass = counts.sum(), (counts * np.arange(N_LEVELS)).sum()
    between = np.zeros(N_LEVELS - 1)
    n_below = mass_below = 0.0
    for i in range(N_LEVELS - 1):
        n_below += counts[i]
        mass_below += counts[i] * i
        n_above = n_all - n_below
        if n_below > 0 and n_above > 0:
            between[i] = n_below * n_above * ((mass - mass_below) / n_above - mass_below / n_below) ** 2
    # An empty stretch of the histogram gives equal cuts all along it: the middle is the fairest.
    best = np.flatnonzero(between >= between.max() * (1 - 1e-9))
    return float(np.exp(low + span * (best.mean() + 1) / N_LEVELS))


def pooled(rate_bps: NDArray[np.float64], n_pooled: int) -> NDArray[np.float64]:
    """Return the mean rate of every ``n_pooled`` bins; what is left over at the end is left out."""
    n_bins = rate_bps.size // n_pooled
    means: NDArray[np.float64] = rate_bps[: n_bins * n_pooled].reshape(n_bins, n_pooled).mean(axis=1)
    return means


def runs(up: NDArray[np.bool_], *, min_gap_bins: int = 1, min_run_bins: int = 1) -> NDArray[np.int64]:
    """Return [start, end) of every run of True, shape (n_runs, 2).

    Gaps shorter than ``min_gap_bins`` are closed first, then runs shorter than ``min_run_bins`` are dropped.
    """
    padded = np.zeros(up.size + 2, dtype=np.bool_)
    padded[1:-1] = up
    turns = np.flatnonzero(padded[1:] != padded[:-1])
    starts, ends = turns[::2], turns[1::2]
    if min_gap_bins > 1 and starts.size:
        parted = starts[1:] - ends[:-1] >= min_gap_bins
        starts, ends = starts[np.append(True, parted)], ends[np.append(parted, True)]
    found = np.stack([starts, ends], axis=1).astype(np.int64)
    return found if min_run_bins <= 1 else found[found[:, 1] - found[:, 0] >= min_run_bins]
