"""Compiled: the search through trees of edges that meet, by depth first with bounds (see `pipeline.compat.branch`).

The state stands in arrays, so that a search may be left and taken up again.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.compat.board import Board, Steps
from pipeline.compat.compiled import entry, inner
from pipeline.compat.kinks import fill_kinks, least, step_width
from pipeline.compat.layout import first_edge, job_steps

__all__ = ["Tree", "grow"]

SCANNED: Final = 100
"""To look through so many candidates takes as long as one meeting of edges."""

CURVE: Final = 10
"""To begin a curve takes as long as so many meetings."""

SEARCHED: Final = 4
"""A meeting takes so many times as long where what a rate costs has to be searched."""


class Tree(NamedTuple):
    """State of the search; level d has d + 1 jobs placed, and candidates for the next.

    Parameters
    ----------
    level
        The one that is being looked at, -1 when all is done (one value).
    edges_ns, rate_bps, turns, n_edges
        The sum of the placed jobs at each level.
    job, shift_ns, bound_bps, base_bps
        Candidates at each level in order of their bound: which job at which shift, a lower bound of the excess of any
        placement that contains it, and the excess of the placed jobs with it.
    n, next
        How many candidates a level has, and the first that has not been tried; -1 while they are being listed.
    listed, rise_bps
        The first job whose candidates are not listed at a level, and what all jobs listed add at least.
    root_bps
        Excess of the first job alone (one value).
    placed_ns
        Shift of each placed job, -1 if it is not placed.
    kind
        The same number for jobs with the same demand.
    mean_bps, peak_bps
        Of each job.
    best_ns, best_bps
        Best shifts so far, and their excess (one value).
    """

    level: NDArray[np.int64]
    edges_ns: NDArray[np.int64]
    rate_bps: NDArray[np.float64]
    turns: NDArray[np.int8]
    n_edges: NDArray[np.int64]
    job: NDArray[np.int64]
    shift_ns: NDArray[np.int64]
    bound_bps: NDArray[np.float64]
    base_bps: NDArray[np.float64]
    n: NDArray[np.int64]
    next: NDArray[np.int64]
    listed: NDArray[np.int64]
    rise_bps: NDArray[np.float64]
    root_bps: NDArray[np.float64]
    placed_ns: NDArray[np.int64]
    kind: NDArray[np.int64]
    mean_bps: NDArray[np.float64]
    peak_bps: NDArray[np.float64]
    best_ns: NDArray[np.int64]
    best_bps: NDArray[np.float64]


@entry
def grow(tree: Tree, board: Board, tolerance_bps: float, max_work: int) -> int:
    """Go on until done or so many meetings of edges have been looked at; return how many have.

    A search begins with one job placed at level 0, whose candidates are not listed (``next`` is -1).
    """
    # A curve is filled in this one place: whatever calls `fill_kinks` is compiled with all of it.
    work, work_each = 0, 1 if board.cost.knots_bps.size == 1 else SEARCHED
    while tree.level[0] >= 0 and work < max_work:
        d = tree.level[0]
        if tree.next[d] >= 0:
            work += _try_next(tree, board, d, tolerance_bps)
            continue
        j = _unlisted(tree, d)
        if j == tree.kind.size:
            _keep(tree, d, tree.best_bps[0] - tolerance_bps)
            _order(tree, d)
            tree.next[d] = 0
            continue
        moving = job_steps(board.jobs, j)
        repeats = (moving.period_ns, float(board.length_ns), board.is_window)
        n = fill_kinks(_placed(tree, board, d), moving, repeats, board.cost, board.kinks)
        work += tree.n_edges[d] * moving.edges_ns.size * work_each + CURVE
        if d + 2 < tree.kind.size:
            _list(tree, board, j, n)
        else:
            _take_best(tree, board, j, n, tolerance_bps)
            _leave(tree)
    return int(work)


@inner
def _try_next(tree: Tree, board: Board, d: int, tolerance_bps: float) -> int:
    """Place the next candidate of a level and go up, or leave the level; return the work as so many meetings."""
    k = tree.next[d]
    if k >= tree.n[d] or tree.bound_bps[d, k] >= tree.best_bps[0] - tolerance_bps:
        _leave(tree)
        return 0
    tree.next[d] = k + 1
    if not _is_explored(tree, d, k):
        j = tree.job[d, k]
        tree.placed_ns[j] = tree.shift_ns[d, k]
        _add(tree, board, d, j)
        tree.level[0], tree.next[d + 1], tree.listed[d + 1] = d + 1, -1, 0
        tree.n[d + 1], tree.rise_bps[d + 1] = 0, 0.0
        if _filled_bound(tree, board, d + 1, tree.base_bps[d, k]) >= tree.best_bps[0] - tolerance_bps:
            _leave(tree)
    return int(1 + k // SCANNED)


@inner
def _leave(tree: Tree) -> None:
    """Go down a level, without the job that was placed last."""
    d = tree.level[0] - 1
    if d >= 0:
        tree.placed_ns[tree.job[d, tree.next[d] - 1]] = -1
    tree.level[0] = d


@inner
def _is_explored(tree: Tree, d: int, k: int) -> bool:
    """Return whether all placements with this job (or one alike) at this shift were seen from an earlier candidate."""
    kind, shift_ns = tree.kind[tree.job[d, k]], tree.shift_ns[d, k]
    for level in range(d):
        for i in range(tree.next[level] - 1):
            if tree.shift_ns[level, i] == shift_ns and tree.kind[tree.job[level, i]] == kind:
                return True
    return False


@inner
def _unlisted(tree: Tree, d: int) -> int:
    """Return the next job whose candidates are to be listed at a level, or the number of jobs if there is none."""
    j = tree.listed[d]
    while j < tree.kind.size and tree.placed_ns[j] >= 0:
        j += 1
    return int(j)


@inner
def _take_best(tree: Tree, board: Board, last: int, n_kinks: int, tolerance_bps: float) -> None:
    """Keep the best shift of the one job that is left, if it makes the best placement so far."""
    for i in range(n_kinks):
        if board.kinks.excess_bps[i] < tree.best_bps[0] - tolerance_bps:
            tree.best_bps[0] = board.kinks.excess_bps[i]
            for j in range(tree.kind.size):
                tree.best_ns[j] = tree.placed_ns[j]
            tree.best_ns[last] = board.kinks.shift_ns[i]


@inner
def _placed(tree: Tree, board: Board, d: int) -> Steps:
    n = tree.n_edges[d]
    return Steps(tree.edges_ns[d, :n], tree.rate_bps[d, :n], tree.turns[d, :n], board.length_ns)


@inner
def _list(tree: Tree, board: Board, j: int, n_kinks: int) -> None:
    """Append the shifts at which an edge of a job faces one of those placed, for it and all jobs alike.

    Each job that is not placed adds at least the least that it adds to those placed, for the excess is supermodular.
    """
    d = tree.level[0]
    base_bps = tree.base_bps[d - 1, tree.next[d - 1] - 1] if d > 0 else tree.root_bps[0]
    added_bps = max(0.0, least(board.kinks.excess_bps, n_kinks) - base_bps)
    n = tree.n[d]
    for i in range(n_kinks):
        if board.kinks.faces[i]:
            tree.job[d, n], tree.shift_ns[d, n] = j, board.kinks.shift_ns[i]
            tree.base_bps[d, n] = board.kinks.excess_bps[i]
            tree.bound_bps[d, n] = board.kinks.excess_bps[i] - added_bps
            n += 1
    tree.n[d] = n
    alike = j
    while alike < tree.kind.size and tree.kind[alike] == tree.kind[j]:
        if tree.placed_ns[alike] < 0:
            tree.rise_bps[d] += added_bps
        alike += 1
    tree.listed[d] = alike


@inner
def _keep(tree: Tree, d: int, limit_bps: float) -> None:
    """Complete the candidates' bounds by what all jobs add, and drop those beyond a limit."""
    kept = 0
    for i in range(tree.n[d]):
        tree.bound_bps[d, i] += tree.rise_bps[d]
        if tree.bound_bps[d, i] < limit_bps:
            _copy(tree, d, i, kept)
            kept += 1
    tree.n[d] = kept


