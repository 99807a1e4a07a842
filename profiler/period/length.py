"""The typical length of an iteration, and how surely it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.medians import median

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_LAG1", "Length", "clock_error", "keeps_time", "lag1", "robust_spread", "typical_length"]

COARSE_FRAC: Final = 0.02
"""Where a window is a longer part of an iteration, lengths are whole windows, and their median jumps between them,
unless they vary by more."""
MAX_MEAN_WINDOWS: Final = 1.0
"""If lengths vary by more than so many windows, rounding to one is the least of it."""
NEAR_FRAC: Final = 0.3
MIN_CLOCKED: Final = 8
OUTLIER_SPREADS: Final = 5.0
Z95: Final = 1.96
ROUNDING_WINDOWS: Final = 0.5
"""Starts that stray from a clock by less than this part of a window do so for the window's sake."""
MAX_STRAY: Final = 0.9
"""Starts stray from a clock by 0.7 times as much as lengths vary; if errors add up, by more the longer they do."""
MAX_LAG1: Final = -0.25
"""Correlation of one iteration's length with the next one's: -1/2 for a clock read with errors, 0 if errors add up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """A typical length in seconds, its 95 % interval and standard error."""

    period_s: float
    low_s: float
    high_s: float
    error_s: float


def typical_length(starts_s: NDArray[np.float64], lengths_s: NDArray[np.float64], *, dt_s: float) -> Length:
    """Return the typical length of iterations.

    Parameters
    ----------
    starts_s
        Start of each iteration, shape (n_starts,).
    lengths_s
        Lengths of those that follow one another, shape (n_lengths,), at least one.
    dt_s
        Window of the series that they were read from.

    Notes
    -----
    Where the error of a start does not grow from iteration to iteration (a clocked job, read coarsely), the slope of
    start on index uses every one of them. Where it does (each iteration wanders), their median does, with the interval
    between two of its order statistics, ``n/2 ± 0.98 sqrt(n)``; or their mean where windows are coarse.
    """
    index = np.concatenate(([0.0], np.cumsum(np.round(np.diff(starts_s) / median(lengths_s)))))
    residual_s = starts_s - np.polyval(np.polyfit(index, starts_s, 1), index)
    if starts_s.size >= MIN_CLOCKED and keeps_time(residual_s, dt_s=dt_s):
        near = np.abs(residual_s - median(residual_s)) <= OUTLIER_SPREADS * robust_spread(residual_s) + dt_s
        return _slope(index[near], starts_s[near], dt_s=dt_s)
    if dt_s > COARSE_FRAC * median(lengths_s) and robust_spread(lengths_s) < MAX_MEAN_WINDOWS * dt_s:
        near_s = lengths_s[np.abs(lengths_s / median(lengths_s) - 1) < NEAR_FRAC]
        return _symmetric(float(near_s.mean()), float(near_s.std() / np.sqrt(near_s.size)))
    return _median(np.sort(lengths_s), dt_s=dt_s)


def _slope(index: NDArray[np.float64], starts_s: NDArray[np.float64], *, dt_s: float) -> Length:
    """Return the slope of starts on index by least squares."""
    slope_s, first_s = np.polyfit(index, starts_s, 1)
    return _symmetric(float(slope_s), clock_error(starts_s - (slope_s * index + first_s), index, dt_s=dt_s))


def keeps_time(away_s: NDArray[np.float64], *, dt_s: float) -> bool:
    """Return whether starts keep a clock, from how far each lies from the one fitted to them, shape (n_starts,).

    A clock read with independent errors of variance v gives lengths of variance 2v, neighbours correlated by -1/2; a
    job whose every iteration waits for the one before gives lengths that are not correlated, and starts that wander off
    any clock.
    """
    if robust_spread(away_s) <= ROUNDING_WINDOWS * dt_s:
        return True
    lengths_s = np.diff(away_s)
    return bool(away_s.std() <= MAX_STRAY * lengths_s.std() and lag1(lengths_s) <= MAX_LAG1)


def lag1(values: NDArray[np.float64]) -> float:
    """Return the correlation of each value with the next, 0 where they do not vary."""
    centred = values - values.mean()
    power = float(np.sum(centred**2))
    return float(np.sum(centred[1:] * centred[:-1])) / power if power > 0 else 0.0


def clock_error(away_s: NDArray[np.float64], index: NDArray[np.float64], *, dt_s: float) -> float:
    """Return the standard error in seconds of the period of a clock that was fitted to starts.

    Parameters
    ----------
    away_s
        How far each start lies from the clock, shape (n_starts,).
    index
        Which iteration it is of, shape (n_starts,).
    dt_s
        Window that starts are read from; they are known no better than to its rounding.

    Notes
    -----
    Errors of reading, of variance r, give ``r / sum (k - mean k)**2``. A wander of variance q an iteration, which hides
    below them, gives ``6/5 q / n``: steps from start to start have variance ``q + 2 r`` and neighbours covariance
    ``-r``, so that q is ``variance + 2 covariance``, itself known to about ``2 variance / sqrt(n)``.
    """
    read_variance = max(float(np.var(away_s)), dt_s**2 / 12)
    steps_s = np.diff(away_s)
    steps_s = steps_s - steps_s.mean()
    variance = max(float(np.mean(steps_s**2)), dt_s**2 / 6)
    covariance = float(np.mean(steps_s[1:] * steps_s[:-1]))
    wander = max(0.0, variance + 2 * covariance) + 2 * variance / np.sqrt(steps_s.size)
    by_reading = read_variance / float(np.sum((index - index.mean()) ** 2))
    return float(np.sqrt(by_reading + 1.2 * wander / steps_s.size))


def robust_spread(values: NDArray[np.float64]) -> float:
    """Return the standard deviation as the median absolute deviation tells it for a normal distribution."""
    return 1.4826 * median(np.abs(values - median(values)))


def _median(lengths_s: NDArray[np.float64], *, dt_s: float) -> Length:
    """Return the median of sorted lengths; a window's rounding is the least error that it can have."""
    n = lengths_s.size
    reach = 0.5 * Z95 * np.sqrt(n)
    rounding_s = Z95 * dt_s / np.sqrt(12 * n)
    median_s = _grouped_median(lengths_s, dt_s)
    low_s = min(float(lengths_s[max(0, int(n / 2 - reach))]), median_s - rounding_s)
    high_s = max(float(lengths_s[min(n - 1, int(np.ceil(n / 2 + reach)) - 1)]), median_s + rounding_s)
    return Length(period_s=median_s, low_s=low_s, high_s=high_s, error_s=(high_s - low_s) / (2 * Z95))


def _grouped_median(lengths_s: NDArray[np.float64], dt_s: float) -> float:
    """Return the median of lengths that are known to a window, spread evenly over the middle one's window."""
    middle_s = median(lengths_s)
    below = np.count_nonzero(lengths_s < middle_s - 0.5 * dt_s)
    within = np.count_nonzero(np.abs(lengths_s - middle_s) <= 0.5 * dt_s)
    return middle_s + dt_s * ((0.5 * lengths_s.size - below) / within - 0.5) if within else middle_s


def _symmetric(period_s: float, error_s: float) -> Length:
    return Length(period_s=period_s, low_s=period_s - Z95 * error_s, high_s=period_s + Z95 * error_s, error_s=error_s)
