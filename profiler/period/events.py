"""Rare events of a job, far larger than its bursts: checkpoints, reloads of data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.bursts import runs
from profiler.period.medians import median

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LEAST_EVERY", "event_mask"]

LARGE_FACTOR: Final = 2.0
"""A burst of more than this many times the median burst's bytes is an event, if it is rare."""
LEAST_EVERY: Final = 9
"""What comes more often than every ninth burst is part of the iteration, as the all-reduce of accumulated gradients."""


def event_mask(rate_bps: NDArray[np.float64], *, cut_bps: float) -> NDArray[np.bool_] | None:
    """Return which bins belong to a rare event and those beside it, or None if there is no such event.

    Parameters
    ----------
    rate_bps
        Rate of each bin, shape (n_bins,).
    cut_bps
        Rate that parts Up from Down, see `bursts.threshold`.

    Returns
    -------
    ndarray of bool, shape (n_bins,), or None
    """
    found = runs(rate_bps > cut_bps, min_gap_bins=2)
    if len(found) < LEAST_EVERY:
        return None
    total = np.concatenate(([0.0], np.cumsum(rate_bps)))
    volumes = total[found[:, 1]] - total[found[:, 0]]
    large = volumes > LARGE_FACTOR * median(volumes)
    if not 0 < np.count_nonzero(large) <= len(found) / LEAST_EVERY:
        return None
    mask = np.zeros(rate_bps.size, dtype=bool)
    for start, end in found[large]:
        mask[max(0, start - 1) : end + 1] = True
    return mask
