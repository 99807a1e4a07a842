"""When iterations begin, without the error of reading it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg import solveh_banded

from profiler.period.medians import median, robust_spread
from profiler.period.timekeeping import MAX_LAG1, USUAL_SPREADS, lag1

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["steadied"]

MIN_CLOCKED: Final = 8
"""Fewer starts tell a clock from chance no better than chance."""
LEAST_OWN: Final = 1e-4
"""The part of lengths' variance that is the job's own is taken to be no less than this."""


def steadied(starts_s: NDArray[np.float64], *, period_s: float) -> NDArray[np.float64]:
    """Return starts without the error of reading them, as far as their lengths tell it from the job's own jitter.

    Parameters
    ----------
    starts_s
        Starts of iterations, increasing, shape (n_starts,).
    period_s
        Roughly how far apart they are; some may be missing.

    Notes
    -----
    A start s_k wanders by its iterations' own variance q a step and is read as z_k with an error of variance r. Lengths
    then have variance ``q + 2 r`` and neighbours covariance ``-r``, which gives both; the likeliest starts solve
    ``(1 + r/q D'D) s = z``, D the difference from one to the next: a tridiagonal system [1]_. Lengths far from the
    others (a stall) hold no start back.

    References
    ----------
    .. [1] E. T. Whittaker, "On a new method of graduation", Proc. Edinburgh Math. Soc. 41 (1923).
    """
    if starts_s.size < MIN_CLOCKED:
        return starts_s
    index = np.concatenate(([0.0], np.cumsum(np.maximum(1.0, np.rint(np.diff(starts_s) / period_s)))))
    line = np.polyfit(index, starts_s, 1)
    away_s = starts_s - np.polyval(line, index)
    steps_s = np.diff(away_s)
    usual = np.abs(steps_s - median(steps_s)) <= USUAL_SPREADS * robust_spread(steps_s)
    if np.count_nonzero(usual) < MIN_CLOCKED or lag1(steps_s[usual]) > MAX_LAG1:
        return starts_s
    variance = float(steps_s[usual].var())
    read = min(0.5, -lag1(steps_s[usual])) * variance
    own = max(variance - 2 * read, LEAST_OWN * variance)
    stiffness = np.where(usual, read / own, 0.0)
    smooth_s = _smoothed(away_s, stiffness) + np.polyval(line, index)
    return np.asarray(np.maximum.accumulate(smooth_s), dtype=np.float64)


def _smoothed(values: NDArray[np.float64], stiffness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the solution x of ``x + D' diag(stiffness) D x = values``."""
    banded = np.zeros((2, values.size))
    banded[1] = 1.0
    banded[1, :-1] += stiffness
    banded[1, 1:] += stiffness
    banded[0, 1:] = -stiffness
    solved: NDArray[np.float64] = solveh_banded(banded, values)
    return solved
