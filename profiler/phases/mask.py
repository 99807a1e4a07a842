"""`up_mask`: for every window of a series, whether its job is Up in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.phases.edges import Edges, measure_edges, slack, stand_out, without_events
from profiler.phases.follow import follow
from profiler.phases.separation import with_rate
from profiler.phases.shape import Shape, shape_of
from profiler.phases.traffic import Traffic
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.phases.profile import TrafficProfile
    from profiler.signals import RateSeries, UniformRate

__all__ = ["up_mask"]

CAP_FACTOR: Final = 1.5
"""Rates above this many times the highest burst's or the highest usual one are of something else."""
MARGIN_WINDOWS: Final = 2
"""Windows so near a burst may be of it."""
N_TURNS: Final = 3
"""Of several jobs on one counter, each is followed so often in what the others leave."""


def up_mask(series: RateSeries, profile: TrafficProfile) -> NDArray[np.bool_]:
    """Return which windows of a series are Up for at least half of their time.

    Parameters
    ----------
    series
        The series that the profile is of, or another stretch of the same counter.
    profile
        Its profile. Without a period nothing is Up; without a Down phase all is. Of several jobs on one counter any one
        being Up counts.

    Returns
    -------
    ndarray of bool, shape (n_samples,)

    Notes
    -----
    Where bursts stand clear of what is between them they are read off the series itself. Where noise hides them
    iterations are followed by the shape of the profile, and each edge is the likeliest one near where that has it.
    """
    if series.n_samples == 0 or profile.period_s is None:
        return np.zeros(series.n_samples, dtype=bool)
    if profile.anchor_ns is None:
        return np.ones(series.n_samples, dtype=bool)
    jobs = [one for one in (profile, *profile.others) if one.period_s is not None and one.anchor_ns is not None]
    if len(jobs) == 1:
        return _own_mask(series, profile)
    mask: NDArray[np.bool_] = np.any(
        [_own_mask(part, one) for part, one in zip(_parted(series, jobs), jobs, strict=True)], axis=0
    )
    return mask


def _parted(series: RateSeries, jobs: list[TrafficProfile]) -> list[RateSeries]:
    """Return what the phases of the other jobs leave to each, their iterations found in turns."""
    rate_bps = series.rate_bps
    demands = [np.zeros(series.n_samples) for _ in jobs]
    parts = [series for _ in jobs]
    for _ in range(N_TURNS):
        for i, one in enumerate(jobs):
            others_bps = np.sum([demand for j, demand in enumerate(demands) if j != i], axis=0)
            parts[i] = with_rate(series, np.maximum(rate_bps - others_bps, 0.0))
            demands[i] = _demand(series, one, starts_s=_starts(parts[i], one))
    return parts


