"""Rare events of a job, far larger than its bursts: checkpoints, reloads of data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.period.bursts import runs
from profiler.period.medians import median

__all__ = ["LEAST_EVERY", "Events", "find_events"]

LARGE_FACTOR: Final = 2.0
"""A burst of more than this many times the median burst's bytes is an event, if it is rare."""
LEAST_EVERY: Final = 9
"""What comes more often than every ninth burst is part of the iteration, as the all-reduce of accumulated gradients."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Events:
    """Which bins lie in a rare event or beside one, bool, shape (n_bins,); and how many bursts there are for each."""

    mask: NDArray[np.bool_]
    n_bursts_each: float


def find_events(rate_bps: NDArray[np.float64], *, cut_bps: float) -> Events | None:
    """Return the rare events of a series, or None if there are none.

    Parameters
    ----------
    rate_bps
        Rate of each bin, shape (n_bins,).
    cut_bps
        Rate that parts Up from Down, see `bursts.threshold`.
    """
    found = runs(rate_bps > cut_bps, min_gap_bins=2)
    if len(found) < LEAST_EVERY:
        return None
    total = np.concatenate(([0.0], np.cumsum(rate_bps)))
    volumes = total[found[:, 1]] - total[found[:, 0]]
    large = volumes > LARGE_FACTOR * median(volumes)
    n_large = int(np.count_nonzero(large))
    if not 0 < n_large <= len(found) / LEAST_EVERY:
        return None
    mask = np.zeros(rate_bps.size, dtype=bool)
    for start, end in found[large]:
        mask[max(0, start - 1) : end + 1] = True
    return Events(mask=mask, n_bursts_each=len(found) / n_large)
