"""`Crossing` and `Fits`: where jobs meet, and how well they fit there; a problem that comes again is solved once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.classes import place_classes
from pipeline.compat.levels import Excess, independent_levels
from pipeline.compat.relations import tie_periods

if TYPE_CHECKING:
    from pipeline.deadline import Deadline
    from pipeline.ranking.senders import Rhythm, Sender
    from pipeline.topology import Direction

__all__ = ["Crossing", "Fit", "Fits", "Place", "crossings_of"]

Place = tuple[str, "Direction"]
"""A link and a direction on it."""

SEED: Final = 0
"""Of the random starts with four jobs and more: the same problem has the same answer wherever it comes."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The best shifts that were found of a link's periodic jobs for this link alone.

    Parameters
    ----------
    jobs
        The periodic jobs.
    shifts_ns
        One each.
    classes
        Jobs, by index, that keep a phase relative to each other.
    excess
        What a rate of theirs costs beside all traffic that has no period.
    excess_bps
        Mean excess over the capacity at these shifts.
    is_contended
        Whether the peaks of all together exceed the capacity.
    """

    jobs: tuple[str, ...]
    shifts_ns: tuple[int, ...]
    classes: tuple[tuple[int, ...], ...]
    excess: Excess
    excess_bps: float
    is_contended: bool

    @property
    def binds(self) -> bool:
        """Whether there are jobs with a period, and they may be in each other's way."""
        return self.is_contended and bool(self.jobs)


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


class Fits:
    """The fits of crossings, remembered by what the jobs send and not by their names.

    Once the deadline is over, they are no more than the best so far.
    """

    def __init__(self, senders: Mapping[str, Sender], *, deadline: Deadline) -> None:
        self._senders = senders
        self._deadline = deadline
        self._known: dict[tuple[float, tuple[tuple[int, float], ...]], Fit] = {}

    def fit(self, crossing: Crossing) -> Fit:
        """Return how the jobs of a crossing fit on each of its links."""
        members = sorted((self._senders[job].kind, load_frac, job) for job, load_frac in crossing.load_frac)
        problem = (crossing.capacity_bps, tuple((kind, load_frac) for kind, load_frac, _ in members))
        loads = [(self._senders[job], load_frac) for _, load_frac, job in members]
        if problem not in self._known:
            self._known[problem] = _solve(loads, capacity_bps=crossing.capacity_bps, deadline=self._deadline)
        return replace(self._known[problem], jobs=tuple(sender.job for sender, _ in loads if sender.rhythm))


def _solve(loads: Sequence[tuple[Sender, float]], *, capacity_bps: float, deadline: Deadline) -> Fit:
    rhythms = [sender.rhythm.loaded(load_frac) for sender, load_frac in loads if sender.rhythm is not None]
    others = independent_levels(sender.taken(load_frac) for sender, load_frac in loads if sender.rhythm is None)
    excess = Excess(capacity_bps=capacity_bps, others=others)
    alone = Fit(
        jobs=(),
        shifts_ns=(0,) * len(rhythms),
        classes=tuple((i,) for i in range(len(rhythms))),
        excess=excess,
        excess_bps=float(excess(np.zeros(1))[0]),
        is_contended=sum(sender.peak_bps * load_frac for sender, load_frac in loads) > capacity_bps,
    )
    return _placed(rhythms, alone, deadline=deadline) if alone.is_contended and rhythms else alone


def _placed(rhythms: Sequence[Rhythm], alone: Fit, *, deadline: Deadline) -> Fit:
    """Return the best that descents find: a proof would take longer than all the rest of a candidate."""
    tied = tie_periods([rhythm.demand for rhythm in rhythms], [rhythm.beat for rhythm in rhythms])
    found = place_classes(
        tied.demands,
        pools=tied.pools,
        excess=alone.excess,
        rng=np.random.default_rng(SEED),
        deadline=deadline,
        effort="descent",
    )
    return replace(
        alone,
        shifts_ns=found.placement.shifts_ns,
        classes=found.classes,
        excess_bps=found.placement.excess_bps,
    )
