"""Lower bounds of the mean excess over a window, whatever the shifts and the ratios of the periods.

- Jensen: the excess is convex, so it is at least that of the mean rate.
- Tree: where each job alone fits, the sum of what pairs leave in excess along any tree.
- Pairs: a linear programme over the joint distribution of all jobs' levels, given between what the share of time lies
  in which two jobs send so much at once. Jobs of unequal periods meet at nearly every phase, so that share hardly
  depends on their shifts, and little is left to choose.

A window holds whole periods and a rest, so the shares of single jobs are known up to the rest. The shares of pairs are
those of one job at shift 0 against any shift of the other, by the exact kernel; to begin both by t elsewhere changes
a mean over the length H by at most ``t/H`` of its range, and t need not be more than half a period.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import networkx as nx
import numpy as np

from pipeline.compat.bounds import coupling_bound
from pipeline.compat.demand import Demand, superpose
from pipeline.compat.kernel import window_curve
from pipeline.compat.levels import Excess, levels_of
from pipeline.deadline import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.levels import Levels
    from pipeline.compat.timeline import Window
    from pipeline.deadline import Deadline

__all__ = ["window_bound"]

MAX_STATES: Final = 512
"""The linear programme has one variable a combination of levels; with more than this many it takes too long."""

MAX_KINKS: Final = 1_500_000
"""Kinks of all curves of pairs that are looked at: a tenth of a second."""

ROUNDING: Final = 1e-12
"""Shares of time are widened by this much."""


def window_bound(window: Window, *, deadline: Deadline = NEVER) -> float:
    """Return the largest of the bounds on the mean excess over a window, in bit/s; once the time is up a looser one."""
    bounds_bps = [0.0, _jensen(window)]
    if deadline.is_over():
        return max(bounds_bps)
    levels = [levels_of(demand) for demand in window.demands]
    if math.prod(part.rate_bps.size for part in levels) <= MAX_STATES and _pair_kinks(window, levels) <= MAX_KINKS:
        bounds_bps.append(_pairs_bound(window, levels, deadline=deadline))
    else:
        bounds_bps.append(coupling_bound(levels, excess=window.excess) - _rests(window) * _largest(window))
        if _pair_kinks(window) <= MAX_KINKS:
            bounds_bps.append(_tree_bound(window, deadline=deadline))
    return max(bounds_bps)


def _jensen(window: Window) -> float:
    shares = [(demand, window.length_ns % demand.period_ns / window.length_ns) for demand in window.demands]
    least_bps = sum(demand.mean_bps * (1 - rest) for demand, rest in shares)
    return float(window.excess(np.array([least_bps]))[0])


def _rests(window: Window) -> float:
    return sum(window.length_ns % demand.period_ns for demand in window.demands) / window.length_ns


def _largest(window: Window) -> float:
    return float(window.excess(np.array([sum(demand.peak_bps for demand in window.demands)]))[0])


def _pair_kinks(window: Window, levels: Sequence[Levels] | None = None) -> int:
    """Return how many kinks the curves of all pairs have: of two jobs one, or one for each two of their thresholds."""
    n_curves = [1] * len(window.demands) if levels is None else [part.rate_bps.size - 1 for part in levels]
    n_pairs = n_before = 0
    for demand, n_own in zip(window.demands, n_curves, strict=True):
        n_pairs += n_before * n_own * demand.edges_ns.size
        n_before += n_own * demand.edges_ns.size * (window.length_ns // demand.period_ns + 1)
    return n_pairs


def _tree_bound(window: Window, *, deadline: Deadline) -> float:
    """Return the maximum spanning tree of pair minima; see `pipeline.compat.bounds.tree_bound`.

    A forest of the pairs that were looked at in time is a bound too.
    """
    free_bps = window.excess.capacity_bps - float(window.excess.others.rate_bps[-1])
    if any(demand.peak_bps > free_bps for demand in window.demands):
        return 0.0
    graph = nx.Graph()
    for (i, a), (j, b) in combinations(enumerate(window.demands), 2):
        if deadline.is_over():
            break
        if a.peak_bps + b.peak_bps > free_bps:
            curve = _pair_curve(a, b, window=window, excess=window.excess)
            most_bps = float(window.excess(np.array([a.peak_bps + b.peak_bps]))[0])
            least_bps = curve.minimum_bps - a.period_ns / 2 / window.length_ns * most_bps
            graph.add_edge(i, j, weight=max(0.0, least_bps))
    return float(nx.maximum_spanning_tree(graph).size(weight="weight"))


def _pair_curve(a: Demand, b: Demand, *, window: Window, excess: Excess) -> ShiftCurve:
    fixed = superpose([a], shifts_ns=[0], length_ns=window.length_ns)
    return window_curve(fixed, b, excess=excess)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """In which states of all jobs something is the case, and between what the share of time lies in which it is."""

    states: NDArray[np.bool_]
    low: float
    high: float


def _pairs_bound(window: Window, levels: Sequence[Levels], *, deadline: Deadline) -> float:
    """Return the linear programme's value, certified by its dual: the solver's own tolerance cannot raise it."""
    from scipy.optimize import linprog  # costs 0.3 s to import

    grid = np.meshgrid(*(part.rate_bps for part in levels), indexing="ij")
    rates = np.array([axis.ravel() for axis in grid])
    shares = [*_single_shares(window, levels, rates), *_pair_shares(window, levels, rates, deadline=deadline)]
    cost = window.excess(rates.sum(axis=0)) / window.excess.capacity_bps
    inside = np.array([share.states for share in shares], dtype=np.float64)
    limits = np.concatenate([inside, -inside])
    most = np.array([*(share.high + ROUNDING for share in shares), *(ROUNDING - share.low for share in shares)])
    whole = np.ones((1, cost.size))
    answer = linprog(cost, A_ub=limits, b_ub=most, A_eq=whole, b_eq=[1.0], method="highs")
    if answer.status != 0:
        return 0.0
    prices = np.minimum(0.0, answer.ineqlin.marginals)
    # Whatever the prices, no distribution costs less than their value and the least reduced cost.
    least = float(most @ prices) + float((cost - limits.T @ prices).min())
    return max(0.0, least) * window.excess.capacity_bps


def _single_shares(window: Window, levels: Sequence[Levels], rates: NDArray[np.float64]) -> Iterator[_Share]:
    """Yield how much of the window each job spends at each of its rates."""
    for demand, part, rate in zip(window.demands, levels, rates, strict=True):
        n_whole, rest_ns = divmod(window.length_ns, demand.period_ns)
        for rate_bps, weight in zip(part.rate_bps, part.weight, strict=True):
            low = weight * n_whole * demand.period_ns / window.length_ns
            high = low + min(rest_ns, weight * demand.period_ns) / window.length_ns
            yield _Share(states=rate == rate_bps, low=low, high=high)


def _pair_shares(
    window: Window, levels: Sequence[Levels], rates: NDArray[np.float64], *, deadline: Deadline
) -> Iterator[_Share]:
    """Yield how much of the window each two jobs both spend at or above each two of their rates, while there is time.

    Without some of them the bound is looser.
    """
    for i, j in combinations(range(len(levels)), 2):
        if deadline.is_over():
            return
        for a_bps in levels[i].rate_bps[1:]:
            for b_bps in levels[j].rate_bps[1:]:
                above = [_above(window.demands[i], a_bps), _above(window.demands[j], b_bps)]
                curve = _pair_curve(*above, window=window, excess=Excess.over(1.0))
                slack = above[0].period_ns / 2 / window.length_ns
                yield _Share(
                    states=(rates[i] >= a_bps) & (rates[j] >= b_bps),
                    low=curve.minimum_bps - slack,
                    high=float(curve.excess_bps.max()) + slack,
                )


def _above(demand: Demand, rate_bps: float) -> Demand:
    """Return a demand that is 1 while another is at or above a rate, and else 0."""
    is_above = demand.rate_bps >= rate_bps
    turns = is_above != np.roll(is_above, 1)
    return Demand(
        period_ns=demand.period_ns, edges_ns=demand.edges_ns[turns], rate_bps=is_above[turns].astype(np.float64)
    )