@inner
def _order(tree: Tree, d: int) -> None:
    """Sort the candidates of a level by their bound (Shell's method, which needs no room)."""
    gap = 1
    while gap < tree.n[d] // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, tree.n[d]):
            job, shift_ns, bound_bps, base_bps = (
                tree.job[d, i],
                tree.shift_ns[d, i],
                tree.bound_bps[d, i],
                tree.base_bps[d, i],
            )
            k = i
            while k >= gap and tree.bound_bps[d, k - gap] > bound_bps:
                _copy(tree, d, k - gap, k)
                k -= gap
            tree.job[d, k], tree.shift_ns[d, k] = job, shift_ns
            tree.bound_bps[d, k], tree.base_bps[d, k] = bound_bps, base_bps
        gap //= 3


@inner
def _copy(tree: Tree, d: int, source: int, target: int) -> None:
    tree.job[d, target], tree.shift_ns[d, target] = tree.job[d, source], tree.shift_ns[d, source]
    tree.bound_bps[d, target], tree.base_bps[d, target] = tree.bound_bps[d, source], tree.base_bps[d, source]


@inner
def _filled_bound(tree: Tree, board: Board, d: int, base_bps: float) -> float:
    """Return the excess of the placed jobs with what the mean demand of the others cannot but add.

    At best they fill the room that is left, at no time with more than their peaks; the rest of their mean is in excess.
    """
    if board.cost.knots_bps.size > 1:
        return base_bps
    mean_bps, peak_bps = 0.0, 0.0
    for j in range(tree.kind.size):
        if tree.placed_ns[j] < 0:
            mean_bps += tree.mean_bps[j]
            peak_bps += tree.peak_bps[j]
    placed, room = _placed(tree, board, d), 0.0
    for i in range(placed.edges_ns.size):
        free_bps = max(0.0, board.cost.knots_bps[0] - placed.rate_bps[i])
        room += min(free_bps, peak_bps) * step_width(placed, i)
    return base_bps + max(0.0, mean_bps - room / board.length_ns)


