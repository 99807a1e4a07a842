"""Compiled: rotations of several jobs on a circle of angles, all of them or descents from several starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipeline.compat.compiled import entry, inner
from pipeline.compat.kinks import cost_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.board import Cost

__all__ = ["descend_rotations", "try_rotations"]


@entry
def try_rotations(
    rates_bps: NDArray[np.float64], n_rotations: NDArray[np.int64], cost: Cost, enough_bps: float
) -> float:
    """Return the least excess, summed over the angles, at any rotations; the first job stands still.

    Parameters
    ----------
    rates_bps
        What each job sends at each angle; shape (n_jobs, n_angles).
    n_rotations
        How many rotations of each job differ.
    cost
        What a rate costs.
    enough_bps
        The search ends once this is reached.

    Notes
    -----
    A rotation at which the jobs placed so far cost as much as the best is not followed: more jobs only cost more.
    """
    n_jobs, n_angles = rates_bps.shape
    total_bps = np.zeros((n_jobs + 1, n_angles))
    tried = np.zeros(n_jobs, np.int64)
    best_bps, i = np.inf, 0
    while i >= 0 and best_bps > enough_bps:
        if tried[i] == (n_rotations[i] if i > 0 else 1):
            i -= 1
            continue
        placed_bps = _turn(total_bps[i], rates_bps[i], tried[i], cost, total_bps[i + 1])
        tried[i] += 1
        if placed_bps >= best_bps:
            continue
        if i == n_jobs - 1:
            best_bps = placed_bps
        else:
            i += 1
            tried[i] = 0
    return float(best_bps)


@entry
def descend_rotations(
    rates_bps: NDArray[np.float64], n_rotations: NDArray[np.int64], cost: Cost, starts: NDArray[np.int64]
) -> float:
    """Return the least excess, summed over the angles, that turning one job after the other reaches from any start.

    Parameters
    ----------
    rates_bps, n_rotations, cost
        As in `try_rotations`.
    starts
        Rotations to begin with; shape (n_starts, n_jobs).
    """
    best_bps = np.inf
    for k in range(starts.shape[0]):
        at, before_bps = starts[k].copy(), np.inf
        while True:
            reached_bps = _turn_each(rates_bps, n_rotations, cost, at)
            if reached_bps >= before_bps:
                break
            before_bps = reached_bps
        best_bps = min(best_bps, reached_bps)
    return float(best_bps)


@inner
def _turn_each(
    rates_bps: NDArray[np.float64], n_rotations: NDArray[np.int64], cost: Cost, at: NDArray[np.int64]
) -> float:
    """Turn one job after the other to its best beside all others, in place; return the excess reached."""
    n_jobs, n_angles = rates_bps.shape
    others_bps, total_bps = np.empty(n_angles), np.empty(n_angles)
    reached_bps = np.inf
    for i in range(n_jobs):
        others_bps[:] = 0.0
        for j in range(n_jobs):
            if j != i:
                _turn(others_bps, rates_bps[j], at[j], cost, others_bps)
        reached_bps = np.inf
        for turn in range(n_rotations[i]):
            tried_bps = _turn(others_bps, rates_bps[i], turn, cost, total_bps)
            if tried_bps < reached_bps:
                at[i], reached_bps = turn, tried_bps
    return float(reached_bps)


@inner
def _turn(
    base_bps: NDArray[np.float64], job_bps: NDArray[np.float64], turn: int, cost: Cost, out_bps: NDArray[np.float64]
) -> float:
    """Fill what others and a job turned by some angles send; return what that costs, summed over the angles."""
    n_angles, total = base_bps.size, 0.0
    for angle in range(n_angles):
        source = angle - turn
        rate_bps = base_bps[angle] + job_bps[source if source >= 0 else source + n_angles]
        out_bps[angle] = rate_bps
        total += cost_at(rate_bps, cost)
    return total
