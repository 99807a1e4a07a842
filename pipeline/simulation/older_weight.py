"""`fit_weight`: the weight of the older of two flows with which the model sends as long as was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NEUTRAL", "WEIGHTS", "WeightFit", "fit_weight"]

WEIGHTS: Final = tuple(math.exp(k / 100) for k in range(-70, 71))
"""From half to twice, a per cent apart: a queue that favours a flow by more than twice would starve the other."""

NEUTRAL: Final = len(WEIGHTS) // 2

MIN_MEETINGS: Final = 30
"""Iterations that met another one, from which a weight can be told."""

BLOCK: Final = 10
N_RESAMPLES: Final = 200
"""Iterations are drawn anew in blocks: those next to each other are alike."""

INTERVAL: Final = (5, 95)
"""Percentiles of the weights that fit the resampled runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFit:
    """A weight, 1 where the run does not tell it from 1; those between ``low`` and ``high`` fit as well.

    ``error_s`` is how far the model's sending times are off in the mean, ``neutral_error_s`` at a weight of 1; both
    None if too few of the ``n_meetings`` iterations met another job.
    """

    weight: float
    low: float
    high: float
    error_s: float | None
    neutral_error_s: float | None
    n_meetings: int
    warning: str = ""


def fit_weight(errors_s: Sequence[NDArray[np.float64]], *, rng: np.random.Generator) -> WeightFit:
    """Return the weight that fits best, and those that fit as well.

    Parameters
    ----------
    errors_s
        For each job how much longer the model sends than was measured, in the iterations that met another job, for
        each of `WEIGHTS`: shape (n_weights, n_meetings).
    rng
        Source of the resamples.

    Notes
    -----
    Least absolute deviations, each job's errors less their median: what a volume is off does not pass for a weight.
    The interval is that of resampled runs, drawn in blocks as iterations next to each other are alike [1]_.

    References
    ----------
    .. [1] H. R. Künsch, "The jackknife and the bootstrap for general stationary observations", Annals of Statistics
       17(3), 1989.
    """
    off_s = [np.abs(one - np.median(one, axis=1, keepdims=True)) for one in errors_s if one.shape[1]]
    n_meetings = sum(one.shape[1] for one in off_s)
    if n_meetings < MIN_MEETINGS:
        return _untold(n_meetings)
    mean_s = np.sum([one.sum(axis=1) for one in off_s], axis=0) / n_meetings
    best = _nearest_to_neutral(mean_s)
    resampled = [_nearest_to_neutral(_resampled(off_s, rng)) for _ in range(N_RESAMPLES)]
    low, high = (int(i) for i in np.percentile(resampled, INTERVAL))
    is_told = not low <= NEUTRAL <= high and 0 < best < len(WEIGHTS) - 1
    return WeightFit(
        weight=WEIGHTS[best] if is_told else WEIGHTS[NEUTRAL],
        low=WEIGHTS[low],
        high=WEIGHTS[high],
        error_s=float(mean_s[best if is_told else NEUTRAL]),
        neutral_error_s=float(mean_s[NEUTRAL]),
        n_meetings=n_meetings,
    )


def _untold(n_meetings: int) -> WeightFit:
    return WeightFit(
        weight=WEIGHTS[NEUTRAL],
        low=WEIGHTS[0],
        high=WEIGHTS[-1],
        error_s=None,
        neutral_error_s=None,
        n_meetings=n_meetings,
        warning=(
            f"the weight of older flows cannot be told from a log in which jobs met {n_meetings} times (needed: "
            f"{MIN_MEETINGS}): taken as 1"
        ),
    )


def _nearest_to_neutral(error_s: NDArray[np.float64]) -> int:
    """Return the place of the least error; of several that rounding tells apart, the one nearest to a weight of 1."""
    least = np.flatnonzero(error_s <= error_s.min() + 1e-9 * error_s.max())
    return int(least[np.argmin(np.abs(least - NEUTRAL))])


def _resampled(off_s: Sequence[NDArray[np.float64]], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the sum of errors at each weight over blocks of iterations, drawn with replacement."""
    total_s = np.zeros(len(WEIGHTS))
    for one in off_s:
        begins = rng.integers(0, max(1, one.shape[1] - BLOCK + 1), size=-(-one.shape[1] // BLOCK))
        places = np.minimum(begins[:, None] + np.arange(BLOCK), one.shape[1] - 1).ravel()
        total_s += one[:, places].sum(axis=1)
    return total_s
