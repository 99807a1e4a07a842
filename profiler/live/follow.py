"""Put a tracker on a period: from what is remembered, so that it knows the job when the next samples come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.live.shape import fold
from profiler.live.tracker import BINS_PER_PERIOD, MIN_BINS_PER_PERIOD, Tracker
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile
    from profiler.signals import RateSeries

__all__ = ["follow_newest", "follow_profile"]

N_REPLAYED: Final = 40
"""Iterations that a new tracker is shown: enough to know how much they vary."""
N_FOLDED: Final = 3
"""Iterations that a first shape is the mean of: as few as tell a change of period."""


def follow_profile(series: RateSeries, found: TrafficProfile) -> Tracker | None:
    """Return a tracker of a detected period that was shown its newest iterations.

    Parameters
    ----------
    series
        Traffic up to now that holds some iterations.
    found
        What detection says of it.

    Returns
    -------
    Tracker or None
        None where the samples are too coarse to follow, or the newest ones have left the beat.
    """
    if found.period_s is None or found.anchor_ns is None:
        return None
    n_shown = min(N_REPLAYED, int(found.n_cycles or 0) + 1)
    return _shown(series, n_shown=n_shown, period_s=found.period_s, rate_bps=found.fold_bps, start_ns=found.anchor_ns)


def follow_newest(series: RateSeries, *, period_s: float) -> Tracker | None:
    """Return a tracker of a period that the newest traffic has, its shape taken from the last few iterations.

    Parameters
    ----------
    series
        Traffic from the first iteration of this period on, or a little before, up to now.
    period_s
        The period in seconds.
    """
    n_bins = _n_bins(series, period_s)
    n_cycles = min(N_FOLDED, int(series.duration_s / period_s))
    if n_bins < MIN_BINS_PER_PERIOD or n_cycles < 1:
        return None
    rate_bps = series.resample(period_s / n_bins).rate_bps[-n_cycles * n_bins :]
    shape, turned = fold(rate_bps, n_bins=n_bins)
    start_ns = int(series.edges_ns[0]) + round(
        (series.duration_s // (period_s / n_bins) - rate_bps.size + turned) * period_s / n_bins * NS_PER_S
    )
    return _shown(series, n_shown=N_REPLAYED, period_s=period_s, rate_bps=shape, start_ns=start_ns)


def _n_bins(series: RateSeries, period_s: float) -> int:
    return min(BINS_PER_PERIOD, int(period_s / series.dt_s * (1 + 1e-9))) if series.dt_s > 0 else 0


def _shown(
    series: RateSeries, *, n_shown: int, period_s: float, rate_bps: NDArray[np.float64], start_ns: int
) -> Tracker | None:
    if rate_bps.size < MIN_BINS_PER_PERIOD or _n_bins(series, period_s) < MIN_BINS_PER_PERIOD:
        return None
    from_ns = series.edges_ns[-1] - round(n_shown * period_s * NS_PER_S)
    first = max(0, int(np.searchsorted(series.edges_ns, from_ns)) - 1)
    shown = series.between(first, series.n_samples)
    tracker = Tracker(
        period_s=period_s,
        rate_bps=rate_bps,
        origin_ns=int(shown.edges_ns[0]),
        start_ns=start_ns,
        sample_s=series.dt_s,
    )
    tracker.add(shown.edges_ns[1:], shown.delta_bytes)
    return tracker if tracker.beat == "held" and tracker.new_period_s is None else None
