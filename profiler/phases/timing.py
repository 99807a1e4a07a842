"""Whether iterations keep time like a clock, or each one begins where the one before it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.length import robust_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Clock", "fit_clock"]

MIN_CLOCKED: Final = 8
NEAR_SPREADS: Final = 3.0
ROUNDING_WINDOWS: Final = 0.5
"""Starts that stray from a clock by less than this part of a window do so for the window's sake."""
MAX_STRAY: Final = 0.9
"""Starts stray from a clock by 0.7 times as much as lengths vary; if errors add up, by more the longer they do."""
MAX_LAG1: Final = -0.25
"""Correlation of one iteration's length with the next one's: -1/2 for a clock read with errors, 0 if errors add up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Iterations begin at ``first_s`` and whole ``period_s`` later."""

    first_s: float
    period_s: float


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
    A clock read with independent errors of variance v gives lengths of variance 2v, neighbours correlated by -1/2; a
    job whose every iteration waits for the one before gives lengths that are not correlated, and starts that wander off
    any clock. The clock is fitted by least squares, without the starts that lie far off.
    """
    if starts_s.size < MIN_CLOCKED:
        return None
    index = np.concatenate(([0.0], np.cumsum(np.rint(np.diff(starts_s) / period_s))))
    near = np.ones(starts_s.size, dtype=bool)
    for _ in range(2):
        fitted_s, first_s = np.polyfit(index[near], starts_s[near], 1)
        away_s = starts_s - (fitted_s * index + first_s)
        spread_s = robust_spread(away_s)
        near = np.abs(away_s) <= NEAR_SPREADS * spread_s + dt_s
        if np.count_nonzero(near) < MIN_CLOCKED:
            return None
    lengths_s = np.diff(away_s[near])
    are_errors = away_s[near].std() <= MAX_STRAY * lengths_s.std() and _lag1(lengths_s) <= MAX_LAG1
    keeps_time = spread_s <= ROUNDING_WINDOWS * dt_s or are_errors
    return Clock(first_s=float(first_s), period_s=float(fitted_s)) if keeps_time else None


def _lag1(values: NDArray[np.float64]) -> float:
    centred = values - values.mean()
    power = float(np.sum(centred**2))
    return float(np.sum(centred[1:] * centred[:-1])) / power if power > 0 else 0.0
