"""Up masks: for every window of a series, whether traffic is Up in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiler.period.bursts import threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.signals import RateSeries

__all__ = ["log_otsu_up", "overlap"]


def log_otsu_up(series: RateSeries) -> NDArray[np.bool_]:
    """Return which windows are above the one threshold on log rate, with no knowledge of a period."""
    up: NDArray[np.bool_] = series.rate_bps > threshold(series.rate_bps)
    return up


def overlap(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Return intersection over union of two masks; 1 where both are empty."""
    union = np.count_nonzero(found | truth)
    return float(np.count_nonzero(found & truth) / union) if union else 1.0
