"""Weighted max-min fair sharing of links, by progressive filling [1]_, compiled by numba.

.. [1] D. Bertsekas, R. Gallager, "Data Networks", 2nd ed., 1992, section 6.5.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.simulation.records import CrossingRecord, JobRecord, LinkRecord, RunRecord

__all__ = ["Network", "share_links"]

ROUNDING: Final = 1e-12
"""Shares that differ by this fraction are one."""

FULL: Final = 1e-9
"""A link with less room than this fraction, after what others took of it, is full."""

SAME_AGE_S: Final = 1e-9
"""Flows that begin within a nanosecond are equally old: what lies between them is rounding."""

TRICKLE: Final = 1e-15
"""Least share of what a flow wants, so that rounding never stops one for ever."""


class Network(NamedTuple):
    """Links, and who sends over them.

    Of ``sending`` the first ``run.n_sending`` are the jobs that send. ``meets``, bool (n_jobs, n_jobs), says whose
    traffic shares a link; it is read only where ``run.older_weight``, the weight of the older one of two flows against
    the younger one, is not 1.
    """

    jobs: NDArray[np.void]
    links: NDArray[np.void]
    crossings: NDArray[np.void]
    sending: NDArray[np.int64]
    meets: NDArray[np.bool_]


@njit(cache=True)
def share_links(network: Network, run: RunRecord) -> None:
    """Give each job that sends its share.

    Notes
    -----
    All shares grow together in proportion to the weights; a job stops growing when it has what it wants or when a link
    that it crosses is full. Cost: O(n_sending) a round, and as many rounds as there are distinct levels, mostly 1 or 2
    on one link.
    """
    if run.older_weight != 1.0:
        _weigh_by_age(network, run)
    if network.links.size == 1:
        if not _fits_one(network, run):
            _share_one(network, run)
    elif not _fit_many(network, run):
        _share_many(network, run)


@njit(cache=True)
def _weigh_by_age(network: Network, run: RunRecord) -> None:
    """Weigh each flow by the share of those it meets that are younger: the oldest weighs most, the youngest 1."""
    jobs, sending = network.jobs, network.sending
    for i in range(run.n_sending):
        one: JobRecord = jobs[sending[i]]
        n_met = 0
        n_younger = 0
        for k in range(run.n_sending):
            if k != i and network.meets[sending[i], sending[k]]:
                n_met += 1
                n_younger += jobs[sending[k]].begun_s > one.begun_s + SAME_AGE_S
        one.heft = one.weight
        if n_younger > 0:
            one.heft *= run.older_weight ** (n_younger / n_met)


@njit(cache=True)
def _fits_one(network: Network, run: RunRecord) -> bool:
    """Give everyone what he wants of the one link, and return whether it carries that."""
    link: LinkRecord = network.links[0]
    asked_bps = 0.0
    for i in range(run.n_sending):
        one: JobRecord = network.jobs[network.sending[i]]
        one.rate_bps = one.wanted_bps
        asked_bps += one.wanted_bps * network.crossings[one.first_crossing].load
    link.is_full = asked_bps > link.capacity_bps * (1 + ROUNDING)
    return link.is_full == 0


@njit(cache=True)
def _share_one(network: Network, run: RunRecord) -> None:
    """Fill the one link: a closed form once it is known who gets all that he wants."""
    jobs, sending, crossings = network.jobs, network.sending, network.crossings
    for i in range(run.n_sending):
        jobs[sending[i]].rate_bps = 0.0
    n_content = 1
    level = 0.0
    while n_content > 0:
        room_bps = network.links[0].capacity_bps
        heft = 0.0
        for i in range(run.n_sending):
            one: JobRecord = jobs[sending[i]]
            load = crossings[one.first_crossing].load
            room_bps -= load * one.rate_bps
            heft += load * one.heft if one.rate_bps == 0.0 else 0.0
        level = room_bps / heft if heft > 0 else 0.0
        n_content = 0
        for i in range(run.n_sending):
            one = jobs[sending[i]]
            if one.rate_bps == 0.0 and one.wanted_bps <= level * one.heft:
                one.rate_bps = one.wanted_bps
                n_content += 1
    for i in range(run.n_sending):
        one = jobs[sending[i]]
        if one.rate_bps == 0.0:
            one.rate_bps = max(level * one.heft, TRICKLE * one.wanted_bps)


@njit(cache=True)
def _fit_many(network: Network, run: RunRecord) -> bool:
    """Give everyone what he wants if all links carry that; else lay out the empty links and return False."""
    links = network.links
    for at in range(links.size):
        links[at].room_bps = links[at].capacity_bps
        links[at].heft = 0.0
        links[at].is_full = 0
    fits = True
    for i in range(run.n_sending):
        one: JobRecord = network.jobs[network.sending[i]]
        one.rate_bps = one.wanted_bps
        for at in range(one.first_crossing, one.end_crossing):
            crossing: CrossingRecord = network.crossings[at]
            link: LinkRecord = links[crossing.link]
            link.room_bps -= crossing.load * one.wanted_bps
            link.heft += crossing.load * one.heft
            fits = fits and link.room_bps >= -ROUNDING * link.capacity_bps
    if not fits:
        for at in range(links.size):
            links[at].room_bps = links[at].capacity_bps
    return fits


@njit(cache=True)
def _share_many(network: Network, run: RunRecord) -> None:
    """Fill several links: in each round stop the flows whose limit is the lowest."""
    jobs, sending = network.jobs, network.sending
    for i in range(run.n_sending):
        jobs[sending[i]].rate_bps = 0.0
    n_growing = run.n_sending
    while n_growing > 0:
        share = np.inf
        for i in range(run.n_sending):
            one: JobRecord = jobs[sending[i]]
            if one.rate_bps == 0.0:
                one.limit = _limit(network, one)
                share = min(share, one.limit)
        for i in range(run.n_sending):
            one = jobs[sending[i]]
            if one.rate_bps == 0.0 and one.limit <= share + ROUNDING * abs(share):
                _stop(network, one)
                n_growing -= 1


@njit(cache=True)
def _limit(network: Network, one: JobRecord) -> float:
    """Return the share, per unit of weight, at which a job stops growing."""
    limit = one.wanted_bps / one.heft
    for at in range(one.first_crossing, one.end_crossing):
        link: LinkRecord = network.links[network.crossings[at].link]
        limit = min(limit, link.room_bps / link.heft)
    return limit


@njit(cache=True)
def _stop(network: Network, one: JobRecord) -> None:
    """Give a job its share, and take it from its links."""
    rate_bps = max(min(one.wanted_bps, one.limit * one.heft), TRICKLE * one.wanted_bps)
    is_hindered = rate_bps < one.wanted_bps * (1 - ROUNDING)
    for at in range(one.first_crossing, one.end_crossing):
        crossing: CrossingRecord = network.crossings[at]
        link: LinkRecord = network.links[crossing.link]
        if is_hindered and link.room_bps <= one.limit * link.heft * (1 + FULL):
            link.is_full = 1
        link.room_bps -= crossing.load * rate_bps
        link.heft -= crossing.load * one.heft
    one.rate_bps = rate_bps
