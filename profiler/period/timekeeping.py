"""Whether iterations keep time like a clock, or each one begins where the one before it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.medians import median, robust_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_LAG1", "USUAL_SPREADS", "Clock", "fit_clock", "lag1"]

MIN_CLOCKED: Final = 8
"""Fewer starts tell a clock from chance no better than chance."""
N_ROUNDS: Final = 4
MIN_NEAR_FRAC: Final = 0.5
NEAR_SPREADS: Final = 3.0
"""Starts further off than this many spreads are no clock's: a stall, or a late one."""
ROUNDING_WINDOWS: Final = 0.5
"""Starts that stray from a clock by less than this part of a window do so for the window's sake."""
MAX_STRAY: Final = 0.9
"""Starts stray from a clock by 0.7 times as much as lengths vary; if errors add up, by more the longer they do."""
USUAL_SPREADS: Final = 4.0
"""Lengths further from the others than this many spreads are stalls."""
MAX_LAG1: Final = -0.25
"""Correlation of one iteration's length with the next one's: -1/2 for a clock read with errors, 0 if errors add up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Iterations begin at ``first_s`` and whole ``period_s`` later, a period known with standard error ``error_s``."""

    first_s: float
    period_s: float
    error_s: float

    def nearest(self, t_s: float) -> float:
        """Return when the iteration nearest to a time begins."""
        return self.first_s + self.period_s * round((t_s - self.first_s) / self.period_s)


def fit_clock(starts_s: NDArray[np.float64], *, period_s: float, dt_s: float) -> Clock | None:
    """Return the clock that starts keep, or None if they keep none.

    Parameters
    ----------
    starts_s
        Starts of iterations, increasing, shape (n_starts,).
    period_s
        Roughly how far apart they are; some may be missing.
    dt_s
        Window of the series that they were read from.

    Notes
    -----
    The clock is fitted by least squares, without the starts that lie far off, beginning with the median pace over half
    of the recording. Its iterations keep time if starts stray from it no more
    than lengths vary, and a long one is followed by a short one.
    """
    if starts_s.size < MIN_CLOCKED:
        return None
    index = np.concatenate(([0.0], np.cumsum(np.rint(np.diff(starts_s) / period_s))))
    half = starts_s.size // 2
    fitted_s = median((starts_s[half:] - starts_s[:-half]) / np.maximum(1.0, index[half:] - index[:-half]))
    away_s = starts_s - fitted_s * index
    for _ in range(N_ROUNDS):
        away_s = away_s - median(away_s)
        near = np.abs(away_s) <= NEAR_SPREADS * robust_spread(away_s) + dt_s
        if np.count_nonzero(near) < max(MIN_CLOCKED, MIN_NEAR_FRAC * near.size):
            return None
        fitted_s, first_s = _line(index[near], starts_s[near])
        away_s = starts_s - (fitted_s * index + first_s)
    if not _keeps_time(away_s[near], dt_s=dt_s):
        return None
    error_s = _clock_error(away_s[near], index[near], dt_s=dt_s)
    return Clock(first_s=float(first_s), period_s=float(fitted_s), error_s=error_s)


def _line(index: NDArray[np.float64], starts_s: NDArray[np.float64]) -> tuple[float, float]:
    """Return slope and intercept of the least-squares line; a slope of 0 where all indices are one."""
    centred = index - index.mean()
    power = float(np.dot(centred, centred))
    slope_s = float(np.dot(centred, starts_s)) / power if power > 0 else 0.0
    return slope_s, float(starts_s.mean()) - slope_s * float(index.mean())


def _keeps_time(away_s: NDArray[np.float64], *, dt_s: float) -> bool:
    """Return whether starts keep a clock, from how far each lies from the one fitted to them, shape (n_starts,).

    A clock read with independent errors of variance v gives lengths of variance 2v, neighbours correlated by -1/2; a
    job whose every iteration waits for the one before gives lengths that are not correlated, and starts that wander off
    any clock.
    """
    if robust_spread(away_s) <= ROUNDING_WINDOWS * dt_s:
        return True
    lengths_s = np.diff(away_s)
    usual_s = lengths_s[np.abs(lengths_s - median(lengths_s)) <= USUAL_SPREADS * robust_spread(lengths_s)]
    return robust_spread(away_s) <= MAX_STRAY * robust_spread(lengths_s) and lag1(usual_s) <= MAX_LAG1


def lag1(values: NDArray[np.float64]) -> float:
    """Return the correlation of each value with the next, 0 where they do not vary."""
    centred = values - values.mean()
    power = float(np.sum(centred**2))
    return float(np.sum(centred[1:] * centred[:-1])) / power if power > 0 else 0.0


def _clock_error(away_s: NDArray[np.float64], index: NDArray[np.float64], *, dt_s: float) -> float:
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
    Errors of reading, of variance r, give ``r / sum (k - mean k)**2``. A wander of variance q an iteration may hide
    below them as long as it moves a start, over half of the n iterations, hardly more than two readings differ:
    ``q n / 2 = 4 r``. It gives ``6/5 q / n``, which then is ``9.6 r / n**2``.
    """
    read_variance = max(robust_spread(away_s) ** 2, dt_s**2 / 12)
    by_reading = read_variance / max(1.0, float(np.sum((index - index.mean()) ** 2)))
    return float(np.sqrt(by_reading + 9.6 * read_variance / index.size**2))
