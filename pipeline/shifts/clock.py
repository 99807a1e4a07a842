"""`Clock`: the period of every job of a component, and which of them keep a phase to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.compat.demand import demand_of
from pipeline.compat.pacing import held_profile, plan_slots
from pipeline.compat.relations import beat_of, tie_periods
from pipeline.shifts.standing import is_interleaved, present_slots
from pipeline.simulation.job import jitter_of

if TYPE_CHECKING:
    from pipeline.affinity import Component
    from pipeline.compat.demand import Demand
    from pipeline.compat.pacing import SlotPlan
    from profiler.phases import TrafficProfile

__all__ = ["Clock", "clock_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Periods of the jobs of a component.

    Parameters
    ----------
    slots
        The slots that jobs are held to; None where they keep their own periods.
    period_ns
        Of each job, in order of names.
    pool
        Number of the pool of jobs with which each keeps a phase (`tie_periods`).
    """

    slots: SlotPlan | None
    period_ns: Mapping[str, int]
    pool: Mapping[str, int]

    def held(self, profile: TrafficProfile, *, job: str) -> TrafficProfile:
        """Return what a job sends over some link when it keeps its slots."""
        if self.slots is None or (profile.period_error_s is None and profile.period_s == self.slots.slot_s[job]):
            return profile
        return held_profile(profile, slot_s=self.slots.slot_s[job])

    def demand(self, profile: TrafficProfile, *, job: str) -> Demand:
        """Return a job's demand on some link, at the job's period."""
        demand = demand_of(self.held(profile, job=job), name=f"job {job}")
        period_ns = self.period_ns[job]
        return demand if demand.period_ns == period_ns else demand.scaled(period_ns)


def clock_of(component: Component) -> Clock:
    """Return the common clock of a component.

    If any link needs pacing, all jobs of the component are held to slots of one common period: one that is not held
    loses its phase to those that are. Else nobody is held, since a slot as long as the iteration leaves no time to make
    good a late one; measured periods are tied where they agree within their errors. Jobs that are interleaved already
    need no other slots than the period that they have.
    """
    own: dict[str, TrafficProfile] = {}
    for link in component.links:
        own.update({job: profile for job, profile in link.demands.items() if job not in own})
    own = {job: own[job] for job in component.jobs}
    untied = Clock(slots=_slots(component, own), period_ns={}, pool={})
    held = {job: untied.held(profile, job=job) for job, profile in own.items()}
    beats = [beat_of(profile, jitter_frac=jitter_of(profile)) for profile in held.values()]
    tied = tie_periods([demand_of(profile, name=f"job {job}") for job, profile in held.items()], beats)
    return Clock(
        slots=untied.slots,
        period_ns={job: demand.period_ns for job, demand in zip(held, tied.demands, strict=True)},
        pool={component.jobs[i]: pool for pool, members in enumerate(tied.pools) for i in members},
    )


def _slots(component: Component, own: Mapping[str, TrafficProfile]) -> SlotPlan | None:
    paced = [link for link in component.links if link.compatibility.verdict == "paced"]
    if not paced:
        return None
    present = present_slots(own) if all(is_interleaved(link) for link in paced) else None
    return present or plan_slots(own)
