"""`LinkNetwork`: the jobs and links of one component as demands, and what given shifts cost on all links together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.compat.bounds import lower_bound
from pipeline.compat.classes import fits_circle, place_classes, seen_by
from pipeline.compat.demand import demand_of
from pipeline.compat.kernel import add_curves
from pipeline.compat.levels import Excess, Levels
from pipeline.compat.members import members_of
from pipeline.compat.pacing import held_profile, jitter_of, plan_slots
from pipeline.compat.relations import beat_of, tie_periods
from pipeline.compat.timeline import Circle, excess_at
from pipeline.shifts.standing import is_interleaved, present_slots

if TYPE_CHECKING:
    import numpy as np

    from pipeline.affinity import Component, SolvedLink
    from pipeline.compat.demand import Demand
    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.pacing import SlotPlan
    from profiler.phases import TrafficProfile

__all__ = ["Binding", "LinkNetwork", "network_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One link, or a class of jobs on it: their demands on a common circle, and the best shifts on this link alone.

    ``bound_bps`` is the least mean excess that any shifts could have.
    """

    jobs: tuple[str, ...]
    circle: Circle
    best_ns: Mapping[str, int]
    bound_bps: float

    @property
    def capacity_bps(self) -> float:
        """Capacity of the link."""
        return self.circle.excess.capacity_bps

    def excess_bps(self, shifts_ns: Mapping[str, int]) -> float:
        """Return the mean excess at given shifts."""
        return excess_at(self.circle, [shifts_ns[job] for job in self.jobs])

    def curve(self, job: str, shifts_ns: Mapping[str, int]) -> ShiftCurve:
        """Return the mean excess against the shift of one job, the others standing still."""
        i_job = self.jobs.index(job)
        beside = [i for i in range(len(self.jobs)) if i != i_job]
        return self.circle.curve(i_job, shifts_ns=[shifts_ns[name] for name in self.jobs], beside=beside)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkNetwork:
    """Jobs bound by links; ``slots`` is None where they keep their own periods, ``period_ns`` maps each job to its."""

    jobs: tuple[str, ...]
    bindings: tuple[Binding, ...]
    period_ns: Mapping[str, int]
    slots: SlotPlan | None

    def cost(self, shifts_ns: Mapping[str, int]) -> float:
        """Return the sum over links of mean excess over capacity."""
        return sum(binding.excess_bps(shifts_ns) / binding.capacity_bps for binding in self.bindings)

    def gap(self, shifts_ns: Mapping[str, int]) -> float:
        """Return by how much, summed over links, the score at given shifts may lie below each link's best."""
        return sum(
            max(0.0, binding.excess_bps(shifts_ns) - binding.bound_bps) / binding.capacity_bps
            for binding in self.bindings
        )

    def curve(self, job: str, shifts_ns: Mapping[str, int]) -> ShiftCurve:
        """Return the cost of one job's links against its shift, the others standing still."""
        bindings = [binding for binding in self.bindings if job in binding.jobs]
        return add_curves(
            [binding.curve(job, shifts_ns) for binding in bindings],
            weights=[1 / binding.capacity_bps for binding in bindings],
            period_ns=self.period_ns[job],
        )


def network_of(component: Component, *, rng: np.random.Generator) -> LinkNetwork:
    """Lay out the jobs of a component on one clock, and solve each of its links alone.

    If any link needs pacing, all jobs of the component are held to slots of one common period; else they keep their own
    periods, measured ones tied where they agree within their errors. Jobs that are interleaved already need no other
    slots than the period that they have.
    """
    own = {job: next(link.demands[job] for link in component.links if job in link.demands) for job in component.jobs}
    slots = _slots(component, own)
    if slots is not None:
        own = {job: held_profile(profile, slot_s=slots.slot_s[job]) for job, profile in own.items()}
    beats = [beat_of(profile, jitter_frac=jitter_of(profile)) for profile in own.values()]
    tied = tie_periods([demand_of(profile, name=job) for job, profile in own.items()], beats)
    clock = _Clock(
        slots=slots,
        period_ns={job: demand.period_ns for job, demand in zip(own, tied.demands, strict=True)},
        pool={component.jobs[i]: pool for pool, members in enumerate(tied.pools) for i in members},
    )
    bindings = tuple(binding for link in component.links for binding in _bind(link, clock=clock, rng=rng))
    return LinkNetwork(jobs=component.jobs, bindings=bindings, period_ns=clock.period_ns, slots=slots)


def _slots(component: Component, own: Mapping[str, TrafficProfile]) -> SlotPlan | None:
    paced = [link for link in component.links if link.compatibility.verdict == "paced"]
    if all(is_interleaved(link) for link in paced):
        present = present_slots(own)
        if present is not None or not paced:
            return present
    return plan_slots(own)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    """Period of each job, and the pool of jobs with which it keeps a phase (`tie_periods`)."""

    slots: SlotPlan | None
    period_ns: Mapping[str, int]
    pool: Mapping[str, int]

    def demand(self, profile: TrafficProfile, *, job: str) -> Demand:
        """Return a job's demand on some link, at the job's period."""
        if self.slots is not None:
            profile = held_profile(profile, slot_s=self.slots.slot_s[job])
        return demand_of(profile, name=job).scaled(self.period_ns[job])


def _bind(link: SolvedLink, *, clock: _Clock, rng: np.random.Generator) -> Iterator[Binding]:
    """Return one binding for each class of jobs of a link that keep a phase to each other."""
    members = members_of(link.demands)
    excess = Excess(capacity_bps=link.capacity_bps, others=Levels.certain(members.background_bps))
    jobs = list(members.profiles)
    demands = [clock.demand(members.profiles[job], job=job) for job in jobs]
    pools = [[i for i, job in enumerate(jobs) if clock.pool[job] == pool] for pool in sorted(set(clock.pool.values()))]
    placed = place_classes(demands, pools=[pool for pool in pools if pool], excess=excess, rng=rng)
    shifts_ns = placed.placement.shifts_ns
    for i_class, places in enumerate(placed.classes):
        of_class = [demands[i] for i in places]
        if len(places) < 2 or not fits_circle(of_class):
            continue
        seen = seen_by(i_class, placed.classes, demands=demands, shifts=shifts_ns, excess=excess)
        circle = Circle(demands=of_class, excess=seen)
        yield Binding(
            jobs=tuple(jobs[i] for i in places),
            circle=circle,
            best_ns={jobs[i]: shifts_ns[i] for i in places},
            bound_bps=min(lower_bound(of_class, excess=seen), excess_at(circle, [shifts_ns[i] for i in places])),
        )
