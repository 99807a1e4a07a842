"""`PackedNetwork`: a network of links as flat arrays, for the compiled loops of the search.

A *seat* is one job's place on one binding. Rates are fractions of the binding's capacity, so that a cost is one too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.levels import Excess
    from pipeline.shifts.bound_link import Binding
    from pipeline.shifts.network import LinkNetwork

__all__ = ["PackedNetwork", "pack"]


class PackedNetwork(NamedTuple):
    """Jobs, bindings and their seats; ``x_start`` arrays delimit what belongs to each, one entry longer than ``x``.

    Parameters
    ----------
    is_worst
        Whether the worst binding is what counts, and only then the weighted sum; else the sum alone.
    period_ns, is_free
        Of each job: its period, and whether it may be moved; shape (n_jobs,).
    weight, bound
        Of each binding: what it counts, and the least fraction of its capacity that can be in excess; (n_bindings,).
    seat_start, seat_job, seat_binding, seat_beside_ns
        Seats in order of bindings: the job, the binding, and the common period of the other jobs there; shape
        (n_seats,).
    job_start, job_seat
        The seats of each job; ``job_seat`` has shape (n_seats,).
    edge_start, edge_ns, rate
        The demand of each seat: times at which it changes and the rate from there on; shape (n_edges,).
    knot_start, knot, slope, offset
        The excess of each binding: ``slope[k] x - offset[k]`` where ``k`` knots lie below x; ``slope`` and ``offset``
        have one entry more than ``knot`` for each binding.
    """

    is_worst: bool
    period_ns: NDArray[np.int64]
    is_free: NDArray[np.bool_]
    weight: NDArray[np.float64]
    bound: NDArray[np.float64]
    seat_start: NDArray[np.int64]
    seat_job: NDArray[np.int64]
    seat_binding: NDArray[np.int64]
    seat_beside_ns: NDArray[np.int64]
    job_start: NDArray[np.int64]
    job_seat: NDArray[np.int64]
    edge_start: NDArray[np.int64]
    edge_ns: NDArray[np.int64]
    rate: NDArray[np.float64]
    knot_start: NDArray[np.int64]
    knot: NDArray[np.float64]
    slope: NDArray[np.float64]
    offset: NDArray[np.float64]


def pack(network: LinkNetwork, *, is_worst: bool) -> PackedNetwork:
    """Return the bindings of a network as arrays, its jobs in their order; pinned ones are not to be moved."""
    bindings = network.bindings
    place = {job: i for i, job in enumerate(network.jobs)}
    seat_job = _whole(place[job] for binding in bindings for job in binding.jobs)
    demands = [(demand, binding.capacity_bps) for binding in bindings for demand in binding.demands]
    knots = [_knots(binding.excess) for binding in bindings]
    return PackedNetwork(
        is_worst=is_worst,
        period_ns=_whole(network.clock.period_ns[job] for job in network.jobs),
        is_free=np.array([job not in network.pinned_ns for job in network.jobs], dtype=np.bool_),
        weight=np.array([binding.weight for binding in bindings], dtype=np.float64),
        bound=np.array([binding.bound_frac for binding in bindings], dtype=np.float64),
        seat_start=_starts(len(binding.jobs) for binding in bindings),
        seat_job=seat_job,
        seat_binding=_whole(i for i, binding in enumerate(bindings) for _ in binding.jobs),
        seat_beside_ns=_whole(beside_ns for binding in bindings for beside_ns in _beside(binding)),
        job_start=_starts(np.bincount(seat_job, minlength=len(place)).tolist()),
        job_seat=np.argsort(seat_job, kind="stable"),
        edge_start=_starts(demand.edges_ns.size for demand, _ in demands),
        edge_ns=_whole(edge_ns for demand, _ in demands for edge_ns in demand.edges_ns),
        rate=_joined([demand.rate_bps / capacity_bps for demand, capacity_bps in demands]),
        knot_start=_starts(knot.size for knot, _, _ in knots),
        knot=_joined([knot for knot, _, _ in knots]),
        slope=_joined([slope for _, slope, _ in knots]),
        offset=_joined([offset for _, _, offset in knots]),
    )


def _beside(binding: Binding) -> list[int]:
    periods_ns = [demand.period_ns for demand in binding.demands]
    return [math.lcm(*periods_ns[:i], *periods_ns[i + 1 :]) for i in range(len(periods_ns))]


def _knots(excess: Excess) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return where the excess bends, and the slope and offset between; see `Excess.__call__`."""
    knot = 1 - excess.others.rate_bps[::-1] / excess.capacity_bps
    weight = excess.others.weight[::-1]
    slope = np.concatenate([[0.0], np.cumsum(weight)])
    return knot, slope, np.concatenate([[0.0], np.cumsum(weight * knot)])


def _whole(values: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(values, dtype=np.int64)


def _starts(counts: Iterable[int]) -> NDArray[np.int64]:
    return np.array([0, *accumulate(counts)], dtype=np.int64)


def _joined(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate(parts) if parts else np.zeros(0)
