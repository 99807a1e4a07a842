"""`Web`: bonds that share jobs as flat arrays, and the compiled descent of the jobs on all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.compat.board import Board, Cost, Kinks, Packed, Steps, kinks_for
from pipeline.compat.compiled import entry, inner
from pipeline.compat.kinks import FLAT_FRAC, best_shift, cost_at, fill_kinks, highest, step_width
from pipeline.compat.layout import job_steps, lay_out

if TYPE_CHECKING:
    from pipeline.ranking.bonds import Bond

__all__ = ["SAME", "Web", "descend_web", "excess_on", "web_of"]

SAME: Final = 1e-12
"""Of a score: what lies between is rounding."""

MAX_TURNS: Final = 8
"""A descent over so few jobs ends after two or three turns of each."""


class Web(NamedTuple):
    """Bonds one after the other: bond b has the members from ``first[b]`` up to ``first[b + 1]``.

    ``job`` says which job a member is; ``members`` are the demands, ``costs`` what a rate costs on each bond, with
    ``knot[b]`` the first of its knots (and one slope more than knots a bond). Rooms are as in `Board`.
    """

    members: Packed
    job: NDArray[np.int64]
    first: NDArray[np.int64]
    length_ns: NDArray[np.int64]
    weight: NDArray[np.float64]
    least_bps: NDArray[np.float64]
    costs: Cost
    knot: NDArray[np.int64]
    layout: Steps
    one: Kinks
    total: Kinks
    spare: Kinks


def web_of(bonds: Sequence[Bond], *, jobs: Sequence[str]) -> Web:
    """Return bonds as arrays; jobs are known by their places in ``jobs``."""
    boards = [bond.board for bond in bonds]
    place = {job: i for i, job in enumerate(jobs)}
    edges_before = list(accumulate((board.jobs.edges_ns.size for board in boards), initial=0))
    firsts = [board.jobs.first[:-1] + n for board, n in zip(boards, edges_before, strict=False)]
    largest = max(boards, key=lambda board: board.layout.edges_ns.size)
    most_edges = max(board.kinks.before_bps.size for board in boards)
    n_layout = largest.layout.edges_ns.size
    return Web(
        members=Packed(
            edges_ns=np.concatenate([board.jobs.edges_ns for board in boards]),
            rate_bps=np.concatenate([board.jobs.rate_bps for board in boards]),
            turns=np.concatenate([board.jobs.turns for board in boards]),
            first=np.concatenate([*firsts, edges_before[-1:]]),
            period_ns=np.concatenate([board.jobs.period_ns for board in boards]),
        ),
        job=np.array([place[job] for bond in bonds for job in bond.jobs], dtype=np.int64),
        first=np.array(list(accumulate((len(bond.jobs) for bond in bonds), initial=0)), dtype=np.int64),
        length_ns=np.array([board.length_ns for board in boards], dtype=np.int64),
        weight=np.array([bond.weight for bond in bonds]),
        least_bps=np.array([bond.least_bps for bond in bonds]),
        costs=Cost(
            knots_bps=np.concatenate([board.cost.knots_bps for board in boards]),
            slope=np.concatenate([board.cost.slope for board in boards]),
            offset_bps=np.concatenate([board.cost.offset_bps for board in boards]),
        ),
        knot=np.array(list(accumulate((board.cost.knots_bps.size for board in boards), initial=0)), dtype=np.int64),
        layout=largest.layout,
        one=kinks_for(n_layout, most_edges),
        total=kinks_for(n_layout * len(boards), most_edges),
        spare=kinks_for(n_layout * len(boards), most_edges),
    )


def excess_on(bond: Bond, shifts_ns: Mapping[str, int]) -> float:
    """Return the mean excess on a bond at some shifts."""
    return _excess_at(bond.board, np.array([shifts_ns[job] for job in bond.jobs], dtype=np.int64))


@entry
def descend_web(web: Web, shifts_ns: NDArray[np.int64], losses: NDArray[np.float64]) -> int:
    """Move one job but the first after the other, in place, to where its bonds together lose least.

    Ends when no job can improve. Fill what each bond loses of the score, summed over its links, against its own best;
    return how many moves were looked at.
    """
    n_bonds, n_jobs = web.weight.size, shifts_ns.size
    for b in range(n_bonds):
        losses[b] = _loss(web, b, shifts_ns)
    waits = np.ones(n_jobs, np.bool_)
    n_moves, n_idle, j = 0, 0, 0
    while n_idle < n_jobs and n_moves < MAX_TURNS * n_jobs:
        j = (j + 1) % n_jobs
        n_idle += 1
        if j == 0 or not waits[j]:
            continue
        waits[j] = False
        if not _loses(web, j, losses):
            continue
        n_moves += 1
        if _improve(web, j, shifts_ns):
            n_idle = 0
            _wake(web, j, waits)
            for b in range(n_bonds):
                if _member(web, b, j) >= 0:
                    losses[b] = _loss(web, b, shifts_ns)
    return n_moves


@entry
def _excess_at(board: Board, shifts_ns: NDArray[np.int64]) -> float:
    return _mean_cost(lay_out(board, shifts_ns, np.ones(shifts_ns.size, np.bool_)), board.cost)


@inner
def _mean_cost(steps: Steps, cost: Cost) -> float:
    total = 0.0
    for i in range(steps.edges_ns.size):
        total += cost_at(steps.rate_bps[i], cost) * step_width(steps, i)
    return total / steps.period_ns


@inner
def _board(web: Web, b: int) -> Board:
    """Return one bond as a board, in the web's own room."""
    m, n, k, z = web.first[b], web.first[b + 1], web.knot[b], web.knot[b + 1]
    every = web.members
    jobs = Packed(every.edges_ns, every.rate_bps, every.turns, every.first[m : n + 1], every.period_ns[m:n])
    costs = web.costs
    cost = Cost(costs.knots_bps[k:z], costs.slope[k + b : z + b + 1], costs.offset_bps[k + b : z + b + 1])
    return Board(jobs, web.length_ns[b], False, cost, web.layout, web.one)  # noqa: FBT003 - compiled: no keywords


