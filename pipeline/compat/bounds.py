"""Lower bounds of the mean excess that no shifts can beat; they certify the gap of every answer.

Three bounds, each valid whatever the periods; the largest counts.

- Jensen: the excess is convex, so ``E >= f(mean of the sum)``.
- Coupling: the least ``E[f(X1 + ... + Xn)]`` over all joint distributions whose margins are the jobs' levels. Two jobs:
  the highest of one meets the lowest of the other. More: a linear programme. For on/off jobs of equal demand d it is
  the closed form ``f(k d) + (rho - k) [f((k + 1) d) - f(k d)]`` with rho the sum of duties and k its floor.
- Tree: where each job alone fits, the excess is at least the sum of pair excesses along any forest, so the maximum
  spanning tree of exact pair minima bounds it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

import networkx as nx
import numpy as np

from pipeline.compat.kernel import excess_of, shift_curve
from pipeline.compat.levels import levels_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess, Levels

__all__ = ["coupling_bound", "jensen_bound", "lower_bound", "tree_bound"]

MAX_LP_STATES: Final = 4096
"""The linear programme has one variable a combination of levels; beyond this many it is skipped."""


def lower_bound(demands: Sequence[Demand], *, excess: Excess) -> float:
    """Return the largest of the bounds on the mean excess of some demands, in bit/s; of two, the optimum itself."""
    if len(demands) == 1:
        return excess_of(demands[0], excess=excess)
    if len(demands) == 2:
        return shift_curve(demands[0], demands[1], excess=excess).minimum_bps
    levels = [levels_of(demand) for demand in demands]
    return max(
        jensen_bound(levels, excess=excess),
        coupling_bound(levels, excess=excess),
        tree_bound(demands, excess=excess),
    )


def jensen_bound(levels: Sequence[Levels], *, excess: Excess) -> float:
    """Return the excess of the mean demand."""
    return float(excess(np.array([sum(part.mean_bps for part in levels)]))[0])


def coupling_bound(levels: Sequence[Levels], *, excess: Excess) -> float:
    """Return the least expected excess over all ways in which the jobs' levels can meet; 0 if too many to try."""
    if math.prod(part.rate_bps.size for part in levels) > MAX_LP_STATES:
        return 0.0
    if len(levels) == 2:
        return _antithetic(*levels, excess=excess)
    return _least_coupling(levels, excess=excess)


def tree_bound(demands: Sequence[Demand], *, excess: Excess) -> float:
    """Return the maximum spanning tree of exact pair minima; 0 where a job alone exceeds what is free.

    Notes
    -----
    For rates ``x_i <= C`` and any tree, ``sum over edges of max(0, x_i + x_j - C) <= max(0, sum x_i - C)``: the edges
    with positive terms form components of m jobs and m - 1 edges, and in each ``sum (deg_i - 1) x_i <= (m - 2) C``.
    """
    free_bps = excess.capacity_bps - float(excess.others.rate_bps[-1])
    if len(demands) < 2 or any(demand.peak_bps > free_bps for demand in demands):
        return 0.0
    graph = nx.Graph()
    for i, j in combinations(range(len(demands)), 2):
        if demands[i].peak_bps + demands[j].peak_bps > free_bps:
            graph.add_edge(i, j, weight=shift_curve(demands[i], demands[j], excess=excess).minimum_bps)
    return float(nx.maximum_spanning_tree(graph).size(weight="weight"))


def _antithetic(a: Levels, b: Levels, *, excess: Excess) -> float:
    """Return the least E[f(X + Y)] for two margins: X rises while Y falls."""
    cuts = np.unique(np.concatenate([[0.0], np.cumsum(a.weight), np.cumsum(b.weight[::-1])]).clip(0.0, 1.0))
    middle = (cuts[:-1] + cuts[1:]) / 2
    x_bps = a.rate_bps[np.searchsorted(np.cumsum(a.weight)[:-1], middle)]
    y_bps = b.rate_bps[::-1][np.searchsorted(np.cumsum(b.weight[::-1])[:-1], middle)]
    return float(np.diff(cuts) @ excess(x_bps + y_bps))


def _least_coupling(levels: Sequence[Levels], *, excess: Excess) -> float:
    """Return the linear programme's value, certified by its dual: the solver's own tolerance cannot raise it."""
    from scipy.optimize import linprog  # costs 0.3 s to import, and two jobs do not need it

    states = np.array(list(product(*(range(part.rate_bps.size) for part in levels))))
    total_bps = np.sum([part.rate_bps[states[:, i]] for i, part in enumerate(levels)], axis=0)
    cost = excess(total_bps) / excess.capacity_bps
    margins = np.concatenate([_indicators(states[:, i], part.rate_bps.size) for i, part in enumerate(levels)])
    weights = np.concatenate([part.weight for part in levels])
    answer = linprog(cost, A_eq=margins, b_eq=weights, method="highs")
    if answer.status != 0:
        return 0.0
    prices = answer.eqlin.marginals
    worst_reduced_cost = min(0.0, float((cost - margins.T @ prices).min()))
    return max(0.0, float(weights @ prices) + worst_reduced_cost) * excess.capacity_bps


def _indicators(column: NDArray[np.int64], n_levels: int) -> NDArray[np.float64]:
    return np.equal(column[None, :], np.arange(n_levels)[:, None]).astype(np.float64)