def _demand(series: RateSeries, profile: TrafficProfile, *, starts_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rate that a profile's bursts, repeated from each start on, have above Down in each window."""
    edges_s = (series.edges_ns - series.edges_ns[0]) / NS_PER_S
    down_bps = shape_of(profile.phases).down_bps
    ups = [phase for phase in profile.phases if phase.kind == "up"]
    bits = np.zeros(edges_s.size)
    for up in ups:
        begins_s = starts_s + up.start_s
        # Bits of n bursts by t: each ramps up from its begin on, and is held from its end on.
        for sign, turns_s in ((1.0, begins_s), (-1.0, begins_s + up.width_s)):
            n_begun = np.searchsorted(turns_s, edges_s)
            sums_s = np.concatenate(([0.0], np.cumsum(turns_s)))
            bits += sign * (up.rate_bps - down_bps) * (n_begun * edges_s - sums_s[n_begun])
    return np.asarray(np.maximum(np.diff(bits) / np.diff(edges_s), 0.0))


def _own_mask(series: RateSeries, profile: TrafficProfile) -> NDArray[np.bool_]:
    """Return the mask of a series that one job alone has."""
    shape, period_s = shape_of(profile.phases), profile.period_s or 1.0
    traffic = Traffic.of(_capped(series.resample(series.dt_s), shape=shape))
    starts_s = _starts(series, profile)
    bounds_s = np.stack([starts_s, np.append(starts_s[1:], starts_s[-1] + period_s)], axis=1)
    shape = _with_spreads(shape, traffic, bounds_s)
    slack_s = slack(profile.jitter_frac, period_s=period_s)
    edges = measure_edges(traffic, bounds_s, shape=shape, slack_s=slack_s)
    if shape.is_clear:
        edges = _measured_again(traffic, edges, bounds_s, shape=shape, slack_s=slack_s)
    edges = without_events(edges, dt_s=traffic.dt_s)
    shown = stand_out(traffic, edges, shape=shape) if shape.is_clear else np.ones(edges.present.shape, dtype=bool)
    return _covered(series, edges.start_s[shown], edges.end_s[shown])


def _measured_again(
    traffic: Traffic, edges: Edges, bounds_s: NDArray[np.float64], *, shape: Shape, slack_s: float
) -> Edges:
    """Return edges looked for from where first bursts turned out to begin: those far from it were cut off.

    Of a burst that congestion stretches the shape fits any part equally well.
    """
    starts_s = np.where(edges.present[:, 0], edges.start_s[:, 0] - shape.bursts[0].start_s, bounds_s[:, 0])
    starts_s = np.maximum.accumulate(starts_s)
    own_bounds_s = np.stack([starts_s, np.append(starts_s[1:], max(bounds_s[-1, 1], starts_s[-1]))], axis=1)
    again = measure_edges(traffic, own_bounds_s, shape=shape, slack_s=slack_s)
    return replace(again, late_s=again.late_s + (starts_s - bounds_s[:, 0])[:, None])


def _starts(series: RateSeries, profile: TrafficProfile) -> NDArray[np.float64]:
    """Return when each iteration of a profile begins, in seconds after the series does."""
    shape = shape_of(profile.phases)
    return follow(
        Traffic.of(_capped(series.resample(series.dt_s), shape=shape)),
        shape,
        period_s=profile.period_s or 1.0,
        anchor_s=((profile.anchor_ns or 0) - int(series.edges_ns[0])) / NS_PER_S,
        jitter_frac=profile.jitter_frac or 0.0,
    )


def _capped(rate: UniformRate, *, shape: Shape) -> UniformRate:
    """Return the rate without what is far above any burst: a checkpoint must not lead those who follow the bursts."""
    top_bps = max(max(burst.rates_bps) for burst in shape.bursts)
    low_bps, high_bps = np.quantile(rate.rate_bps, [0.16, 0.84])
    usual_bps = max(top_bps, float(3 * high_bps - 2 * low_bps))
    return replace(rate, rate_bps=np.minimum(rate.rate_bps, CAP_FACTOR * usual_bps))


def _with_spreads(shape: Shape, traffic: Traffic, bounds_s: NDArray[np.float64]) -> Shape:
    """Return the shape with by how much windows well within its bursts, and well outside of them, stray."""
    rate_bps = np.diff(traffic.bits) / traffic.dt_s
    outward = np.array([-traffic.dt_s, traffic.dt_s])
    near = np.zeros(traffic.n_bins + 1, dtype=np.int64)
    inner = [np.zeros(0)]
    for burst in shape.bursts:
        stretch = bounds_s[:, :1] + np.array([burst.start_s, burst.end_s])
        _count(near, stretch + MARGIN_WINDOWS * outward, dt_s=traffic.dt_s)
        within = np.zeros(traffic.n_bins + 1, dtype=np.int64)
        _count(within, stretch - outward, dt_s=traffic.dt_s)
        own_bps = rate_bps[np.cumsum(within)[:-1] > 0]
        inner.append(own_bps - np.median(own_bps) if own_bps.size else own_bps)
    return replace(
        shape,
        up_spread_bps=_spread(np.concatenate(inner)),
        down_spread_bps=_spread(rate_bps[np.cumsum(near)[:-1] == 0]),
    )


def _count(turns: NDArray[np.int64], stretches_s: NDArray[np.float64], *, dt_s: float) -> None:
    """Add 1 where a stretch begins and take it off where it ends, in place."""
    first = np.clip(np.ceil(stretches_s[:, 0] / dt_s), 0, turns.size - 1).astype(np.int64)
    last = np.clip(np.floor(stretches_s[:, 1] / dt_s), 0, turns.size - 1).astype(np.int64)
    some = last > first
    np.add.at(turns, first[some], 1)
    np.add.at(turns, last[some], -1)


def _spread(values: NDArray[np.float64]) -> float:
    """Return the larger of two robust standard deviations: noise that is cut off at zero leaves the one at zero too."""
    if values.size == 0:
        return 0.0
    low, middle, high = np.quantile(values, [0.16, 0.5, 0.84])
    return float(max(high - middle, middle - low))


def _covered(series: RateSeries, start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which windows have their middle in one of some stretches, shape (n_samples,)."""
    edges_s = (series.edges_ns - series.edges_ns[0]) / NS_PER_S
    middles_s = 0.5 * (edges_s[1:] + edges_s[:-1])
    turns = np.zeros(series.n_samples + 1, dtype=np.int64)
    np.add.at(turns, np.searchsorted(middles_s, start_s), 1)
    np.add.at(turns, np.maximum(np.searchsorted(middles_s, end_s), np.searchsorted(middles_s, start_s)), -1)
    covered: NDArray[np.bool_] = np.cumsum(turns)[:-1] > 0
    return covered
