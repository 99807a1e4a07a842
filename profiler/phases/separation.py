"""Several jobs on one counter: what each of them moves by itself.

Each job's demand is the mean over its own iterations of what the others leave; found in turns (backfitting [1]_).

References
----------
.. [1] L. Breiman, J. H. Friedman, "Estimating optimal transformations for multiple regression and correlation",
   J. Am. Stat. Assoc. 80 (1985).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from profiler.signals import RateSeries

__all__ = ["Beat", "separate", "with_rate"]

MAX_BINS: Final = 256
"""As fine as folds are kept."""
N_TURNS: Final = 200
"""Jobs whose phases against one another hardly move need many turns, and are not told apart by more."""
ENOUGH: Final = 1e-4
"""Demands that change by less than this fraction of the traffic from one turn to the next are found."""
IDLE_QUANTILE: Final = 0.1
"""The tenth of an iteration that moves least is Down: what moves in it belongs to no job."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beat:
    """When the iterations of one job begin.

    ``starts_s`` in seconds after the series begins, increasing, shape (n_starts,), at least one; ``period_s`` is how
    far apart they typically are. Before the first, after the last and in gaps iterations go on at about that period.
    """

    starts_s: NDArray[np.float64]
    period_s: float


def separate(series: RateSeries, beats: Sequence[Beat]) -> list[RateSeries]:
    """Return the series of each job alone.

    Parameters
    ----------
    series
        Traffic of one counter.
    beats
        The iterations of each job on it.

    Returns
    -------
    list of RateSeries
        In order of ``beats``, on the windows of ``series``: what the demands of the other jobs leave of the traffic,
        not negative. What flows all the time is left to the first job alone.

    Notes
    -----
    With phase bins b_j(t) the model is ``x(t) = sum_j f_j[b_j(t)]``; in turns, f_j is the mean of ``x - sum_i f_i``,
    i not j, over the windows in each of its bins: Gauss-Seidel on the normal equations of least squares. Jobs are told
    apart only as far as their phases against one another differ in the course of the recording. Cost O(n) a turn.
    """
    rate_bps = series.rate_bps
    places = [_places(series, beat) for beat in beats]
    demands = _demands(rate_bps, places, weight=np.diff(series.edges_ns) * series.known)
    shares = [demand[place] for demand, place in zip(demands, places, strict=True)]
    total = np.sum(shares, axis=0)
    return [with_rate(series, np.maximum(rate_bps - (total - share), 0.0)) for share in shares]


def _places(series: RateSeries, beat: Beat) -> NDArray[np.int64]:
    """Return the bin of an iteration in which the middle of each window lies, shape (n_samples,).

    Bins are of equal time, not of equal parts: an iteration that takes longer waits longer, its bursts stay alike.
    """
    edges_s = (series.edges_ns - series.edges_ns[0]) / NS_PER_S
    middles_s = 0.5 * (edges_s[1:] + edges_s[:-1])
    starts_s = _continued(beat, last_s=float(edges_s[-1]))
    since_s = middles_s - starts_s[np.searchsorted(starts_s, middles_s, side="right") - 1]
    n_bins = int(np.clip(beat.period_s / series.dt_s, 2, MAX_BINS))
    places: NDArray[np.int64] = np.minimum((since_s / beat.period_s * n_bins).astype(np.int64), n_bins - 1)
    return places


def _continued(beat: Beat, *, last_s: float) -> NDArray[np.float64]:
    """Return the starts of iterations from before the series to after it, those that are missing in between too."""
    starts_s, period_s = beat.starts_s, beat.period_s
    n_before = int(np.ceil(max(0.0, float(starts_s[0])) / period_s))
    n_after = int(np.ceil(max(0.0, last_s - float(starts_s[-1])) / period_s))
    n_in_gaps = np.maximum(1, np.rint(np.diff(starts_s) / period_s)).astype(np.int64)
    index = np.concatenate(([0], np.cumsum(n_in_gaps)))
    return np.concatenate(
        (
            starts_s[0] - period_s * np.arange(n_before, 0, -1),
            np.interp(np.arange(index[-1] + 1), index, starts_s),
            starts_s[-1] + period_s * np.arange(1, n_after + 1),
        )
    )


def _demands(
    rate_bps: NDArray[np.float64], places: list[NDArray[np.int64]], *, weight: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return the demand of each job in each of its bins; that of all but the first is 0 where they move least."""
    n_bins = [int(place.max()) + 1 for place in places]
    time = [
        np.maximum(np.bincount(p, weights=weight, minlength=n), 1e-300) for p, n in zip(places, n_bins, strict=True)
    ]
    demands = [np.zeros(n) for n in n_bins]
    total_bps = np.zeros(rate_bps.size)
    scale_bps = float(np.abs(rate_bps).mean())
    for _ in range(N_TURNS):
        change_bps = 0.0
        for j, place in enumerate(places):
            left_bps = rate_bps - total_bps + demands[j][place]
            demand = np.bincount(place, weights=left_bps * weight, minlength=n_bins[j]) / time[j]
            if j:
                demand = np.maximum(demand - _idle(demand), 0.0)
            total_bps += (demand - demands[j])[place]
            change_bps = max(change_bps, float(np.abs(demand - demands[j]).mean()))
            demands[j] = demand
        if change_bps <= ENOUGH * scale_bps:
            break
    return demands


def _idle(demand_bps: NDArray[np.float64]) -> float:
    n_idle = max(1, int(IDLE_QUANTILE * demand_bps.size))
    return float(np.median(np.sort(demand_bps)[: 2 * n_idle]))


def with_rate(series: RateSeries, rate_bps: NDArray[np.float64]) -> RateSeries:
    """Return a series with another rate on the same windows."""
    return replace(series, delta_bytes=rate_bps * np.diff(series.edges_ns) / NS_PER_S / BITS_PER_BYTE)
