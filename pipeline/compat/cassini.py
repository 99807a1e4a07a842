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

from pipeline.compat.board import cost_of
from pipeline.compat.cassini_grid import descend_rotations, try_rotations

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

MAX_JOBS: Final = 4
"""Of so many jobs all rotations are tried, 72 to the third at most."""

N_STARTS: Final = 16
"""Of more jobs, descents begin so often."""


def cassini_score(demands: Sequence[Demand], *, excess: Excess) -> float | None:
    """Return the score that the grid claims for its best rotations, or None if the common circle is too long for it.

    Notes
    -----
    Of up to four jobs every rotation is tried. Of more, one job after the other is turned to its best until none
    improves, from no rotations and from random ones that are always the same.
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


def _best_excess(rates_bps: NDArray[np.float64], *, turns: Sequence[int], excess: Excess) -> float:
    n_jobs = len(turns)
    n_rotations = np.array([-(-N_ANGLES // turn) for turn in turns], dtype=np.int64)
    cost = cost_of(excess)
    if n_jobs <= MAX_JOBS:
        # The excess is convex: no rotations cost less than the mean rate.
        enough_bps = float(excess(rates_bps.mean(axis=1).sum(keepdims=True))[0]) * N_ANGLES
        return try_rotations(rates_bps, n_rotations, cost, enough_bps) / N_ANGLES
    starts = np.random.default_rng(0).integers(n_rotations, size=(N_STARTS, n_jobs))
    starts[0] = 0
    return descend_rotations(rates_bps, n_rotations, cost, starts) / N_ANGLES
