"""Where each iteration's first burst begins, read off the bursts themselves where they stand clear of the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.period.bursts import pooled, runs, threshold
from profiler.period.medians import median

if TYPE_CHECKING:
    from profiler.period.cycles import Cycles
    from profiler.signals import UniformRate

__all__ = ["find_onsets"]

GAP_FRAC: Final = 0.55
"""A Down stretch of at least this fraction of the iteration's longest one parts two iterations."""
MIN_DOWN_FRAC: Final = 0.08
"""Iterations whose longest Down stretch is a smaller fraction of the period are not parted by it."""
COUNT_SLACK: Final = 0.2
BINS_PER_PERIOD: Final = 64


def find_onsets(rate: UniformRate, cycles: Cycles, *, period_s: float) -> NDArray[np.float64] | None:
    """Return the start of the first burst after each iteration's longest Down stretch.

    Parameters
    ----------
    rate
        The rate at the series' own resolution.
    cycles
        Iterations as they were followed; their common shape tells how long the longest Down stretch is.
    period_s
        The period they were followed with.

    Returns
    -------
    ndarray of float64, shape (n_onsets,), or None
        Seconds after the series begins; None where bursts do not part the iterations: no clear Down stretch, or not
        about one onset an iteration.

    Notes
    -----
    Computing is not slowed by the network, so the longest Down stretch keeps its length when bursts stretch under
    congestion, and it, not the burst, is what tells iterations apart.
    """
    n_pooled = max(1, int(period_s / rate.dt_s / BINS_PER_PERIOD))
    pooled_bps = pooled(rate.rate_bps, n_pooled)
    active = _active(cycles, period_s=period_s, n_bins=pooled_bps.size, bin_s=rate.dt_s * n_pooled)
    if not active.any():
        return None
    cut_bps = threshold(pooled_bps[active])
    n_period = round(period_s / (rate.dt_s * n_pooled))
    n_down = _typical_down(pooled_bps > cut_bps, active, n_period=n_period)
    if n_down < max(2, MIN_DOWN_FRAC * n_period):
        return None
    found = runs(pooled_bps > cut_bps, min_gap_bins=max(2, round(GAP_FRAC * n_down)))
    found = found[found[:, 0] > 0]  # a burst already under way has no onset
    onsets_s = _first_above(rate.rate_bps, found[:, 0] * n_pooled, n_pooled, cut_bps) * rate.dt_s
    n_expected = np.count_nonzero(cycles.good)
    if abs(onsets_s.size - n_expected) > COUNT_SLACK * n_expected + 1:
        return None
    return onsets_s


def _active(cycles: Cycles, *, period_s: float, n_bins: int, bin_s: float) -> NDArray[np.bool_]:
    """Return which bins lie in an iteration that follows the common shape."""
    first = (cycles.starts_s[cycles.good] / bin_s).astype(np.int64)
    end = ((cycles.starts_s[cycles.good] + period_s) / bin_s).astype(np.int64) + 1
    steps = np.bincount(first, minlength=n_bins + 1)[: n_bins + 1] - np.bincount(
        np.minimum(end, n_bins), minlength=n_bins + 1
    )
    active: NDArray[np.bool_] = np.cumsum(steps)[:n_bins] > 0
    return active


def _typical_down(up: NDArray[np.bool_], active: NDArray[np.bool_], *, n_period: int) -> float:
    """Return the typical length of an iteration's longest Down stretch, in bins."""
    down = runs(~up & active)
    lengths = np.sort((down[:, 1] - down[:, 0]).astype(np.float64))[::-1]
    n_iterations = max(1, int(np.count_nonzero(active) / n_period))
    return median(lengths[:n_iterations]) if lengths.size else 0.0


@njit(cache=True, nogil=True)
def _first_above(
    rate_bps: NDArray[np.float64], starts: NDArray[np.int64], n_pooled: int, cut_bps: float
) -> NDArray[np.float64]:
    """Return for each pooled bin the first own-resolution bin above the cut, in it or just before it."""
    found = np.zeros(starts.size)
    for k in range(starts.size):
        found[k] = starts[k]
        for i in range(max(0, starts[k] - n_pooled), min(rate_bps.size, starts[k] + n_pooled)):
            if rate_bps[i] > cut_bps:
                found[k] = i
                break
    return found
