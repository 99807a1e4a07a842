"""Compiled: which shift of one job costs its links least, the others standing still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pipeline.compat.compiled import entry, inner
from pipeline.shifts.curves import job_curves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.shifts.packed import PackedNetwork

__all__ = ["CENTRE", "END", "START", "TOLERANCE", "Choices", "choices_of", "cost_along", "is_less", "pick", "value_at"]

TOLERANCE: Final = 1e-12
"""Costs that differ by less are one."""

CENTRE: Final = 0
START: Final = 1
END: Final = 2
"""Which of equally good shifts to take: the middle of the widest stretch of them, or an edge, where bursts touch."""


class Choices(NamedTuple):
    """Shifts of one job at which its cost may be least, and the excess of its links there.

    Parameters
    ----------
    kinks_ns
        Increasing in [0, period of the job); int64, shape (n_kinks,).
    excess
        Of each of its seats, as a fraction of the capacity; linear between; float64, shape (n_seats, n_kinks).
    cost
        The least of the costs, in the two parts that `is_less` compares.
    is_best
        Which kinks have it; shape (n_kinks,).
    """

    kinks_ns: NDArray[np.int64]
    excess: NDArray[np.float64]
    cost: tuple[float, float]
    is_best: NDArray[np.bool_]


@inner
def choices_of(net: PackedNetwork, job: int, shifts_ns: NDArray[np.int64]) -> Choices:
    """Return what the shifts of a job cost its links."""
    seats = net.job_seat[net.job_start[job] : net.job_start[job + 1]]
    kinks_ns, excess = job_curves(net, job, shifts_ns)
    if net.is_worst and seats.size > 1:
        kinks_ns, excess = _with_crossings(kinks_ns, excess, net.period_ns[job])
    first, second = cost_along(net, seats, excess)
    best, then = np.inf, np.inf
    for k in range(first.size):
        best = min(best, first[k])
    for k in range(first.size):
        if first[k] <= best + TOLERANCE:
            then = min(then, second[k])
    is_best = np.empty(first.size, dtype=np.bool_)
    for k in range(first.size):
        is_best[k] = first[k] <= best + TOLERANCE and second[k] <= then + TOLERANCE
    return Choices(kinks_ns, excess, (best, then), is_best)


@inner
def cost_along(
    net: PackedNetwork, seats: NDArray[np.int64], excess: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cost of a job's links at each of several shifts, in the two parts that `is_less` compares.

    ``excess`` has shape (n_seats, n_shifts).
    """
    total = np.zeros(excess.shape[1])
    worst = np.zeros(excess.shape[1])
    for i in range(seats.size):
        weight = net.weight[net.seat_binding[seats[i]]]
        for k in range(total.size):
            total[k] += weight * excess[i, k]
            worst[k] = max(worst[k], excess[i, k])
    if net.is_worst:
        return worst, total
    return total, np.zeros(total.size)


@entry
def is_less(cost: tuple[float, float], than: tuple[float, float]) -> bool:
    """Return whether a cost is less than another by more than rounding; its second part decides between equals."""
    if cost[0] < than[0] - TOLERANCE:
        return True
    return cost[0] <= than[0] + TOLERANCE and cost[1] < than[1] - TOLERANCE


@inner
def pick(choices: Choices, period_ns: int, choose: int) -> int:
    """Return one of the best shifts, in the widest stretch of them; the first of equally wide ones."""
    kinks_ns, is_best = choices.kinks_ns, choices.is_best
    n = is_best.size
    start_ns, widest_ns = kinks_ns[0], -1
    for first in range(n):
        if is_best[first] and not is_best[first - 1]:
            last = first
            while is_best[(last + 1) % n]:
                last += 1
            width_ns = (kinks_ns[last % n] - kinks_ns[first]) % period_ns
            if width_ns > widest_ns:
                start_ns, widest_ns = kinks_ns[first], width_ns
    if widest_ns < 0 or choose == START:
        return int(start_ns)
    if choose == END:
        return int((start_ns + widest_ns) % period_ns)
    return int((start_ns + widest_ns // 2) % period_ns)


@inner
def value_at(kinks_ns: NDArray[np.int64], curve: NDArray[np.float64], period_ns: int, shift_ns: int) -> float:
    """Return a curve's value between its kinks."""
    n = kinks_ns.size
    before, beyond = -1, n
    while beyond - before > 1:
        middle = (before + beyond) // 2
        if kinks_ns[middle] <= shift_ns:
            before = middle
        else:
            beyond = middle
    after = (before + 1) % n
    into_ns = (shift_ns - kinks_ns[before]) % period_ns
    if n == 1 or into_ns == 0:
        return float(curve[before])
    width_ns = (kinks_ns[after] - kinks_ns[before]) % period_ns
    return float(curve[before] + (curve[after] - curve[before]) * (into_ns / width_ns))


@inner
def _with_crossings(
    kinks_ns: NDArray[np.int64], excess: NDArray[np.float64], period_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Add the whole ns around each place between two kinks at which another link becomes the worst."""
    n_seats, n = excess.shape
    at_ns = np.empty(3 * n, dtype=np.int64)
    size = 0
    for k in range(n):
        at_ns[size] = kinks_ns[k]
        size += 1
        first_ns, last_ns = _around_crossing(kinks_ns, excess, period_ns, k)
        for into_ns in range(first_ns, last_ns + 1):
            at_ns[size] = kinks_ns[k] + into_ns
            size += 1
    values = np.empty((n_seats, size))
    for i in range(n_seats):
        for j in range(size):
            values[i, j] = value_at(kinks_ns, excess[i], period_ns, at_ns[j])
    return at_ns[:size], values


@inner
def _around_crossing(
    kinks_ns: NDArray[np.int64], excess: NDArray[np.float64], period_ns: int, k: int
) -> tuple[int, int]:
    """Return the first and last whole ns after a kink around which another link becomes the worst; (1, 0) if none."""
    after = (k + 1) % kinks_ns.size
    falling, rising = 0, 0
    for i in range(excess.shape[0]):
        falling = i if excess[i, k] > excess[falling, k] else falling
        rising = i if excess[i, after] > excess[rising, after] else rising
    lead, lag = excess[falling, k] - excess[rising, k], excess[rising, after] - excess[falling, after]
    if lead <= 0 or lag <= 0:
        return 1, 0
    width_ns = (kinks_ns[after] - kinks_ns[k]) % period_ns
    crossing_ns = int(width_ns * (lead / (lead + lag)))
    return max(1, crossing_ns), min(crossing_ns + 1, width_ns - 1, period_ns - 1 - kinks_ns[k])
