"""Compiled: what the links of one job cost against its shift, the others standing still.

The kernel of `pipeline.compat.kernel` over packed arrays: on each link the mean excess is piecewise linear in the
shift, its slope changes only where an edge of the job meets one of the others, and its mean over all shifts is that of
independent phases.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.compiled import inner
from pipeline.shifts.sorting import order_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.shifts.packed import PackedNetwork

__all__ = ["ZERO", "binding_excess", "job_curves"]

ZERO: Final = 1e-13
"""A smaller fraction of a capacity is rounding."""


@inner
def job_curves(
    net: PackedNetwork, job: int, shifts_ns: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the excess of each link of a job against the job's shift.

    Returns
    -------
    kinks_ns : ndarray of int64, shape (n_kinks,)
        Increasing in [0, period of the job); the curves are linear between and cyclic. One kink at least.
    excess : ndarray of float64, shape (n_seats, n_kinks)
        Mean excess, as a fraction of each link's capacity.
    """
    seats = net.job_seat[net.job_start[job] : net.job_start[job + 1]]
    period_ns = net.period_ns[job]
    size = 0
    for seat in seats:
        size += _n_meetings(net, seat)
    at_ns = np.empty(size, dtype=np.int64)
    bend = np.empty(size)
    ends = np.zeros(seats.size + 1, dtype=np.int64)
    mean = np.zeros(seats.size)
    for i in range(seats.size):
        ends[i + 1], mean[i] = _meet(net, seats[i], shifts_ns, at_ns, bend, ends[i])
    order = order_of(at_ns, ends[-1])
    n_kinks = 0
    for k in range(order.size):
        if k == 0 or at_ns[order[k]] > at_ns[order[k - 1]]:
            n_kinks += 1
    kinks_ns = np.zeros(max(1, n_kinks), dtype=np.int64)
    excess = np.zeros((seats.size, max(1, n_kinks)))
    n_kinks = 0
    for k in range(order.size):
        if k == 0 or at_ns[order[k]] > at_ns[order[k - 1]]:
            kinks_ns[n_kinks] = at_ns[order[k]]
            n_kinks += 1
        owner = 0
        while order[k] >= ends[owner + 1]:
            owner += 1
        excess[owner, n_kinks - 1] += bend[order[k]]
    for i in range(seats.size):
        _integrate(kinks_ns, excess[i], period_ns, mean[i])
    return kinks_ns, excess


@inner
def binding_excess(net: PackedNetwork, binding: int, shifts_ns: NDArray[np.int64]) -> float:
    """Return the mean excess of one binding at given shifts, as a fraction of its capacity."""
    first = net.seat_start[binding]
    period_ns = net.period_ns[net.seat_job[first]]
    length_ns = net.seat_beside_ns[first] // gcd(net.seat_beside_ns[first], period_ns) * period_ns
    edge_ns, rate = _superpose(net, binding, -1, length_ns, shifts_ns)
    total = 0.0
    for i in range(edge_ns.size):
        end_ns = edge_ns[i + 1] if i + 1 < edge_ns.size else edge_ns[0] + length_ns
        total += (end_ns - edge_ns[i]) * _over(net, binding, rate[i])
    mean = total / length_ns
    return mean if mean >= ZERO else 0.0


