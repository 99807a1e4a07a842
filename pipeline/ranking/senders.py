"""`Sender`: what ranking has to know of a job's traffic, made once and used on every link of every candidate."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from pipeline.compat.members import members_of
from pipeline.compat.relations import beat_of
from pipeline.simulation.job import jitter_of

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Levels
    from pipeline.compat.relations import Beat
    from profiler.phases import TrafficProfile

__all__ = ["Rhythm", "Sender", "senders_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rhythm:
    """The demand of a periodic job's rank, and how well its period is known."""

    demand: Demand
    beat: Beat

    def loaded(self, load_frac: float) -> Self:
        """Return the rhythm with the demand that a link sees, which carries it so many times."""
        if load_frac == 1.0:
            return self
        return replace(self, demand=replace(self.demand, rate_bps=self.demand.rate_bps * load_frac))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sender:
    """One job, and what one of its ranks sends.

    Parameters
    ----------
    job
        Its name.
    kind
        Jobs of one kind have the same traffic, so that what is found out about one holds for the other.
    profile
        As given.
    rhythm
        None for a job without a period, which takes capacity and gets no shift.
    levels
        How much such a job takes for how much of the time; nothing for one with a rhythm.
    is_seen
        Whether anything is known of how much it sends.
    """

    job: str
    kind: int
    profile: TrafficProfile
    rhythm: Rhythm | None
    levels: Levels
    is_seen: bool

    @property
    def peak_bps(self) -> float:
        """Highest rate that is counted."""
        return float(self.levels.rate_bps[-1]) if self.rhythm is None else self.rhythm.demand.peak_bps

    def taken(self, load_frac: float) -> Levels:
        """Return the capacity that a job without a period takes of a link that carries it so many times."""
        return replace(self.levels, rate_bps=self.levels.rate_bps * load_frac)


def senders_of(profiles: Mapping[str, TrafficProfile]) -> dict[str, Sender]:
    """Return what each job sends.

    Raises
    ------
    UsageError
        If the phases or rates of a profile make no sense.
    """
    kinds: dict[Hashable, int] = {}
    senders = {}
    for job, profile in profiles.items():
        members = members_of({job: profile})
        rhythm = None
        if job in members.demands:
            beat = beat_of(profile, jitter_frac=jitter_of(profile))
            rhythm = Rhythm(demand=members.demands[job], beat=beat)
        levels = members.background
        kind = kinds.setdefault(_traits(rhythm, levels), len(kinds))
        senders[job] = Sender(
            job=job, kind=kind, profile=profile, rhythm=rhythm, levels=levels, is_seen=job not in members.unseen
        )
    return senders


def _traits(rhythm: Rhythm | None, levels: Levels) -> Hashable:
    if rhythm is None:
        return levels.rate_bps.tobytes(), levels.weight.tobytes()
    demand = rhythm.demand
    return demand.period_ns, demand.edges_ns.tobytes(), demand.rate_bps.tobytes(), rhythm.beat