@inner
def _shifts_of(web: Web, b: int, shifts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    own_ns = np.empty(web.first[b + 1] - web.first[b], np.int64)
    for m in range(own_ns.size):
        own_ns[m] = shifts_ns[web.job[web.first[b] + m]]
    return own_ns


@inner
def _member(web: Web, b: int, j: int) -> int:
    """Return which member of a bond a job is; -1 if it is none."""
    for m in range(web.first[b], web.first[b + 1]):
        if web.job[m] == j:
            return int(m - web.first[b])
    return -1


@inner
def _loss(web: Web, b: int, shifts_ns: NDArray[np.int64]) -> float:
    board, own_ns = _board(web, b), _shifts_of(web, b, shifts_ns)
    steps = lay_out(board, own_ns, np.ones(own_ns.size, np.bool_))
    return float(web.weight[b] * (_mean_cost(steps, board.cost) - web.least_bps[b]))


@inner
def _loses(web: Web, j: int, losses: NDArray[np.float64]) -> bool:
    """Return whether any bond of a job has something to gain."""
    loses = False
    for b in range(web.weight.size):
        loses |= losses[b] > SAME and _member(web, b, j) >= 0
    return loses


@inner
def _wake(web: Web, j: int, waits: NDArray[np.bool_]) -> None:
    """Mark the jobs that share a bond with one that has moved."""
    for b in range(web.weight.size):
        if _member(web, b, j) >= 0:
            for m in range(web.first[b], web.first[b + 1]):
                if web.job[m] != j:
                    waits[web.job[m]] = True


@inner
def _improve(web: Web, j: int, shifts_ns: NDArray[np.int64]) -> bool:
    """Move one job to its best shift; return whether that gains anything."""
    n, period_ns, scale = 0, 0, 0.0
    total, spare = web.total, web.spare
    for b in range(web.weight.size):
        m = _member(web, b, j)
        if m < 0:
            continue
        board, own_ns = _board(web, b), _shifts_of(web, b, shifts_ns)
        beside = np.ones(own_ns.size, np.bool_)
        beside[m] = False
        fixed, moving = lay_out(board, own_ns, beside), job_steps(board.jobs, m)
        period_ns = int(moving.period_ns)
        n_one = fill_kinks(fixed, moving, (period_ns, float(board.length_ns), False), board.cost, web.one)
        n = _add(total, n, web.one, n_one, (period_ns, float(web.weight[b])), spare)
        total, spare = spare, total
        scale += web.weight[b] * (highest(fixed.rate_bps) + highest(moving.rate_bps))
    start_ns, width_ns = best_shift(total, n, period_ns, FLAT_FRAC * scale)
    best_ns = 0 if width_ns == period_ns else (start_ns + width_ns // 2) % period_ns
    if _value(total, n, shifts_ns[j], period_ns) - _value(total, n, best_ns, period_ns) <= SAME:
        return False
    shifts_ns[j] = best_ns
    return True


@inner
def _add(one: Kinks, n_one: int, other: Kinks, n_other: int, scale: tuple[int, float], out: Kinks) -> int:
    """Fill the sum of a curve (0 if it has no kink) and another one times a weight; return how many kinks it has."""
    period_ns, weight = scale
    i, k, n = 0, 0, 0
    while i < n_one or k < n_other:
        if i < n_one and (k == n_other or one.shift_ns[i] <= other.shift_ns[k]):
            at_ns = one.shift_ns[i]
        else:
            at_ns = other.shift_ns[k]
        if i < n_one and one.shift_ns[i] == at_ns:
            i += 1
        if k < n_other and other.shift_ns[k] == at_ns:
            k += 1
        value = weight * _between(other, n_other, k, at_ns, period_ns)
        out.shift_ns[n] = at_ns
        out.excess_bps[n] = value + (_between(one, n_one, i, at_ns, period_ns) if n_one > 0 else 0.0)
        n += 1
    return n


@inner
def _value(curve: Kinks, n: int, at_ns: int, period_ns: int) -> float:
    after = 0
    while after < n and curve.shift_ns[after] <= at_ns:
        after += 1
    return float(_between(curve, n, after, at_ns, period_ns))


@inner
def _between(curve: Kinks, n: int, after: int, at_ns: int, period_ns: int) -> float:
    """Return a curve's value at a shift, given which of its n kinks is the first one later."""
    before = (after - 1) % n
    begin_ns = curve.shift_ns[before] - (period_ns if after == 0 else 0)
    if begin_ns == at_ns:
        return float(curve.excess_bps[before])
    end_ns = curve.shift_ns[after % n] + (period_ns if after == n else 0)
    part = (at_ns - begin_ns) / (end_ns - begin_ns)
    return float(curve.excess_bps[before] + part * (curve.excess_bps[after % n] - curve.excess_bps[before]))
