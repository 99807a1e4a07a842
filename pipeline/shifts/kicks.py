"""Compiled: perturb a link drawn by its gap and descend again near it; what costs no more is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.compiled import entry, inner
from pipeline.shifts.choice import TOLERANCE, is_less
from pipeline.shifts.curves import binding_excess
from pipeline.shifts.moves import settle, total_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.shifts.packed import PackedNetwork

__all__ = ["N_DRAWS", "kick"]

N_DRAWS: Final = 4
"""Random numbers a kick takes: the link, the job on it, its new shift, which of equally good shifts are taken."""

WORST_EXPONENT: Final = 3
"""Where the worst link counts, links are drawn by this power of their gap: most kicks go to the worst."""


@entry
def kick(
    net: PackedNetwork,
    shifts_ns: NDArray[np.int64],
    excess: NDArray[np.float64],
    draws: NDArray[np.float64],
) -> None:
    """Try one perturbation a row of draws.

    Parameters
    ----------
    net
        The network.
    shifts_ns, excess
        Shift of every job and excess of every binding; changed in place where that costs no more.
    draws
        Uniform in [0, 1); float64, shape (n_kicks, N_DRAWS).

    Notes
    -----
    One job of the drawn link goes to any shift. Those beside it move first, then it does: where all of them find a
    better place the kick has paid, and a kick that changes the cost by nothing is kept too, for it opens other ways.
    """
    cost = total_cost(net, excess)
    for i in range(draws.shape[0]):
        binding = _drawn(net, excess, draws[i, 0])
        if binding < 0:
            return
        first, last = net.seat_start[binding], net.seat_start[binding + 1]
        job = net.seat_job[first + int(draws[i, 1] * (last - first))]
        if not net.is_free[job]:
            continue
        trial_ns, trial = shifts_ns.copy(), excess.copy()
        trial_ns[job] = int(draws[i, 2] * net.period_ns[job])
        beside = _beside(net, job, trial_ns, trial)
        settle(net, trial_ns, trial, beside, int(draws[i, 3] * 3))
        reached = total_cost(net, trial)
        if not is_less(cost, reached):
            shifts_ns[:] = trial_ns
            excess[:] = trial
            cost = reached


@inner
def _drawn(net: PackedNetwork, excess: NDArray[np.float64], draw: float) -> int:
    """Return a binding drawn by its gap, -1 if none has one."""
    reached = np.zeros(excess.size + 1)
    for binding in range(excess.size):
        gap = max(0.0, excess[binding] - net.bound[binding])
        heft = gap**WORST_EXPONENT if net.is_worst else gap * net.weight[binding]
        reached[binding + 1] = reached[binding] + (heft if gap > TOLERANCE else 0.0)
    for binding in range(excess.size):
        if reached[binding + 1] > draw * reached[-1]:
            return binding
    return -1


@inner
def _beside(
    net: PackedNetwork, job: int, shifts_ns: NDArray[np.int64], excess: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the jobs that share a link with one, and itself last; update the excess of its links."""
    is_beside = np.zeros(net.period_ns.size, dtype=np.bool_)
    for seat in net.job_seat[net.job_start[job] : net.job_start[job + 1]]:
        binding = net.seat_binding[seat]
        excess[binding] = binding_excess(net, binding, shifts_ns)
        for other in net.seat_job[net.seat_start[binding] : net.seat_start[binding + 1]]:
            is_beside[other] = True
    is_beside[job] = False
    beside = np.full(is_beside.sum() + 1, job)
    n = 0
    for other in range(is_beside.size):
        if is_beside[other]:
            beside[n] = other
            n += 1
    return beside
