"""Up masks: for every window of a series, whether traffic is Up in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.period.bursts import threshold
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.period.estimate import PeriodEstimate
    from profiler.phases import TrafficProfile
    from profiler.signals import RateSeries

__all__ = ["expected_up", "log_otsu_up", "overlap", "up_windows"]

MOST_OF_WINDOW: Final = 0.5
"""A window is Up if traffic is Up in at least this part of it."""


def up_windows(series: RateSeries, up_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which windows are Up, given [start, end) of each burst in seconds after the first edge, in any order."""
    edges_s = (series.edges_ns - series.edges_ns[0]) / NS_PER_S
    merged = _merged(up_s)
    if not merged.size:
        return np.zeros(series.n_samples, dtype=bool)
    widths_s = merged[:, 1] - merged[:, 0]
    total_s = np.cumsum(widths_s)
    covered_s = np.diff(np.interp(edges_s, merged.ravel(), np.stack([total_s - widths_s, total_s], axis=1).ravel()))
    windows: NDArray[np.bool_] = covered_s >= MOST_OF_WINDOW * np.diff(edges_s)
    return windows


def log_otsu_up(series: RateSeries) -> NDArray[np.bool_]:
    """Return which windows are above the one threshold on log rate, with no knowledge of a period."""
    up: NDArray[np.bool_] = series.rate_bps > threshold(series.rate_bps)
    return up


def expected_up(
    series: RateSeries, *, estimate: PeriodEstimate, profile: TrafficProfile
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return which windows a profile says are Up, and which lie in iterations that were followed; None without any."""
    if profile.anchor_ns is None or estimate.period_s is None or not estimate.starts_s.size:
        return None
    offset_s = (profile.anchor_ns - int(series.edges_ns[0])) / NS_PER_S - estimate.starts_s[-1]
    firsts_s = estimate.starts_s + offset_s
    ups = [phase for phase in profile.phases if phase.kind == "up"]
    up_s = np.concatenate([np.stack([firsts_s + up.start_s, firsts_s + up.start_s + up.width_s], axis=1) for up in ups])
    followed = np.array([[estimate.starts_s[0], estimate.starts_s[-1] + estimate.period_s]])
    return up_windows(series, up_s), up_windows(series, followed)


def overlap(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Return intersection over union of two masks; 1 where both are empty."""
    union = np.count_nonzero(found | truth)
    return float(np.count_nonzero(found & truth) / union) if union else 1.0


def _merged(up_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return disjoint intervals in order, shape (n, 2)."""
    ordered = up_s[np.argsort(up_s[:, 0], kind="stable")]
    if not len(ordered):
        return ordered
    reach_s = np.maximum.accumulate(ordered[:, 1])
    begins = np.append(True, ordered[1:, 0] > reach_s[:-1])
    return np.stack([ordered[begins, 0], reach_s[np.append(begins[1:], True)]], axis=1)
