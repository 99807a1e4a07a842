"""`Burst`: one phase in which a job sends, and which of them a demand is in between any two edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.demand import Demand
    from profiler.phases import Phase, TrafficProfile

__all__ = ["Burst", "Part", "part_of"]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Burst:
    """A phase with a rate; ``number`` counts a job's from 1 on, its first Up phase first."""

    job: str
    number: int
    kind: Literal["up", "down"]
    start_s: float
    width_s: float
    rate_bps: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """A job of a scene: its demand and shift, and its bursts.

    Parameters
    ----------
    demand, shift_ns
        What it sends, and by how much later it begins.
    bursts
        The job's bursts in the order of their numbers.
    number
        Which burst each edge of the demand begins, 0 where it begins silence; int64, shape (n_edges,).
    """

    demand: Demand
    shift_ns: int
    bursts: tuple[Burst, ...]
    number: NDArray[np.int64]

    @property
    def rate_of(self) -> NDArray[np.float64]:
        """Rate of silence and of each burst, by number; float64, shape (n_bursts + 1,)."""
        return np.array([0.0, *(burst.rate_bps for burst in self.bursts)])


def part_of(profile: TrafficProfile, demand: Demand, *, job: str, shift_ns: int) -> Part:
    """Return a job's part in a scene.

    Parameters
    ----------
    profile
        The job's own.
    demand
        That of the profile, maybe stretched to a related period or held to a slot: its bursts follow each other in
        the same order.
    job, shift_ns
        The job's name and shift.
    """
    n_edges = demand.edges_ns.size
    order = (np.arange(n_edges) + _first_up(profile, demand)) % n_edges
    sending = order[demand.rate_bps[order] > 0]
    number = np.zeros(n_edges, dtype=np.int64)
    number[sending] = np.arange(1, sending.size + 1)
    kinds = [phase.kind for phase in _in_order(profile) if phase.rate_bps > 0]
    bursts = tuple(
        Burst(
            job=job,
            number=n,
            kind=kinds[n - 1] if len(kinds) == sending.size else "up",
            start_s=float(demand.edges_ns[edge]) / NS_PER_S,
            width_s=float(demand.widths_ns[edge]) / NS_PER_S,
            rate_bps=float(demand.rate_bps[edge]),
        )
        for n, edge in enumerate(sending.tolist(), start=1)
    )
    return Part(demand=demand, shift_ns=shift_ns, bursts=bursts, number=number)


def _first_up(profile: TrafficProfile, demand: Demand) -> int:
    """Return the edge at which the first Up phase begins."""
    start_ns = round(_in_order(profile)[0].start_s * NS_PER_S)
    away_ns = (demand.edges_ns - start_ns) % demand.period_ns
    return int(np.argmin(np.minimum(away_ns, demand.period_ns - away_ns)))


def _in_order(profile: TrafficProfile) -> list[Phase]:
    """Return the phases of an iteration, its first Up phase first."""
    phases = sorted(profile.phases, key=lambda phase: phase.start_s)
    first = next((i for i, phase in enumerate(phases) if phase.kind == "up" and phase.rate_bps > 0), 0)
    return phases[first:] + phases[:first]
