"""`Crossing`: links and directions that the same jobs load alike, as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.ranking.senders import Sender
    from pipeline.topology import Direction

__all__ = ["Crossing", "Place", "crossings_of"]

Place = tuple[str, "Direction"]
"""A link and a direction on it."""

LOAD_DIGITS: Final = 12
"""Loads are sums of shares such as thirds, whose last digits depend on the order of adding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """What some jobs ask of some links: the two directions of a ring, or the uplinks among which it divides.

    Parameters
    ----------
    capacity_bps
        Of each link.
    load_frac
        Each job with its load, in units of one rank's transmit rate, in order of names.
    places
        Where it is so.
    """

    capacity_bps: float
    load_frac: tuple[tuple[str, float], ...]
    places: tuple[Place, ...]


def crossings_of(
    loads: Mapping[str, Mapping[Place, float]],
    *,
    capacities_bps: Mapping[str, float],
    senders: Mapping[str, Sender],
) -> tuple[Crossing, ...]:
    """Return where two or more jobs share a link, and where one alone asks for more than there is.

    Parameters
    ----------
    loads
        By job, its load on each link and direction.
    capacities_bps
        Of each link.
    senders
        What each of the jobs sends.

    Returns
    -------
    tuple of Crossing
        In order of their first place.
    """
    jobs_at: defaultdict[Place, list[tuple[str, float]]] = defaultdict(list)
    for job in sorted(loads):
        for place, load_frac in loads[job].items():
            jobs_at[place].append((job, round(load_frac, LOAD_DIGITS)))
    alike: defaultdict[tuple[float, tuple[tuple[str, float], ...]], list[Place]] = defaultdict(list)
    for place in sorted(jobs_at):
        jobs, capacity_bps = jobs_at[place], capacities_bps[place[0]]
        if len(jobs) > 1 or senders[jobs[0][0]].peak_bps * jobs[0][1] > capacity_bps:
            alike[capacity_bps, tuple(jobs)].append(place)
    return tuple(
        Crossing(capacity_bps=capacity_bps, load_frac=jobs, places=tuple(places))
        for (capacity_bps, jobs), places in alike.items()
    )