@inner
def _n_meetings(net: PackedNetwork, seat: int) -> int:
    """Return how often an edge of a seat's job meets one of the others while its shift goes round once."""
    binding = net.seat_binding[seat]
    beside_ns = net.seat_beside_ns[seat]
    period_ns = net.period_ns[net.seat_job[seat]]
    n_fixed = 0
    for other in range(net.seat_start[binding], net.seat_start[binding + 1]):
        if other != seat:
            n_edges = net.edge_start[other + 1] - net.edge_start[other]
            n_fixed += n_edges * (beside_ns // net.period_ns[net.seat_job[other]])
    n_moving = net.edge_start[seat + 1] - net.edge_start[seat]
    return int(n_fixed * n_moving * (period_ns // gcd(beside_ns, period_ns)))


@inner
def _meet(
    net: PackedNetwork,
    seat: int,
    shifts_ns: NDArray[np.int64],
    at_ns: NDArray[np.int64],
    bend: NDArray[np.float64],
    n: int,
) -> tuple[int, float]:
    """Write from place ``n`` on where a seat's curve bends and by how much; return the next place and its mean."""
    binding = net.seat_binding[seat]
    period_ns = net.period_ns[net.seat_job[seat]]
    beside_ns = net.seat_beside_ns[seat]
    common_ns = gcd(beside_ns, period_ns)
    length_ns = beside_ns // common_ns * period_ns
    fixed_ns, fixed = _superpose(net, binding, seat, beside_ns, shifts_ns)
    first, last = net.edge_start[seat], net.edge_start[seat + 1]
    moving_ns, moving = net.edge_ns[first:last], net.rate[first:last]
    cost = np.empty((fixed.size, moving.size))
    total = 0.0
    for i in range(fixed.size):
        end_ns = fixed_ns[i + 1] if i + 1 < fixed.size else fixed_ns[0] + beside_ns
        row = 0.0
        for k in range(moving.size):
            cost[i, k] = _over(net, binding, fixed[i] + moving[k])
            until_ns = moving_ns[k + 1] if k + 1 < moving.size else moving_ns[0] + period_ns
            row += (until_ns - moving_ns[k]) * cost[i, k]
        total += (end_ns - fixed_ns[i]) * row
    for i in range(fixed.size):
        for k in range(moving.size):
            change = cost[i - 1, k] - cost[i - 1, k - 1] + cost[i, k - 1] - cost[i, k]
            if change != 0.0:
                first_ns = (fixed_ns[i] - moving_ns[k]) % common_ns
                for start_ns in range(0, period_ns, common_ns):
                    at_ns[n] = start_ns + first_ns
                    bend[n] = change / length_ns
                    n += 1
    return n, total / beside_ns / period_ns


@inner
def _superpose(
    net: PackedNetwork, binding: int, without: int, length_ns: int, shifts_ns: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the edges of a binding's jobs but one seat within a common period, in order, and the rate after each."""
    size = 0
    for seat in range(net.seat_start[binding], net.seat_start[binding + 1]):
        if seat != without:
            n_edges = net.edge_start[seat + 1] - net.edge_start[seat]
            size += n_edges * (length_ns // net.period_ns[net.seat_job[seat]])
    at_ns = np.empty(size, dtype=np.int64)
    step = np.empty(size)
    n = 0
    rate = 0.0
    for seat in range(net.seat_start[binding], net.seat_start[binding + 1]):
        if seat != without:
            job = net.seat_job[seat]
            latest_ns, latest = -1, 0.0
            before = net.rate[net.edge_start[seat + 1] - 1]
            for edge in range(net.edge_start[seat], net.edge_start[seat + 1]):
                first_ns = (net.edge_ns[edge] + shifts_ns[job]) % net.period_ns[job]
                if first_ns > latest_ns:
                    latest_ns, latest = first_ns, net.rate[edge]
                for start_ns in range(0, length_ns, net.period_ns[job]):
                    at_ns[n] = start_ns + first_ns
                    step[n] = net.rate[edge] - before
                    n += 1
                before = net.rate[edge]
            rate += latest
    order = order_of(at_ns, size)
    edge_ns, rates = np.empty(size, dtype=np.int64), np.empty(size)
    for i in range(size):
        rate += step[order[i]]
        edge_ns[i], rates[i] = at_ns[order[i]], rate
    return edge_ns, rates


@inner
def _over(net: PackedNetwork, binding: int, rate: float) -> float:
    """Return the expected excess at a rate of a binding's jobs."""
    first, last = net.knot_start[binding], net.knot_start[binding + 1]
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if net.knot[middle] < rate:
            low = middle + 1
        else:
            high = middle
    place = low + binding
    return float(max(0.0, net.slope[place] * rate - net.offset[place]))


@inner
def _integrate(kinks_ns: NDArray[np.int64], curve: NDArray[np.float64], period_ns: int, mean: float) -> None:
    """Replace the bends of a curve by its values, given its mean over a period."""
    n = kinks_ns.size
    turned, drift = 0.0, 0.0
    for k in range(n):
        turned += curve[k]
        width_ns = (kinks_ns[k + 1] if k + 1 < n else kinks_ns[0] + period_ns) - kinks_ns[k]
        drift += turned * width_ns
    slope = -drift / period_ns
    value, area = 0.0, 0.0
    for k in range(n):
        slope += curve[k]
        width_ns = (kinks_ns[k + 1] if k + 1 < n else kinks_ns[0] + period_ns) - kinks_ns[k]
        curve[k] = value
        after = value + slope * width_ns
        area += (value + after) * width_ns / 2
        value = after
    for k in range(n):
        curve[k] += mean - area / period_ns
        if curve[k] < ZERO:
            curve[k] = 0.0
