"""Descent over all links at once, for affinity graphs with loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np

    from pipeline.shifts.network import LinkNetwork

__all__ = ["descend_links", "search_links"]

N_KICKS: Final = 12
MAX_ROUNDS: Final = 32
TOLERANCE: Final = 1e-12


def search_links(network: LinkNetwork, shifts_ns: dict[str, int], *, rng: np.random.Generator) -> dict[str, int]:
    """Return shifts that cost at most as much as the given ones.

    Descends, then moves a link, drawn by how far it is from its own best, to that best, and descends again; what
    costs less is kept.
    """
    best = descend_links(network, shifts_ns)
    best_cost = network.cost(best)
    for _ in range(N_KICKS):
        gaps = [
            max(0.0, binding.excess_bps(best) - binding.bound_bps) / binding.capacity_bps
            for binding in network.bindings
        ]
        if sum(gaps) <= TOLERANCE:
            break
        kicked = network.bindings[int(rng.choice(len(gaps), p=[gap / sum(gaps) for gap in gaps]))]
        start = {**best, **{job: kicked.best_ns[job] for job in kicked.jobs}}
        found = descend_links(network, start)
        found_cost = network.cost(found)
        if found_cost < best_cost - TOLERANCE:
            best, best_cost = found, found_cost
    return best


def descend_links(network: LinkNetwork, shifts_ns: dict[str, int]) -> dict[str, int]:
    """Move one job after the other to where its links together cost least, until no job can improve."""
    shifts = dict(shifts_ns)
    cost = network.cost(shifts)
    for _ in range(MAX_ROUNDS):
        for job in network.jobs[1:]:
            curve = network.curve(job, shifts)
            if curve.minimum_bps < float(curve.at(shifts[job])) - TOLERANCE:
                shifts[job] = curve.best_shift_ns()
        reached = network.cost(shifts)
        if reached >= cost - TOLERANCE:
            break
        cost = reached
    return shifts
