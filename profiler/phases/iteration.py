"""The typical iteration of a series: its phases, its folded demand, and the iterations unlike it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.medians import median, robust_spread
from profiler.period.timekeeping import Clock, fit_clock
from profiler.phases.bursts import find_bursts
from profiler.phases.edges import Edges, measure_edges, slack
from profiler.phases.fold import Fold, cycle_bounds, fold_cycles
from profiler.phases.follow import realign
from profiler.phases.measure import apart, folded_ups, measured_ups, whole_phase, without_false_levels
from profiler.phases.outliers import find_outliers
from profiler.phases.phase import Outlier, Phase, with_downs
from profiler.phases.traffic import Traffic
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.period.estimate import PeriodEstimate
    from profiler.phases.shape import Shape
    from profiler.signals import RateSeries

__all__ = ["Iteration", "find_iteration"]

SAME_PERIOD_FRAC: Final = 0.01
"""A clock whose period differs by more from the estimate's is that of something else."""
MAX_MEASURED: Final = 256
"""Quartiles of more iterations are no surer; those measured are spread over all, the last one among them."""
N_ROUNDS: Final = 4
"""Iterations that are aligned by what they have in common are aligned well enough."""
DENTED_BLUR_WINDOWS: Final = 0.2
MAX_BLUR_WINDOWS: Final = 0.5
"""Starts that stray further from where bursts begin blur the fold, one with dents sooner: it is folded again by the
bursts themselves."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iteration:
    """A typical iteration and those unlike it.

    ``fold_bps`` is the folded demand from the first Up phase on, shape (n_bins,). ``anchor_s`` is when one iteration
    began, in seconds after the series does; None where Up and Down do not stand apart. ``clock`` is what the first
    bursts of all iterations keep, if they keep time: its period is what ``phases`` sum to. ``told_frac`` is what phases
    move over what the median iteration does.
    """

    phases: tuple[Phase, ...]
    fold_bps: NDArray[np.float64]
    outliers: tuple[Outlier, ...]
    anchor_s: float | None = None
    clock: Clock | None = None
    told_frac: float = 1.0


def find_iteration(series: RateSeries, estimate: PeriodEstimate, *, period_s: float) -> Iteration:
    """Return the typical iteration of a series that has one job, whose iterations were followed."""
    traffic, starts_s, offset_s = _followed_part(series, estimate.starts_s, period_s=period_s)
    outliers = find_outliers(
        traffic,
        starts_s,
        t0_ns=int(series.edges_ns[0]) + round(offset_s * NS_PER_S),
        are_onsets=estimate.at_onsets,
    )
    fold = fold_cycles(traffic, cycle_bounds(starts_s, period_s=period_s), period_s=period_s)
    shape = find_bursts(fold)
    if shape is None:
        whole = whole_phase(float(fold.rate_bps.mean()), period_s=period_s)
        return Iteration(phases=(whole,), fold_bps=fold.rate_bps, outliers=outliers)
    if estimate.jitter_frac is None:
        starts_s, fold, shape = _refocused(traffic, starts_s, fold=fold, shape=shape)
    slack_s = slack(estimate.jitter_frac, period_s=period_s)
    begins_s = starts_s + shape.bursts[0].start_s
    ups, firsts_s, fold, shape = _ups(traffic, starts_s, fold=fold, shape=shape, slack_s=slack_s)
    clock = _clock(firsts_s, period_s=period_s, dt_s=traffic.dt_s)
    own_s = clock.period_s if clock else period_s
    last_s = _last(firsts_s, begins_s)
    last_s = clock.nearest(last_s) if clock else last_s
    phases = with_downs(apart(ups, period_s=own_s), period_s=own_s, rate_bps=shape.down_bps)
    return Iteration(
        phases=phases,
        told_frac=_told(traffic, starts_s, phases, period_s=period_s),
        fold_bps=np.roll(fold.rate_bps, -round(shape.bursts[0].start_s / fold.bin_s)),
        anchor_s=last_s + offset_s,
        clock=clock,
        outliers=outliers,
    )


def _last(firsts_s: NDArray[np.float64], begins_s: NDArray[np.float64]) -> float:
    """Return when the last iteration's first burst began, by the last one measured and where iterations begin roughly.

    An iteration without a next one is not measured, yet it says best how jobs stand to each other at the end.
    """
    measured = int(np.argmin(np.abs(begins_s - firsts_s[-1])))
    return float(firsts_s[-1] + begins_s[-1] - begins_s[measured])


def _followed_part(
    series: RateSeries, starts_s: NDArray[np.float64], *, period_s: float
) -> tuple[Traffic, NDArray[np.float64], float]:
    """Return the traffic while iterations were followed, their starts after it begins, and when that is."""
    edges_s = (series.edges_ns - series.edges_ns[0]) / NS_PER_S
    first = max(0, int(np.searchsorted(edges_s, starts_s[0] - period_s)) - 1)
    end = min(series.n_samples, int(np.searchsorted(edges_s, starts_s[-1] + 2 * period_s)))
    offset_s = float(edges_s[first])
    return Traffic.of(series.between(first, end).resample(series.dt_s)), starts_s - offset_s, offset_s


def _refocused(
    traffic: Traffic, starts_s: NDArray[np.float64], *, fold: Fold, shape: Shape
) -> tuple[NDArray[np.float64], Fold, Shape]:
    """Return starts moved to where the shape of all iterations fits, if that makes single bursts clear.

    Where several iterations had to be followed together each one may begin elsewhere; what they have in common is
    blurred, but tells where to look for it, and is sharper for it: expectation and maximisation in turns.
    """
    moved_s, sharper, sharper_shape = starts_s, fold, shape
    for _ in range(N_ROUNDS):
        moved_s = realign(traffic, sharper_shape, starts_s=moved_s, period_s=fold.period_s)
        sharper = fold_cycles(traffic, cycle_bounds(moved_s, period_s=fold.period_s), period_s=fold.period_s)
        found = find_bursts(sharper)
        if found is None:
            return starts_s, fold, shape
        sharper_shape = found
    return (moved_s, sharper, sharper_shape) if sharper_shape.is_clear else (starts_s, fold, shape)


def _ups(
    traffic: Traffic, starts_s: NDArray[np.float64], *, fold: Fold, shape: Shape, slack_s: float
) -> tuple[list[Phase], NDArray[np.float64], Fold, Shape]:
    """Return the Up phases, when each iteration's first one began, and the fold and its shape that they are of."""
    period_s = fold.period_s
    if not shape.is_clear:
        return folded_ups(shape, period_s=period_s), starts_s + shape.bursts[0].start_s, fold, shape
    bounds_s = cycle_bounds(starts_s, period_s=period_s)
    edges = _measured(traffic, bounds_s, shape=shape, slack_s=slack_s)
    blur_windows = DENTED_BLUR_WINDOWS if _is_dented(fold, shape) else MAX_BLUR_WINDOWS
    if max(_spread(edges.late_s[edges.present[:, 0], 0]), _spread(_late(edges))) > blur_windows * traffic.dt_s:
        every = measure_edges(traffic, bounds_s, shape=shape, slack_s=slack_s)
        fold, shape, bounds_s = _sharpest(traffic, every, bounds_s, fold=fold, shape=shape)
        edges = _measured(traffic, bounds_s, shape=shape, slack_s=slack_s)
    if not edges.present.all(axis=1).any():
        return folded_ups(shape, period_s=period_s), starts_s + shape.bursts[0].start_s, fold, shape
    shape = without_false_levels(traffic, edges, shape=shape)
    ups = measured_ups(traffic, edges, shape=shape, period_s=period_s)
    return ups, edges.start_s[edges.present[:, 0], 0], fold, shape


