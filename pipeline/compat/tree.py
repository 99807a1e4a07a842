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
"""To look through so many candidates takes as long as one kink."""


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
        How many candidates a level has, and the first that has not been tried; -1 if they have not been listed.
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
    root_bps: NDArray[np.float64]
    placed_ns: NDArray[np.int64]
    kind: NDArray[np.int64]
    mean_bps: NDArray[np.float64]
    peak_bps: NDArray[np.float64]
    best_ns: NDArray[np.int64]
    best_bps: NDArray[np.float64]


@entry
def grow(tree: Tree, board: Board, tolerance_bps: float, n_kinks: int) -> int:
    """Go on until done or so many kinks have been looked at; return how many have.

    A search begins with one job placed at level 0, whose candidates are not listed (``next`` is -1).
    """
    n_seen = 0
    while tree.level[0] >= 0 and n_seen < n_kinks:
        d = tree.level[0]
        k = tree.next[d]
        if k < 0:
            n_seen += _branch(tree, board, d, tolerance_bps)
        elif k >= tree.n[d] or tree.bound_bps[d, k] >= tree.best_bps[0] - tolerance_bps:
            if d > 0:
                tree.placed_ns[tree.job[d - 1, tree.next[d - 1] - 1]] = -1
            tree.level[0] = d - 1
        else:
            tree.next[d] = k + 1
            n_seen += 1 + k // SCANNED
            if not _is_explored(tree, d, k):
                n_seen += _place(tree, board, d, tolerance_bps)
    return n_seen


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
def _place(tree: Tree, board: Board, d: int, tolerance_bps: float) -> int:
    """Place the candidate before the next and go up a level, or try the last job; return how many kinks that took."""
    k = tree.next[d] - 1
    j = tree.job[d, k]
    tree.placed_ns[j] = tree.shift_ns[d, k]
    _add(tree, board, d, j)
    n_seen = 0
    if _filled_bound(tree, board, d + 1, tree.base_bps[d, k]) < tree.best_bps[0] - tolerance_bps:
        if d + 3 < tree.kind.size:
            tree.level[0], tree.next[d + 1] = d + 1, -1
            return n_seen
        n_seen = _try_last(tree, board, d + 1, tolerance_bps)
    tree.placed_ns[j] = -1
    return n_seen


@inner
def _try_last(tree: Tree, board: Board, d: int, tolerance_bps: float) -> int:
    """Try every shift of the one job that is left."""
    last = 0
    while tree.placed_ns[last] >= 0:
        last += 1
    n = _fill(tree, board, d, last)
    for i in range(n):
        if board.kinks.excess_bps[i] < tree.best_bps[0] - tolerance_bps:
            tree.best_bps[0] = board.kinks.excess_bps[i]
            for j in range(tree.kind.size):
                tree.best_ns[j] = tree.placed_ns[j]
            tree.best_ns[last] = board.kinks.shift_ns[i]
    return n


@inner
def _branch(tree: Tree, board: Board, d: int, tolerance_bps: float) -> int:
    """List the candidates of a level, those of the least bound first; return how many kinks that took.

    Each job that is not placed adds at least the least that it adds to those placed, for the excess is supermodular.
    """
    base_bps = tree.base_bps[d - 1, tree.next[d - 1] - 1] if d > 0 else tree.root_bps[0]
    n_seen, rise_bps, added_bps, seen_kind = 0, 0.0, 0.0, -1
    tree.n[d] = 0
    for j in range(tree.kind.size):
        if tree.placed_ns[j] >= 0:
            continue
        if tree.kind[j] != seen_kind:
            seen_kind = tree.kind[j]
            n_kinks = _fill(tree, board, d, j)
            added_bps = max(0.0, least(board.kinks.excess_bps, n_kinks) - base_bps)
            _list(tree, board, d, j, n_kinks, added_bps)
            n_seen += n_kinks
        rise_bps += added_bps
    _keep(tree, d, rise_bps, tree.best_bps[0] - tolerance_bps)
    _order(tree, d)
    tree.next[d] = 0
    return n_seen


@inner
def _fill(tree: Tree, board: Board, d: int, j: int) -> int:
    """Fill the board's kinks of one job beside those placed at a level; return how many there are."""
    moving = job_steps(board.jobs, j)
    common_ns = (moving.period_ns, float(board.length_ns), board.is_window)
    return fill_kinks(_placed(tree, board, d), moving, common_ns, board.cost, board.kinks)


@inner
def _placed(tree: Tree, board: Board, d: int) -> Steps:
    n = tree.n_edges[d]
    return Steps(tree.edges_ns[d, :n], tree.rate_bps[d, :n], tree.turns[d, :n], board.length_ns)


@inner
def _list(tree: Tree, board: Board, d: int, j: int, n_kinks: int, added_bps: float) -> None:
    """Append the shifts at which an edge of the job faces one of those placed."""
    n = tree.n[d]
    for i in range(n_kinks):
        if board.kinks.faces[i]:
            tree.job[d, n], tree.shift_ns[d, n] = j, board.kinks.shift_ns[i]
            tree.base_bps[d, n] = board.kinks.excess_bps[i]
            tree.bound_bps[d, n] = board.kinks.excess_bps[i] - added_bps
            n += 1
    tree.n[d] = n


@inner
def _keep(tree: Tree, d: int, rise_bps: float, limit_bps: float) -> None:
    """Complete the candidates' bounds by what all jobs add, and drop those beyond a limit."""
    kept = 0
    for i in range(tree.n[d]):
        tree.bound_bps[d, i] += rise_bps
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
