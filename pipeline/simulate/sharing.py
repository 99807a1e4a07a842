"""Weighted max-min fair sharing of links, by progressive filling [1]_.

.. [1] D. Bertsekas, R. Gallager, "Data Networks", 2nd ed., 1992, section 6.5.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Network", "share_links"]


class Network(NamedTuple):
    """Who crosses what: ``capacity_bps`` (n_links,), ``crosses`` bool (n_jobs, n_links), ``weight`` (n_jobs,)."""

    capacity_bps: NDArray[np.float64]
    crosses: NDArray[np.bool_]
    weight: NDArray[np.float64]


@njit(cache=True)
def share_links(network: Network, wanted_bps: NDArray[np.float64], rate_bps: NDArray[np.float64]) -> bool:
    """Give each job its share, written to ``rate_bps``; return whether any job gets less than it wants.

    Parameters
    ----------
    network
        Links, and the jobs on them.
    wanted_bps
        The rate that each job would send at alone, 0 for one that does not send; float64, shape (n_jobs,).
    rate_bps
        The answer, shape (n_jobs,).

    Notes
    -----
    All shares grow together in proportion to the weights; a job stops growing when it has what it wants or when a
    link that it crosses is full. Cost: at most n_jobs rounds of O(n_jobs n_links).
    """
    n_jobs, n_links = network.crosses.shape
    room_bps = network.capacity_bps.copy()
    growing = wanted_bps > 0
    rate_bps[:] = 0.0
    throttled = False
    while growing.any():
        full_at = np.full(n_links, np.inf)
        for link in range(n_links):
            demand = 0.0
            for job in range(n_jobs):
                if growing[job] and network.crosses[job, link]:
                    demand += network.weight[job]
            if demand > 0:
                full_at[link] = max(0.0, room_bps[link]) / demand
        lowest = np.inf
        for job in range(n_jobs):
            if growing[job]:
                lowest = min(lowest, _limit(network, full_at, wanted_bps[job], job))
        for job in range(n_jobs):
            if growing[job] and _limit(network, full_at, wanted_bps[job], job) <= lowest * (1 + 1e-12):
                growing[job] = False
                rate_bps[job] = min(wanted_bps[job], lowest * network.weight[job])
                throttled = throttled or rate_bps[job] < wanted_bps[job] * (1 - 1e-9)
                for link in range(n_links):
                    if network.crosses[job, link]:
                        room_bps[link] -= rate_bps[job]
    return throttled


@njit(cache=True)
def _limit(network: Network, full_at: NDArray[np.float64], wanted_bps: float, job: int) -> float:
    """Return the share, per unit of weight, at which a job stops growing."""
    limit = wanted_bps / network.weight[job]
    for link in range(full_at.size):
        if network.crosses[job, link]:
            limit = min(limit, full_at[link])
    return limit