def _measured(traffic: Traffic, bounds_s: NDArray[np.float64], *, shape: Shape, slack_s: float) -> Edges:
    """Measure bursts in iterations spread over all."""
    step = -(-len(bounds_s) // MAX_MEASURED)
    return measure_edges(traffic, bounds_s[::-step][::-1], shape=shape, slack_s=slack_s)


def _is_dented(fold: Fold, shape: Shape) -> bool:
    """Return whether a burst falls below half of its rate somewhere within: there may be gaps that are not seen yet."""
    middles_s = (np.arange(-fold.n_bins, 2 * fold.n_bins) + 0.5) * fold.bin_s
    rate_bps = np.tile(fold.rate_bps, 3)
    margin_s = 2 * max(fold.dt_s, fold.bin_s)
    return any(
        bool((rate_bps[within] < 0.5 * (burst.rate_bps + shape.down_bps)).any())
        for burst in shape.bursts
        for within in [(middles_s > burst.start_s + margin_s) & (middles_s < burst.end_s - margin_s)]
    )


def _sharpest(
    traffic: Traffic, edges: Edges, bounds_s: NDArray[np.float64], *, fold: Fold, shape: Shape
) -> tuple[Fold, Shape, NDArray[np.float64]]:
    """Return the sharpest of the folds by starts as they are, by first bursts, and by where most bursts are."""
    rows = edges.present[:, 0]
    if not rows.any():
        return fold, shape, bounds_s
    best = fold, shape, bounds_s
    # A burst that congestion stretches folds sharper by its middle or its end, but to levels that it does not have.
    least = _contrast(fold) if len(shape.bursts) > 1 else 0.0
    by_most = [bounds_s[rows, 0] + _late(edges)] if len(shape.bursts) > 1 else []
    for begins_s in (edges.start_s[rows, 0], *by_most):
        aligned_s = cycle_bounds(np.unique(begins_s), period_s=fold.period_s)
        again = fold_cycles(traffic, aligned_s, period_s=fold.period_s)
        shape_again = find_bursts(again)
        if shape_again is not None and shape_again.is_clear and _contrast(again) > least:
            best = again, shape_again, aligned_s
            least = _contrast(again)
    return best


def _late(edges: Edges) -> NDArray[np.float64]:
    """Return by how much most bursts are late in iterations that have the first one, shape (n_rows,)."""
    late_s = np.where(edges.present, edges.late_s, edges.late_s[:, :1])[edges.present[:, 0]]
    return np.asarray(np.median(late_s, axis=1))


def _spread(late_s: NDArray[np.float64]) -> float:
    return robust_spread(late_s) if late_s.size > 1 else 0.0


def _contrast(fold: Fold) -> float:
    """Return the variance of a folded rate: blur takes from it."""
    return float(fold.rate_bps.var())


def _told(traffic: Traffic, starts_s: NDArray[np.float64], phases: tuple[Phase, ...], *, period_s: float) -> float:
    """Return the bits of phases over those that the median iteration moves; 1 where there is none to compare with."""
    if starts_s.size < 2:
        return 1.0
    n_periods = np.maximum(1.0, np.rint(np.diff(starts_s) / period_s))
    moved = median(np.diff(traffic.bits_at(starts_s)) / n_periods)
    return sum(phase.width_s * phase.rate_bps for phase in phases) / moved if moved > 0 else 1.0


def _clock(firsts_s: NDArray[np.float64], *, period_s: float, dt_s: float) -> Clock | None:
    """Return the clock that first bursts keep, if it is about that of the period."""
    clock = fit_clock(firsts_s, period_s=period_s, dt_s=dt_s)
    return clock if clock is not None and abs(clock.period_s / period_s - 1) < SAME_PERIOD_FRAC else None
