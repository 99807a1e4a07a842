"""The best shifts of several jobs, proved: branch and bound over spanning trees of edges that meet.

The excess bends upwards only where an edge that rises of one job meets an edge that falls of another: ``f`` is convex,
so the second difference there has the sign of the product of the two steps. Move any group of jobs of an optimum
against the rest until such a meeting is reached: the excess cannot have changed. So some optimum is held together by
a spanning tree of such meetings, and there are finitely many.

The search places one job and then lets any other job meet those placed, depth first, the least bound first. A
placement that was seen from one candidate is not looked at again from a later one, and of jobs that are alike only the
first is tried. What is cut off is bounded by what each job adds at least to those placed (the excess is supermodular),
and by the room that is left for the mean of the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.board import board_of, steps_of
from pipeline.compat.demand import superpose
from pipeline.compat.kernel import excess_of
from pipeline.compat.levels import Levels
from pipeline.compat.placement import Placement, tolerance_bps
from pipeline.compat.timeline import Circle
from pipeline.compat.tree import Tree, grow
from pipeline.deadline import NEVER

if TYPE_CHECKING:
    from pipeline.compat.board import Board
    from pipeline.compat.demand import Demand
    from pipeline.deadline import Deadline

__all__ = ["branch_and_bound"]

MAX_WORK: Final = 3_000_000
"""Meetings of edges that are looked at before the search is given up, one or two tenths of a second of work."""

FEW_JOBS: Final = 8
"""With more jobs the search seldom ends, so that it gets a twentieth of that."""

MAX_JOBS: Final = 24
"""With more than this many it is not even begun."""

CHUNK_WORK: Final = 20_000
"""Meetings between two looks at the deadline: about a millisecond."""

MAX_CANDIDATES: Final = 40_000
"""With more meetings of edges than this not even the first level of the search would end."""


def branch_and_bound(
    circle: Circle, *, start: Placement, deadline: Deadline = NEVER, max_work: float | None = None
) -> Placement:
    """Return shifts of three jobs or more that no others can beat, or the best found when it takes too long.

    Parameters
    ----------
    circle
        The jobs; those whose rate never changes only take capacity.
    start
        Where no job can improve by itself.
    deadline
        When to give up.
    max_work
        How many meetings of edges to look at before giving up; by default what takes a tenth of a second or two, of
        many jobs less.

    Returns
    -------
    Placement
        Its bound is that of what was left to try.
    """
    moving = _alike_together([i for i, demand in enumerate(circle.demands) if demand.variation_bps > 0], circle.demands)
    if len(moving) < 3:
        return replace(start, bound_bps=start.excess_bps, is_proved=True)
    if len(moving) > MAX_JOBS or max_work == 0:
        return start
    constant_bps = sum(demand.peak_bps for i, demand in enumerate(circle.demands) if i not in moving)
    others = circle.excess.others
    beside = replace(circle.excess, others=Levels(rate_bps=others.rate_bps + constant_bps, weight=others.weight))
    demands = [circle.demands[i] for i in moving]
    board = board_of(demands, excess=beside, window_ns=None)
    tree = _tree_for(board, demands)
    if tree is None:
        return start
    tree.best_ns[:], tree.best_bps[0] = [start.shifts_ns[i] for i in moving], start.excess_bps
    _plant(tree, int(tree.mean_bps.argmax()), circle=Circle(demands=demands, excess=beside))
    if max_work is None:
        max_work = MAX_WORK if len(moving) <= FEW_JOBS else MAX_WORK / 20
    while tree.level[0] >= 0 and max_work > 0 and not deadline.is_over():
        max_work -= grow(tree, board, tolerance_bps(circle), CHUNK_WORK)
    shifts = list(start.shifts_ns)
    for i_job, shift_ns in zip(moving, tree.best_ns, strict=True):
        shifts[i_job] = int(shift_ns)
    excess_bps = float(tree.best_bps[0])
    return Placement(
        shifts_ns=_turned(shifts, circle.demands),
        excess_bps=excess_bps,
        bound_bps=min(excess_bps, max(start.bound_bps, _bound_left(tree))),
        is_proved=bool(tree.level[0] < 0),
        method="branch and bound",
    )


def _plant(tree: Tree, root: int, *, circle: Circle) -> None:
    """Begin a search with one job at shift 0."""
    length_ns = math.lcm(*(demand.period_ns for demand in circle.demands))
    alone = superpose([circle.demands[root]], shifts_ns=[0], length_ns=length_ns)
    steps = steps_of(alone)
    n = steps.edges_ns.size
    tree.edges_ns[0, :n], tree.rate_bps[0, :n], tree.turns[0, :n] = steps.edges_ns, steps.rate_bps, steps.turns
    tree.n_edges[0], tree.next[0], tree.placed_ns[root] = n, -1, 0
    tree.root_bps[0] = excess_of(alone, excess=circle.excess)


def _bound_left(tree: Tree) -> float:
    """Return a lower bound of the excess of all placements: the best found, or the least bound that is left to try."""
    bounds_bps = [float(tree.best_bps[0])]
    for d in range(int(tree.level[0]) + 1):
        if tree.next[d] < 0:
            bounds_bps.append(float(tree.bound_bps[d - 1, tree.next[d - 1] - 1]) if d > 0 else 0.0)
        elif tree.next[d] < tree.n[d]:
            bounds_bps.append(float(tree.bound_bps[d, tree.next[d]]))
    return min(bounds_bps)


def _turned(shifts_ns: Sequence[int], demands: Sequence[Demand]) -> tuple[int, ...]:
    """Return the same placement, turned so that the first job's shift is 0."""
    return tuple((s - shifts_ns[0]) % demand.period_ns for s, demand in zip(shifts_ns, demands, strict=True))


