"""`Levels`: how much of the time a demand spends at each rate, sums of independent demands, and their mean excess."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.demand import Demand

__all__ = ["Excess", "Levels", "independent_levels", "levels_of", "mixed_levels"]

MAX_LEVELS: Final = 4096
"""Beyond this many levels a distribution is thinned; thinning keeps the mean and can only raise the excess."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """Distribution of a rate over time.

    Parameters
    ----------
    rate_bps
        The rates taken, strictly increasing; float64, shape (n_levels,).
    weight
        Share of the time at each, summing to 1; float64, shape (n_levels,).
    """

    rate_bps: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def certain(cls, rate_bps: float) -> Self:
        """Return the distribution of a rate that never changes."""
        return cls(rate_bps=np.array([rate_bps], dtype=np.float64), weight=np.ones(1))

    @property
    def mean_bps(self) -> float:
        """Mean rate."""
        return float(self.rate_bps @ self.weight)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Excess:
    """Expected demand over capacity, as a function of the rate of the jobs at hand.

    ``excess(x) = E[max(0, x + Y - C)]`` with Y the rate of everything else on the link; without anything else,
    ``max(0, x - C)``. Convex and piecewise linear in x.
    """

    capacity_bps: float
    others: Levels

    @classmethod
    def over(cls, capacity_bps: float) -> Self:
        """Return the plain excess over a capacity."""
        return cls(capacity_bps=capacity_bps, others=Levels.certain(0.0))

    def __call__(self, rate_bps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected excess at each rate; any shape."""
        if self.others.rate_bps.size == 1:
            room_bps = self.capacity_bps - self.others.rate_bps[0]
            over: NDArray[np.float64] = np.maximum(0.0, rate_bps - room_bps)
            return over
        knots = self.capacity_bps - self.others.rate_bps[::-1]
        weight = self.others.weight[::-1]
        below = np.searchsorted(knots, rate_bps)
        slope = np.concatenate([[0.0], np.cumsum(weight)])
        offset = np.concatenate([[0.0], np.cumsum(weight * knots)])
        value: NDArray[np.float64] = np.maximum(0.0, slope[below] * rate_bps - offset[below])
        return value


def levels_of(demand: Demand) -> Levels:
    """Return the share of a period that a demand spends at each rate."""
    return _merged(demand.rate_bps, demand.widths_ns / demand.period_ns)


def mixed_levels(parts: Sequence[Levels]) -> Levels:
    """Return the distribution of a rate that is each of several for an equal part of the time."""
    rate_bps = np.concatenate([part.rate_bps for part in parts])
    return _merged(rate_bps, np.concatenate([part.weight for part in parts]) / len(parts))


def independent_levels(parts: Iterable[Levels]) -> Levels:
    """Return the distribution of a sum of rates whose phases have nothing to do with each other (convolution).

    Notes
    -----
    Exact up to ``MAX_LEVELS`` levels, then thinned onto a grid of that size by splitting each level between its
    neighbours: the mean stays, and by convexity an excess computed from it is never too low.
    """
    return reduce(_sum, parts, Levels.certain(0.0))


def _sum(a: Levels, b: Levels) -> Levels:
    rate_bps = (a.rate_bps[:, None] + b.rate_bps[None, :]).ravel()
    weight = (a.weight[:, None] * b.weight[None, :]).ravel()
    merged = _merged(rate_bps, weight)
    return merged if merged.rate_bps.size <= MAX_LEVELS else _thinned(merged)


def _merged(rate_bps: NDArray[np.float64], weight: NDArray[np.float64]) -> Levels:
    rates, place = np.unique(rate_bps, return_inverse=True)
    return Levels(rate_bps=rates, weight=_binned(place, weight, rates.size))


def _thinned(levels: Levels) -> Levels:
    grid_bps = np.linspace(levels.rate_bps[0], levels.rate_bps[-1], MAX_LEVELS)
    step_bps = grid_bps[1] - grid_bps[0]
    position = (levels.rate_bps - grid_bps[0]) / step_bps
    left = np.minimum(position.astype(np.int64), MAX_LEVELS - 2)
    share = position - left
    weight = _binned(left, levels.weight * (1 - share), MAX_LEVELS)
    return Levels(rate_bps=grid_bps, weight=weight + _binned(left + 1, levels.weight * share, MAX_LEVELS))


def _binned(place: NDArray[np.int64], weight: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    total: NDArray[np.float64] = np.bincount(place, weights=weight, minlength=n_bins).astype(np.float64)
    return total
