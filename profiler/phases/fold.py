"""Iterations laid over one another: the demand of a typical one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from profiler.phases.traffic import Traffic

__all__ = ["MAX_FOLD_BINS", "Fold", "cycle_bounds", "fold_cycles"]

MAX_FOLD_BINS: Final = 256
"""Finer demands are texture, and make profiles large."""
MIN_FOLD_BINS: Final = 48
"""Edges are found to a fiftieth of the period even where windows are longer."""
BINS_PER_SAMPLE: Final = 2
"""Iterations begin anywhere within a window, so that together they show more than one of them does."""
TRIM_FRAC: Final = 0.1
"""Of every fold bin, this part of the iterations is left out at either end: stalls and checkpoints are not typical."""
NEAR_FRAC: Final = 0.6
"""Iterations that differ more from the period are stalled, or two in one."""
KNOWN_FRAC: Final = 0.5
"""A bin of an iteration of which less is known, or less comes before the next iteration, counts for nothing."""
MAX_CYCLES: Final = 2000
"""More iterations than these make the fold no better; those looked at are spread over all."""
IQR_OF_NORMAL: Final = 1.349
"""Distance between the quartiles of a normal distribution, in standard deviations."""
MIN_SPREAD_CYCLES: Final = 3
"""Quartiles of fewer iterations are their extremes."""
STEADY_FRAC: Final = 0.5
"""The bins in which iterations differ most lie at the edges of bursts: what moves there is the edge, not the rate."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """A typical iteration of ``period_s``.

    ``rate_bps`` is its rate and ``spread_bps`` the standard deviation of single iterations from it, over one window of
    ``dt_s``; float64, shape (n_bins,). ``error_bps`` is the standard error that noise leaves to a bin's rate.
    """

    period_s: float
    dt_s: float
    rate_bps: NDArray[np.float64]
    spread_bps: NDArray[np.float64]
    error_bps: float

    @property
    def n_bins(self) -> int:
        """Number of bins in a period."""
        return self.rate_bps.size

    @property
    def bin_s(self) -> float:
        """Width of a bin in seconds."""
        return self.period_s / self.n_bins


def cycle_bounds(starts_s: NDArray[np.float64], *, period_s: float) -> NDArray[np.float64]:
    """Return [start, next start) of every iteration that is followed by another, shape (n_cycles, 2), in seconds.

    Where none is, each is taken to last a period.
    """
    near = np.abs(np.diff(starts_s) / period_s - 1) < NEAR_FRAC
    if not near.any():
        return np.stack([starts_s, starts_s + period_s], axis=1)
    return np.stack([starts_s[:-1], starts_s[1:]], axis=1)[near]


def fold_cycles(traffic: Traffic, bounds_s: NDArray[np.float64], *, period_s: float) -> Fold:
    """Return the trimmed mean of iterations over one period.

    Parameters
    ----------
    traffic
        The series' own traffic.
    bounds_s
        Start of each iteration and of the next, shape (n_cycles, 2), at least one, in seconds after the traffic begins.
    period_s
        How long a typical iteration is. What comes after the next start is the next iteration's.

    Notes
    -----
    Bins are cut from the cumulative traffic, so that an iteration may start within a window of the series. Spreads
    are those of the quartiles over iterations; the error is theirs averaged over all but the bins in which they are
    largest: at the edges of bursts they are jitter, not noise. Cost O(n_cycles n_bins log n_cycles).
    """
    bounds_s = bounds_s[:: 1 + len(bounds_s) // MAX_CYCLES]
    n_bins = int(np.clip(BINS_PER_SAMPLE * period_s / traffic.dt_s, MIN_FOLD_BINS, MAX_FOLD_BINS))
    bin_s = period_s / n_bins
    edges_s = np.minimum(np.linspace(0.0, period_s, n_bins + 1)[:, None] + bounds_s[:, 0], bounds_s[:, 1])
    known_s = np.diff(traffic.known_at(edges_s), axis=0)
    counted = known_s > KNOWN_FRAC * bin_s
    rates_bps = np.diff(traffic.bits_at(edges_s), axis=0) / np.maximum(known_s, KNOWN_FRAC * bin_s)
    rates_bps[~counted] = np.inf
    rates_bps.sort(axis=1)
    n_counted = np.count_nonzero(counted, axis=1)
    spread_bps = _spread(rates_bps, n_counted)
    return Fold(
        period_s=period_s,
        dt_s=traffic.dt_s,
        rate_bps=_trimmed_mean(rates_bps, n_counted),
        spread_bps=spread_bps * np.sqrt(max(1.0, bin_s / traffic.dt_s)),
        error_bps=_steady(spread_bps) / float(np.sqrt(max(1.0, np.median(n_counted)))),
    )


def _trimmed_mean(ordered_bps: NDArray[np.float64], n_counted: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each row without its extremes; rows are sorted, their first ``n_counted`` values count."""
    n_trimmed = (TRIM_FRAC * n_counted).astype(np.int64)
    place = np.arange(ordered_bps.shape[1])
    kept = (place >= n_trimmed[:, None]) & (place < (n_counted - n_trimmed)[:, None])
    mean: NDArray[np.float64] = np.where(kept, ordered_bps, 0.0).sum(axis=1) / np.maximum(1, n_counted - 2 * n_trimmed)
    return mean


def _spread(ordered_bps: NDArray[np.float64], n_counted: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the standard deviation of each row by its quartiles; 0 where too little is known."""
    spread_bps = np.zeros(n_counted.size)
    rows = np.flatnonzero(n_counted >= MIN_SPREAD_CYCLES)
    last = n_counted[rows] - 1
    low, high = (ordered_bps[rows, np.rint(q * last).astype(np.int64)] for q in (0.25, 0.75))
    spread_bps[rows] = (high - low) / IQR_OF_NORMAL
    return spread_bps


def _steady(spread_bps: NDArray[np.float64]) -> float:
    steady = np.sort(spread_bps)[: max(1, int(STEADY_FRAC * spread_bps.size))]
    return float(np.sqrt(np.mean(steady**2)))