def _kinds(demands: Sequence[Demand]) -> list[int]:
    """Return the same number for demands that are the same."""
    numbers: dict[tuple[int, bytes, bytes], int] = {}
    keys = [(demand.period_ns, demand.edges_ns.tobytes(), demand.rate_bps.tobytes()) for demand in demands]
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _alike_together(jobs: Sequence[int], demands: Sequence[Demand]) -> list[int]:
    """Return jobs in an order in which those with the same demand are neighbours."""
    kinds = _kinds([demands[i] for i in jobs])
    return [i for _, i in sorted(zip(kinds, jobs, strict=True))]


def _tree_for(board: Board, demands: Sequence[Demand]) -> Tree | None:
    """Return room for the search, or None if it would take too much."""
    n_jobs, n_edges = len(demands), board.layout.edges_ns.size
    n_candidates = n_edges * sum(demand.edges_ns.size for demand in demands)
    if n_candidates > MAX_CANDIDATES:
        return None
    return Tree(
        level=np.zeros(1, dtype=np.int64),
        edges_ns=np.empty((n_jobs, n_edges), dtype=np.int64),
        rate_bps=np.empty((n_jobs, n_edges)),
        turns=np.empty((n_jobs, n_edges), dtype=np.int8),
        n_edges=np.zeros(n_jobs, dtype=np.int64),
        job=np.empty((n_jobs, n_candidates), dtype=np.int64),
        shift_ns=np.empty((n_jobs, n_candidates), dtype=np.int64),
        bound_bps=np.empty((n_jobs, n_candidates)),
        base_bps=np.empty((n_jobs, n_candidates)),
        n=np.zeros(n_jobs, dtype=np.int64),
        next=np.zeros(n_jobs, dtype=np.int64),
        listed=np.zeros(n_jobs, dtype=np.int64),
        rise_bps=np.zeros(n_jobs),
        root_bps=np.zeros(1),
        placed_ns=np.full(n_jobs, -1, dtype=np.int64),
        kind=np.array(_kinds(demands), dtype=np.int64),
        mean_bps=np.array([demand.mean_bps for demand in demands]),
        peak_bps=np.array([demand.peak_bps for demand in demands]),
        best_ns=np.zeros(n_jobs, dtype=np.int64),
        best_bps=np.array([math.inf]),
    )
