"""A quick look at the newest traffic, for something that it does four times over.

It is asked only once a followed job has left its beat, and its answer counts as provisional until the full detection
has seen enough of the new iterations.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.peaks import vertex

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NEAR_FRAC", "N_REPEATS", "repeat_bins"]

N_REPEATS: Final = 4
"""Iterations that must be alike: three may be so by chance."""
CHANCE_SIGMAS: Final = 4.0
"""White noise over n bins correlates with a standard deviation of 1 / sqrt(n)."""
MIN_BINS: Final = 6
"""Shorter repetitions are not told from the bins' own pattern."""
EACH_DROP: Final = 0.3
"""Two consecutive iterations may be less alike by this: one of the old beat among four is not like the others."""
NEAR_FRAC: Final = 0.15
"""Lengths this near to each other are one length that jitter blurs."""
PART_GAIN: Final = 0.1
"""Two lengths look clearly more like the old iteration than one does."""
KEEPS_FRAC: Final = 0.85
"""A repetition that two or three of its lengths explain clearly better is a burst within a longer iteration."""


def repeat_bins(
    rate_bps: NDArray[np.float64], *, old_bps: NDArray[np.float64], least_likeness: float, least_variance: float
) -> float | None:
    """Return the shortest length in bins at which the newest four such lengths repeat, or None.

    Parameters
    ----------
    rate_bps
        Rates up to now, shape (n_bins,).
    old_bps
        Rates over one iteration of the old beat, any number of bins.
    least_likeness
        Correlation that iterations must have with the next: what the job's noise and jitter leave of it.
    least_variance
        Traffic that varies less is steady, and repeats at any length.

    Notes
    -----
    For each length L the newest 4 L bins are correlated with themselves L later. The greatest of all lengths within
    `NEAR_FRAC` of it is an answer if neither 2 L nor 3 L is clearly better on the same bins, and if two lengths do not
    look more like an iteration of the old beat: a job that changes its pace mostly keeps its bursts. The distance
    between the first and the last of the four then gives the mean of three lengths. Cost O(n**2) for n bins, a few
    hundred.
    """
    likeness = _likenesses(rate_bps, least_variance=least_variance)
    for i in range(likeness.size):
        lag = MIN_BINS + i
        first, end = round(lag / (1 + NEAR_FRAC)) - MIN_BINS, round(lag * (1 + NEAR_FRAC)) + 1 - MIN_BINS
        if end > likeness.size:
            return None
        by_chance = CHANCE_SIGMAS / np.sqrt((N_REPEATS - 1) * lag)
        if likeness[i] < max(least_likeness, by_chance) or likeness[i] < likeness[max(0, first) : end].max():
            continue
        newest = rate_bps[rate_bps.size - N_REPEATS * lag :]
        is_shortest = likeness[i] >= KEEPS_FRAC * max(_likeness(newest, k * lag) for k in (2, 3))
        if (
            is_shortest
            and not _is_part(newest, lag, old_bps=old_bps)
            and _least_likeness(newest, lag) >= least_likeness - EACH_DROP
        ):
            return _mean_length(rate_bps, lag)
    return None


def _is_part(newest: NDArray[np.float64], lag: int, *, old_bps: NDArray[np.float64]) -> bool:
    """Return whether two lengths are more like the old iteration than one is, at whatever pace."""
    one, two = (_turned_likeness(newest[-2 * lag :].reshape(-1, n).mean(axis=0), old_bps) for n in (lag, 2 * lag))
    return two > one + PART_GAIN


def _turned_likeness(cycle_bps: NDArray[np.float64], old_bps: NDArray[np.float64]) -> float:
    """Return the greatest correlation of an iteration with the old one stretched to its length, at any turn of it."""
    old = np.interp(np.linspace(0, 1, cycle_bps.size), np.linspace(0, 1, old_bps.size), old_bps)
    cycle, old = cycle_bps - cycle_bps.mean(), old - old.mean()
    scale = float(np.sqrt(cycle @ cycle * (old @ old)))
    turned = np.fft.irfft(np.fft.rfft(cycle) * np.conj(np.fft.rfft(old)), cycle.size)
    return float(turned.max()) / scale if scale > 0 else 0.0


def _least_likeness(newest: NDArray[np.float64], lag: int) -> float:
    """Return the correlation of the two consecutive iterations that are least alike."""
    cycles = newest.reshape(N_REPEATS, lag)
    return min(_pair_likeness(before, after) for before, after in pairwise(cycles))


def _mean_length(rate_bps: NDArray[np.float64], lag: int) -> float:
    """Return a third of the distance at which the newest iteration is most like the one three before it."""
    n_apart = N_REPEATS - 1
    newest = rate_bps[rate_bps.size - lag :]
    reach = range(round(n_apart * lag / (1 + NEAR_FRAC)), round(n_apart * lag * (1 + NEAR_FRAC)) + 1)
    apart = [d for d in reach if d + lag <= rate_bps.size]
    likeness = np.array([_pair_likeness(rate_bps[rate_bps.size - lag - d :][:lag], newest) for d in apart])
    best = int(np.argmax(likeness))
    return (apart[0] + vertex(likeness, best)) / n_apart


def _likenesses(rate_bps: NDArray[np.float64], *, least_variance: float) -> NDArray[np.float64]:
    found = []
    for lag in range(MIN_BINS, rate_bps.size // N_REPEATS + 1):
        newest = rate_bps[rate_bps.size - N_REPEATS * lag :]
        found.append(_likeness(newest, lag) if newest.var() >= least_variance else 0.0)
    return np.array(found)


def _likeness(rate_bps: NDArray[np.float64], lag: int) -> float:
    return _pair_likeness(rate_bps[:-lag], rate_bps[lag:])


def _pair_likeness(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return the correlation of two stretches of equal length; 0 if one is steady."""
    before, after = before - before.mean(), after - after.mean()
    scale = float(np.sqrt(before @ before * (after @ after)))
    return float(before @ after) / scale if scale > 0 else 0.0