@inner
def _add(tree: Tree, board: Board, d: int, j: int) -> None:
    """Fill a level with the sum of the one before and a job at its shift."""
    a, b = board.jobs.first[j], board.jobs.first[j + 1]
    at, wraps_ns, rate_bps = first_edge(board.jobs, j, tree.placed_ns[j])
    n_placed, i, n = tree.n_edges[d], 0, 0
    while True:
        placed_ns = tree.edges_ns[d, i] if i < n_placed else board.length_ns
        now_ns = min(placed_ns, board.jobs.edges_ns[a + at] + wraps_ns)
        if now_ns >= board.length_ns:
            break
        turns = np.int8(0)
        if placed_ns == now_ns:
            turns |= tree.turns[d, i]
            i += 1
        if board.jobs.edges_ns[a + at] + wraps_ns == now_ns:
            turns |= board.jobs.turns[a + at]
            rate_bps = board.jobs.rate_bps[a + at]
            at += 1
            if a + at == b:
                at = 0
                wraps_ns += board.jobs.period_ns[j]
        tree.edges_ns[d + 1, n], tree.turns[d + 1, n] = now_ns, turns
        tree.rate_bps[d + 1, n] = tree.rate_bps[d, i - 1] + rate_bps
        n += 1
    tree.n_edges[d + 1] = n
