"""The typical length of an iteration, and how surely it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.medians import median, robust_spread
from profiler.period.timekeeping import fit_clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Z95", "Length", "typical_length"]

COARSE_FRAC: Final = 0.02
"""Where a window is a longer part of an iteration, lengths are whole windows, and their median jumps between them,
unless they vary by more."""
MAX_MEAN_WINDOWS: Final = 1.0
"""If lengths vary by more than so many windows, rounding to one is the least of it."""
NEAR_FRAC: Final = 0.3
Z95: Final = 1.96


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
    clock = fit_clock(starts_s, period_s=median(lengths_s), dt_s=dt_s)
    if clock is not None:
        return _symmetric(clock.period_s, clock.error_s)
    if dt_s > COARSE_FRAC * median(lengths_s) and robust_spread(lengths_s) < MAX_MEAN_WINDOWS * dt_s:
        near_s = lengths_s[np.abs(lengths_s / median(lengths_s) - 1) < NEAR_FRAC]
        return _symmetric(float(near_s.mean()), float(near_s.std() / np.sqrt(near_s.size)))
    return _median(np.sort(lengths_s), dt_s=dt_s)


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
    return middle_s + dt_s * float((0.5 * lengths_s.size - below) / within - 0.5) if within else middle_s


def _symmetric(period_s: float, error_s: float) -> Length:
    return Length(period_s=period_s, low_s=period_s - Z95 * error_s, high_s=period_s + Z95 * error_s, error_s=error_s)
