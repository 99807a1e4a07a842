"""Compiled: jobs laid out at their shifts, and one of them moved to where it does least harm beside the others."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipeline.compat.board import Board, Packed, Steps
from pipeline.compat.compiled import entry, inner
from pipeline.compat.kinks import FLAT_FRAC, best_shift, fill_kinks, highest, least

__all__ = ["EDGES", "MIDDLES", "descend", "first_edge", "job_steps", "lay_out", "move_job"]

MIDDLES: Final = 0
"""Of a widest plateau of best shifts, take the middle."""

EDGES: Final = 1
"""Take its start, where edges meet."""

FRESH: Final = 16
"""The sum of so many rates is taken afresh at every edge; that of more, after as many edges."""


@inner
def job_steps(jobs: Packed, j: int) -> Steps:
    """Return the demand of one job."""
    a, b = jobs.first[j], jobs.first[j + 1]
    return Steps(jobs.edges_ns[a:b], jobs.rate_bps[a:b], jobs.turns[a:b], jobs.period_ns[j])


@inner
def lay_out(board: Board, shifts_ns: NDArray[np.int64], beside: NDArray[np.bool_]) -> Steps:
    """Return the sum of the demands marked in ``beside``, each begun its shift later, in the board's own room.

    Rates are summed afresh again and again, so that no error adds up along the way.
    """
    jobs, out = board.jobs, board.layout
    job, at = np.empty(shifts_ns.size, np.int64), np.empty(shifts_ns.size, np.int64)
    due_ns, heap = np.empty(shifts_ns.size, np.int64), np.empty(shifts_ns.size, np.int64)
    wraps_ns, rate_bps = np.empty(shifts_ns.size, np.int64), np.empty(shifts_ns.size)
    size = np.int64(0)
    for j in range(shifts_ns.size):
        if beside[j]:
            at[size], wraps_ns[size], rate_bps[size] = first_edge(jobs, j, shifts_ns[j])
            job[size], due_ns[size] = j, jobs.edges_ns[jobs.first[j] + at[size]] + wraps_ns[size]
            _push(heap, size, due_ns)
            size += 1
    if size == 0:
        out.edges_ns[0], out.rate_bps[0], out.turns[0] = 0, 0.0, 0
        return Steps(out.edges_ns[:1], out.rate_bps[:1], out.turns[:1], board.length_ns)
    n, now_ns, total_bps, n_turned = 0, 0, _total(rate_bps, size), 0
    while now_ns < board.length_ns:
        turns = np.int8(0)
        while due_ns[heap[0]] == now_ns:
            k = heap[0]
            edge = jobs.first[job[k]] + at[k]
            total_bps += jobs.rate_bps[edge] - rate_bps[k]
            rate_bps[k] = jobs.rate_bps[edge]
            turns |= jobs.turns[edge]
            at[k] += 1
            if edge + 1 == jobs.first[job[k] + 1]:
                at[k] = 0
                wraps_ns[k] += jobs.period_ns[job[k]]
            due_ns[k] = jobs.edges_ns[jobs.first[job[k]] + at[k]] + wraps_ns[k]
            _sink(heap, size, due_ns)
            n_turned += 1
        if size <= FRESH or n_turned >= FRESH:
            total_bps, n_turned = _total(rate_bps, size), 0
        out.edges_ns[n], out.rate_bps[n], out.turns[n] = now_ns, total_bps, turns
        n += 1
        now_ns = due_ns[heap[0]]
    return Steps(out.edges_ns[:n], out.rate_bps[:n], out.turns[:n], board.length_ns)


@inner
def _total(rate_bps: NDArray[np.float64], n: np.int64) -> float:
    total_bps = 0.0
    for k in range(n):
        total_bps += rate_bps[k]
    return total_bps


@inner
def _push(heap: NDArray[np.int64], size: np.int64, due_ns: NDArray[np.int64]) -> None:
    """Put the next number into a heap of those before it, the earliest first."""
    at = size
    while at > 0 and due_ns[heap[(at - 1) // 2]] > due_ns[size]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = size


@inner
def _sink(heap: NDArray[np.int64], size: np.int64, due_ns: NDArray[np.int64]) -> None:
    """Restore the order of a heap whose first entry has become later."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and due_ns[heap[child + 1]] < due_ns[heap[child]]:
            child += 1
        if due_ns[heap[at]] <= due_ns[heap[child]]:
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@inner
def first_edge(jobs: Packed, j: int, shift_ns: int) -> tuple[int, int, float]:
    """Return a job's first edge from time 0 on, what to add to its time, and the job's rate before it."""
    a, b, period_ns = jobs.first[j], jobs.first[j + 1], jobs.period_ns[j]
    shift_ns %= period_ns
    edge = a
    while edge < b and jobs.edges_ns[edge] + shift_ns < period_ns:
        edge += 1
    if edge == b:
        return 0, shift_ns, jobs.rate_bps[b - 1]
    return edge - a, shift_ns - period_ns, jobs.rate_bps[edge - 1 if edge > a else b - 1]


@entry
def move_job(board: Board, shifts_ns: NDArray[np.int64], j: int, beside: NDArray[np.bool_], choose: int) -> float:
    """Move one job to a best shift beside the marked ones, in place; return the mean excess there."""
    moving = job_steps(board.jobs, j)
    fixed = lay_out(board, shifts_ns, beside)
    common_ns = (moving.period_ns, float(board.length_ns), board.is_window)
    n = fill_kinks(fixed, moving, common_ns, board.cost, board.kinks)
    flat_bps = FLAT_FRAC * (highest(fixed.rate_bps) + highest(moving.rate_bps))
    start_ns, width_ns = best_shift(board.kinks, n, moving.period_ns, flat_bps)
    if choose == MIDDLES:
        start_ns = 0 if width_ns == moving.period_ns else start_ns + width_ns // 2
    shifts_ns[j] = start_ns % moving.period_ns
    return least(board.kinks.excess_bps, n)


@entry
def descend(
    board: Board, shifts_ns: NDArray[np.int64], choose: int, tolerance_bps: float, max_rounds: int
) -> tuple[float, int]:
    """Move each job but the first to a best shift beside all others, in place, until a round of moves gains too little.

    Return the mean excess reached, and how many rounds that took.
    """
    beside = np.empty(shifts_ns.size, np.bool_)
    for j in range(shifts_ns.size):
        beside[j] = True
    excess_bps = np.inf
    for n_rounds in range(1, max_rounds + 1):
        before_bps = excess_bps
        for j in range(1, shifts_ns.size):
            beside[j] = False
            reached_bps = move_job(board, shifts_ns, j, beside, choose)
            beside[j] = True
        excess_bps = min(excess_bps, reached_bps)
        if excess_bps >= before_bps - tolerance_bps:
            return excess_bps, n_rounds
    return excess_bps, max_rounds
