"""CASSINI's own score, for comparison: the unified circle sampled every 5 degrees [1]_.

References
----------
.. [1] S. Rajasekaran, M. Ghobadi, A. Akella, "CASSINI: Network-Aware Job Scheduling in Machine Learning Clusters",
   NSDI 2024, sections 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess

__all__ = ["cassini_score"]

N_ANGLES: Final = 72
"""One every 5 degrees."""

CLOCK_NS: Final = 1_000_000
"""Iteration times in whole milliseconds, so that a least common multiple exists."""

MAX_TURNS: Final = 36
"""With more iterations of one job on the circle each has fewer than two angles, and the grid says nothing."""

N_ROUNDS: Final = 8


def cassini_score(demands: Sequence[Demand], *, excess: Excess) -> float | None:
    """Return the score that the grid claims for its best rotations, or None if the common circle is too long for it.

    Notes
    -----
    Two jobs: every rotation is tried. More: the best rotation of one job after the other, until none improves.
    """
    periods_ns = [max(1, round(demand.period_ns / CLOCK_NS)) * CLOCK_NS for demand in demands]
    circle_ns = math.lcm(*periods_ns)
    turns = [circle_ns // period_ns for period_ns in periods_ns]
    if max(turns) > MAX_TURNS:
        return None
    angles = np.arange(N_ANGLES) / N_ANGLES
    rates = np.array([_at_angles(demand, angles * turn) for demand, turn in zip(demands, turns, strict=True)])
    return 1 - _best_excess(rates, turns=turns, excess=excess) / excess.capacity_bps


def _at_angles(demand: Demand, cycles: NDArray[np.float64]) -> NDArray[np.float64]:
    return demand.at(np.rint(cycles % 1.0 * demand.period_ns).astype(np.int64))


def _best_excess(rates: NDArray[np.float64], *, turns: Sequence[int], excess: Excess) -> float:
    rolls = np.zeros(len(rates), dtype=np.int64)
    best_bps = math.inf
    for _ in range(N_ROUNDS):
        reached_bps = best_bps
        for i, turn in enumerate(turns):
            others = sum((np.roll(rates[j], rolls[j]) for j in range(len(rates)) if j != i), start=np.zeros(N_ANGLES))
            tried = np.arange(-(-N_ANGLES // turn))
            rolled = rates[i][(np.arange(N_ANGLES)[None, :] - tried[:, None]) % N_ANGLES]
            costs = excess(others[None, :] + rolled).mean(axis=1)
            rolls[i], reached_bps = tried[costs.argmin()], float(costs.min())
        if reached_bps >= best_bps:
            break
        best_bps = reached_bps
    return best_bps
