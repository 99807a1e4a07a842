"""Distributions that are no more spread than the true ones: by convexity an excess computed from them is a bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.levels import Levels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["gathered_levels", "gathered_sum", "gathered_without_each", "least_spread"]

MAX_LEVELS: Final = 1024
"""Beyond this many levels neighbours are gathered at their mean."""

MANY: Final = 4
"""Of so many times more levels those that are the same are not looked for first."""


def gathered_levels(parts: Iterable[Levels]) -> Levels:
    """Return the distribution of a sum of independent rates, neighbours gathered at their mean where there are many.

    The twin of `pipeline.compat.levels.independent_levels`, which spreads where this gathers.
    """
    return reduce(gathered_sum, parts, Levels.certain(0.0))


def gathered_without_each(parts: Sequence[Levels]) -> list[Levels]:
    """Return, for each of some independent rates, the distribution of the sum of all others."""
    nothing = Levels.certain(0.0)
    before = list(accumulate(parts[:-1], gathered_sum, initial=nothing))
    after = list(accumulate(reversed(parts[1:]), gathered_sum, initial=nothing))[::-1]
    return [gathered_sum(one, other) for one, other in zip(before, after, strict=True)]


def least_spread(parts: Sequence[Levels]) -> Levels:
    """Return a distribution that the sum of some rates is more spread than, however they meet.

    Of two the highest of one meets the lowest of the other; of more, their mean.
    """
    if len(parts) == 1:
        return parts[0]
    if len(parts) > 2:
        return Levels.certain(sum(part.mean_bps for part in parts))
    a, b = parts
    cuts = np.unique(np.concatenate([[0.0], np.cumsum(a.weight), np.cumsum(b.weight[::-1])]).clip(0.0, 1.0))
    middle = (cuts[:-1] + cuts[1:]) / 2
    a_bps = a.rate_bps[np.searchsorted(np.cumsum(a.weight)[:-1], middle)]
    b_bps = b.rate_bps[::-1][np.searchsorted(np.cumsum(b.weight[::-1])[:-1], middle)]
    return _gathered(a_bps + b_bps, np.diff(cuts))


def gathered_sum(one: Levels, other: Levels) -> Levels:
    """Return the distribution of the sum of two independent rates, gathered."""
    rate_bps = (one.rate_bps[:, None] + other.rate_bps[None, :]).ravel()
    weight = (one.weight[:, None] * other.weight[None, :]).ravel()
    return _gathered(rate_bps, weight)


def _gathered(rate_bps: NDArray[np.float64], weight: NDArray[np.float64]) -> Levels:
    if rate_bps.size <= MANY * MAX_LEVELS:
        rates, place = np.unique(rate_bps, return_inverse=True)
        if rates.size <= MAX_LEVELS:
            return Levels(rate_bps=rates, weight=np.bincount(place, weights=weight).astype(np.float64))
    low_bps, high_bps = float(rate_bps.min()), float(rate_bps.max())
    position = (rate_bps - low_bps) * (MAX_LEVELS / (high_bps - low_bps))
    place = np.minimum(position, MAX_LEVELS - 1).astype(np.int64)
    share = np.bincount(place, weights=weight).astype(np.float64)
    total_bps = np.bincount(place, weights=weight * rate_bps).astype(np.float64)
    taken = share > 0
    return Levels(rate_bps=total_bps[taken] / share[taken], weight=share[taken])
