"""Lower bounds of the mean excess that no shifts can beat; they certify the gap of every answer.

Four bounds, each valid whatever the periods; the largest counts.

- Jensen: the excess is convex, so ``E >= f(mean of the sum)``.
- Equal steps: of jobs that are low or high, all by the same step d, the sum is ``base + k d`` with k jobs high, whose
  mean is rho, the sum of duties. So ``E >= (1 - x) f(base + k d) + x f(base + (k + 1) d)``, k the floor of rho and x
  the rest: f is convex. It is attained on a common period, with the jobs end to end.
- Coupling: the least ``E[f(X1 + ... + Xn)]`` over all joint distributions whose margins are the jobs' levels. Two jobs:
  the highest of one meets the lowest of the other. More: a linear programme.
- Tree: where each job alone fits, the excess is at least the sum of pair excesses along any forest, so the maximum
  spanning tree of exact pair minima bounds it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, product
from typing import TYPE_CHECKING, Final

import networkx as nx
import numpy as np

from pipeline.compat.kernel import excess_of, shift_curve
from pipeline.compat.levels import levels_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess, Levels

__all__ = ["coupling_bound", "equal_steps_bound", "jensen_bound", "lower_bound", "quick_bound", "tree_bound"]

MAX_LP_STATES: Final = 4096
"""The linear programme has one variable a combination of levels; beyond this many it is skipped."""

SAME_STEP: Final = 1e-12
"""Steps that differ by less than this share of them are equal: rounding."""

MAX_TREE_JOBS: Final = 32
"""The spanning tree is that of so many largest jobs: their pairs take a few hundredths of a second."""


def lower_bound(demands: Sequence[Demand], *, excess: Excess) -> float:
    """Return the largest of the bounds on the mean excess of some demands, in bit/s; of two, the optimum itself."""
    if len(demands) == 1:
        return excess_of(demands[0], excess=excess)
    if len(demands) == 2:
        return shift_curve(demands[0], demands[1], excess=excess).minimum_bps
    levels = [levels_of(demand) for demand in demands]
    return max(
        quick_bound(demands, excess=excess),
        coupling_bound(levels, excess=excess),
        tree_bound(demands, excess=excess),
    )


def quick_bound(demands: Sequence[Demand], *, excess: Excess) -> float:
    """Return the largest of the bounds that take no time: of Jensen and of equal steps."""
    levels = [levels_of(demand) for demand in demands]
    return max(jensen_bound(levels, excess=excess), equal_steps_bound(levels, excess=excess))


def jensen_bound(levels: Sequence[Levels], *, excess: Excess) -> float:
    """Return the excess of the mean demand."""
    return float(excess(np.array([sum(part.mean_bps for part in levels)]))[0])


def equal_steps_bound(levels: Sequence[Levels], *, excess: Excess) -> float:
    """Return the bound of jobs of two levels, all with the same step between them; 0 if there are others.

    Jobs of one level only take capacity.
    """
    steps = [part for part in levels if part.rate_bps.size > 1]
    if not steps or any(part.rate_bps.size > 2 for part in steps):
        return 0.0
    heights_bps = [float(part.rate_bps[1] - part.rate_bps[0]) for part in steps]
    if max(heights_bps) - min(heights_bps) > SAME_STEP * max(heights_bps):
        return 0.0
    base_bps = sum(float(part.rate_bps[0]) for part in levels)
    rho = sum(float(part.weight[1]) for part in steps)
    n_high = min(math.floor(rho), len(steps) - 1)
    below_bps, above_bps = excess(base_bps + min(heights_bps) * np.array([n_high, n_high + 1]))
    return float(below_bps + (rho - n_high) * (above_bps - below_bps))


def coupling_bound(levels: Sequence[Levels], *, excess: Excess) -> float:
    """Return the least expected excess over all ways in which the jobs' levels can meet; 0 if too many to try."""
    if len(levels) == 2:
        return _antithetic(*levels, excess=excess)
    # Of jobs with the same rates it only matters how many are at each.
    alike = Counter(tuple(part.rate_bps.tolist()) for part in levels)
    if math.prod(math.comb(n + len(rates) - 1, n) for rates, n in alike.items()) > MAX_LP_STATES:
        return 0.0
    return _least_coupling(levels, alike, excess=excess)


