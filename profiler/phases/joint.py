"""Where iterations begin that noise hides: all of them together tell what none tells alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["likeliest"]

N_JOINT: Final = 31
JOINT_FRAC: Final = 0.12
"""In noise an iteration is looked for at so many places within this fraction of a period, together with all others."""
JITTERS_FRAC: Final = (0.002, 0.006, 0.02, 0.06)
"""Jitter that iterations may have, over the period."""


def likeliest(fit: NDArray[np.float64], places: NDArray[np.float64], *, length: float) -> NDArray[np.float64]:
    """Return the places near given ones that are likeliest all together, at the jitter that makes them likeliest.

    Parameters
    ----------
    fit
        Log-likelihood of an iteration that begins at each place, shape (n_places,).
    places
        Roughly where iterations begin, shape (n_cycles,).
    length
        How far apart they typically are, in places.
    """
    tried = [_jointly(fit, places, length=length, jitter=frac * length) for frac in JITTERS_FRAC]
    return max(tried, key=lambda found: found[1])[0]


def _jointly(
    fit: NDArray[np.float64], places: NDArray[np.float64], *, length: float, jitter: float
) -> tuple[NDArray[np.float64], float]:
    """Return the places near given ones that are likeliest all together, and their log-likelihood.

    ``fit`` is the log-likelihood of an iteration at each place; lengths are normal with standard deviation ``jitter``.
    Dynamic programming over iterations (Viterbi): for each place of one, the best place of the one before. Cost
    O(n_cycles n_places**2).
    """
    away = np.unique(np.rint(np.linspace(-JOINT_FRAC * length, JOINT_FRAC * length, N_JOINT)))
    at = np.clip(places[:, None] + away, 0, fit.size - 1).astype(np.int64)
    best = fit[at[0]]
    before = np.zeros((places.size, away.size), dtype=np.int64)
    for k in range(1, places.size):
        total = best[:, None] - ((at[k] - at[k - 1][:, None] - length) / jitter) ** 2 / 2
        before[k] = np.argmax(total, axis=0)
        best = total[before[k], np.arange(away.size)] + fit[at[k]]
    chosen = [int(np.argmax(best))]
    for k in range(places.size - 1, 0, -1):
        chosen.append(int(before[k, chosen[-1]]))
    found = at[np.arange(places.size), chosen[::-1]].astype(np.float64)
    return found, float(best.max()) - places.size * math.log(jitter)
