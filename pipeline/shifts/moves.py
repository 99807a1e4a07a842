"""Compiled: moves of one job after the other until none helps, and to the middle of what serves as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.compiled import entry, inner
from pipeline.shifts.choice import CENTRE, choices_of, cost_along, is_less, pick, value_at
from pipeline.shifts.curves import binding_excess

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.shifts.choice import Choices
    from pipeline.shifts.packed import PackedNetwork

__all__ = ["all_excess", "centre", "settle", "total_cost"]

MAX_MOVES: Final = 8
"""So many for each job to begin with: what moves then is far away, and gains little for its time."""


@entry
def all_excess(net: PackedNetwork, shifts_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the excess of every binding as a fraction of its capacity; float64, shape (n_bindings,)."""
    excess = np.empty(net.weight.size)
    for binding in range(excess.size):
        excess[binding] = binding_excess(net, binding, shifts_ns)
    return excess


@entry
def total_cost(net: PackedNetwork, excess: NDArray[np.float64]) -> tuple[float, float]:
    """Return the cost of all bindings, in the two parts that `is_less` compares."""
    total, worst = 0.0, 0.0
    for binding in range(excess.size):
        total += net.weight[binding] * excess[binding]
        worst = max(worst, excess[binding])
    if net.is_worst:
        return worst, total
    return total, 0.0


@entry
def settle(
    net: PackedNetwork,
    shifts_ns: NDArray[np.int64],
    excess: NDArray[np.float64],
    jobs: NDArray[np.int64],
    choose: int,
) -> None:
    """Move jobs, and then those beside a job that moved, each to its best shift until none can improve, or many did.

    Parameters
    ----------
    net
        The network.
    shifts_ns, excess
        Shift of every job and excess of every binding; changed in place.
    jobs
        Those to try first.
    choose
        Which of equally good shifts to take.
    """
    n_jobs = net.period_ns.size
    queue = np.empty(n_jobs, dtype=np.int64)
    waits = np.zeros(n_jobs, dtype=np.bool_)
    head, length, n_left = 0, 0, MAX_MOVES * jobs.size
    for job in jobs:
        if not waits[job]:
            queue[length] = job
            waits[job] = True
            length += 1
    while length > 0 and n_left > 0:
        job = queue[head]
        head, length = (head + 1) % n_jobs, length - 1
        waits[job] = False
        if not net.is_free[job] or not _improve(net, job, shifts_ns, excess, choose):
            continue
        n_left -= 1
        for seat in net.job_seat[net.job_start[job] : net.job_start[job + 1]]:
            binding = net.seat_binding[seat]
            for other in net.seat_job[net.seat_start[binding] : net.seat_start[binding + 1]]:
                if other != job and not waits[other]:
                    queue[(head + length) % n_jobs] = other
                    waits[other] = True
                    length += 1


@entry
def centre(net: PackedNetwork, shifts_ns: NDArray[np.int64], excess: NDArray[np.float64], n_rounds: int) -> None:
    """Share the slack: move each job to the middle of the shifts that serve as well, until the middles agree."""
    for _ in range(n_rounds):
        n_moved = 0
        for job in range(net.period_ns.size):
            before_ns = shifts_ns[job]
            if net.is_free[job]:
                _recentre(net, job, shifts_ns, excess)
            n_moved += shifts_ns[job] != before_ns
        if n_moved == 0:
            break


@inner
def _improve(
    net: PackedNetwork, job: int, shifts_ns: NDArray[np.int64], excess: NDArray[np.float64], choose: int
) -> bool:
    """Move a job to its best shift if that is better; return whether it was moved."""
    choices = choices_of(net, job, shifts_ns)
    seats = net.job_seat[net.job_start[job] : net.job_start[job + 1]]
    now = np.empty((seats.size, 1))
    for i in range(seats.size):
        now[i, 0] = excess[net.seat_binding[seats[i]]]
    first, second = cost_along(net, seats, now)
    if not is_less(choices.cost, (first[0], second[0])):
        return False
    _put(net, job, choices, choose, shifts_ns, excess)
    return True


@inner
def _recentre(net: PackedNetwork, job: int, shifts_ns: NDArray[np.int64], excess: NDArray[np.float64]) -> None:
    """Move a job to the middle of its best shifts, unless all are."""
    choices = choices_of(net, job, shifts_ns)
    n_best = 0
    for k in range(choices.is_best.size):
        n_best += choices.is_best[k]
    if n_best < choices.is_best.size:
        _put(net, job, choices, CENTRE, shifts_ns, excess)


@inner
def _put(
    net: PackedNetwork,
    job: int,
    choices: Choices,
    choose: int,
    shifts_ns: NDArray[np.int64],
    excess: NDArray[np.float64],
) -> None:
    """Give a job one of its best shifts, and its links what they then cost."""
    period_ns = net.period_ns[job]
    shifts_ns[job] = pick(choices, period_ns, choose)
    for i in range(choices.excess.shape[0]):
        seat = net.job_seat[net.job_start[job] + i]
        excess[net.seat_binding[seat]] = value_at(choices.kinks_ns, choices.excess[i], period_ns, shifts_ns[job])
