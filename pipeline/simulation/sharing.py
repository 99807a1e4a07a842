"""Weighted max-min fair sharing of links, by progressive filling [1]_.

.. [1] D. Bertsekas, R. Gallager, "Data Networks", 2nd ed., 1992, section 6.5.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Network", "share_links"]

ROUNDING: Final = 1e-12
"""Shares that differ by this fraction are one."""


class Network(NamedTuple):
    """Who crosses what: ``capacity_bps`` (n_links,), ``crosses`` bool (n_jobs, n_links), ``weight`` (n_jobs,)."""

    capacity_bps: NDArray[np.float64]
    crosses: NDArray[np.bool_]
    weight: NDArray[np.float64]


@njit(cache=True)
def share_links(network: Network, wanted_bps: NDArray[np.float64], rate_bps: NDArray[np.float64]) -> None:
    """Give each job its share.

    Parameters
    ----------
    network
        Links, and the jobs on them.
    wanted_bps
        The rate that each job would send at alone, 0 for one that does not send; float64, shape (n_jobs,).
    rate_bps
        Where the answer is written; float64, shape (n_jobs,).

    Notes
    -----
    All shares grow together in proportion to the weights; a job stops growing when it has what it wants or when a link
    that it crosses is full. Cost: at most n_jobs rounds of O(n_jobs n_links).
    """
    room_bps = network.capacity_bps.copy()
    growing = wanted_bps > 0
    rate_bps[:] = 0.0
    while growing.any():
        full_at = _full_at(network, growing, room_bps)
        limit = np.full(growing.size, np.inf)
        for job in range(growing.size):
            if growing[job]:
                limit[job] = _limit(network, full_at, wanted_bps[job], job)
        share = limit.min()
        for job in range(growing.size):
            if limit[job] <= share * (1 + ROUNDING):
                growing[job] = False
                rate_bps[job] = min(wanted_bps[job], share * network.weight[job])
                room_bps -= network.crosses[job] * rate_bps[job]


@njit(cache=True)
def _full_at(network: Network, growing: NDArray[np.bool_], room_bps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share, per unit of weight, at which each link is full; infinite if nothing on it grows."""
    full_at = np.full(room_bps.size, np.inf)
    for link in range(room_bps.size):
        weight = 0.0
        for job in range(growing.size):
            if growing[job] and network.crosses[job, link]:
                weight += network.weight[job]
        if weight > 0:
            full_at[link] = max(0.0, room_bps[link]) / weight
    return full_at


@njit(cache=True)
def _limit(network: Network, full_at: NDArray[np.float64], wanted_bps: float, job: int) -> float:
    """Return the share, per unit of weight, at which a job stops growing."""
    limit = wanted_bps / network.weight[job]
    for link in range(full_at.size):
        if network.crosses[job, link]:
            limit = min(limit, full_at[link])
    return float(limit)