def tree_bound(demands: Sequence[Demand], *, excess: Excess) -> float:
    """Return the maximum spanning tree of exact pair minima; 0 where a job alone exceeds what is free.

    Notes
    -----
    For rates ``x_i <= C`` and any tree, ``sum over edges of max(0, x_i + x_j - C) <= max(0, sum x_i - C)``: the edges
    with positive terms form components of m jobs and m - 1 edges, and in each ``sum (deg_i - 1) x_i <= (m - 2) C``.
    Of many jobs the largest are taken, for the others can only add.
    """
    free_bps = excess.capacity_bps - float(excess.others.rate_bps[-1])
    largest = sorted(demands, key=lambda demand: -demand.mean_bps)[:MAX_TREE_JOBS]
    if len(demands) < 2 or any(demand.peak_bps > free_bps for demand in largest):
        return 0.0
    graph = nx.Graph()
    for i, j in combinations(range(len(largest)), 2):
        if largest[i].peak_bps + largest[j].peak_bps > free_bps:
            graph.add_edge(i, j, weight=shift_curve(largest[i], largest[j], excess=excess).minimum_bps)
    return float(nx.maximum_spanning_tree(graph).size(weight="weight"))


def _antithetic(a: Levels, b: Levels, *, excess: Excess) -> float:
    """Return the least E[f(X + Y)] for two margins: X rises while Y falls."""
    cuts = np.unique(np.concatenate([[0.0], np.cumsum(a.weight), np.cumsum(b.weight[::-1])]).clip(0.0, 1.0))
    middle = (cuts[:-1] + cuts[1:]) / 2
    x_bps = a.rate_bps[np.searchsorted(np.cumsum(a.weight)[:-1], middle)]
    y_bps = b.rate_bps[::-1][np.searchsorted(np.cumsum(b.weight[::-1])[:-1], middle)]
    return float(np.diff(cuts) @ excess(x_bps + y_bps))


def _least_coupling(levels: Sequence[Levels], alike: Counter[tuple[float, ...]], *, excess: Excess) -> float:
    """Return the linear programme's value, certified by its dual: the solver's own tolerance cannot raise it."""
    from scipy.optimize import linprog  # costs 0.3 s to import, and two jobs do not need it

    members = [[part for part in levels if tuple(part.rate_bps.tolist()) == rates] for rates in alike]
    choices = [list(combinations_with_replacement(range(len(rates)), n)) for rates, n in alike.items()]
    counts = [_counts(choice, len(rates)) for choice, rates in zip(choices, alike, strict=True)]
    states = np.array(list(product(*(range(len(choice)) for choice in choices))))
    margins = np.concatenate([count[states[:, i]].T for i, count in enumerate(counts)])
    cost = excess(np.concatenate(list(alike)) @ margins) / excess.capacity_bps
    weights = np.concatenate([np.sum([part.weight for part in parts], axis=0) for parts in members])
    answer = linprog(cost, A_eq=margins, b_eq=weights, method="highs")
    if answer.status != 0:
        return 0.0
    prices = answer.eqlin.marginals
    worst_reduced_cost = min(0.0, float((cost - margins.T @ prices).min()))
    return max(0.0, float(weights @ prices) + worst_reduced_cost) * excess.capacity_bps


def _counts(choices: Sequence[tuple[int, ...]], n_levels: int) -> NDArray[np.float64]:
    """Return how many jobs are at each level; shape (n_choices, n_levels)."""
    return np.array([np.bincount(choice, minlength=n_levels) for choice in choices], dtype=np.float64)
