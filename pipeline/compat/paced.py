"""What pacing could reach: every job held to its slot, solved exactly on the slots' common period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.compat.bounds import lower_bound
from pipeline.compat.demand import demand_of
from pipeline.compat.groups import Group
from pipeline.compat.pacing import held_profile, lead_of, plan_slots
from pipeline.compat.plateaus import ranges_of, with_ranges
from pipeline.compat.result import JobShift
from pipeline.compat.solver import place_jobs
from pipeline.compat.timeline import Circle
from pipeline.deadline import NEVER
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import numpy as np

    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess
    from pipeline.deadline import Deadline
    from profiler.phases import TrafficProfile

__all__ = ["PacedShifts", "paced_shifts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PacedShifts:
    """Shift and slot of each job, its demand when it holds them, and the mean excess when all do."""

    shifts: tuple[JobShift, ...]
    demands: tuple[Demand, ...]
    excess_bps: float


def paced_shifts(
    profiles: Mapping[str, TrafficProfile],
    *,
    excess: Excess,
    rng: np.random.Generator,
    within_bps: float = 0.0,
    deadline: Deadline = NEVER,
) -> PacedShifts:
    """Return the best shifts of jobs that are held to slots, the first job's being 0.

    Parameters
    ----------
    profiles
        Of the jobs, all periodic.
    excess
        What a rate costs.
    rng
        Source of random starts.
    within_bps
        Mean excess above the least that a good shift may have.
    deadline
        When it is over, the best so far is returned.
    """
    slots = plan_slots(profiles)
    held = {name: held_profile(profile, slot_s=slots.slot_s[name]) for name, profile in profiles.items()}
    demands = [demand_of(profile, name=f"job {name}") for name, profile in held.items()]
    circle = Circle(demands=demands, excess=excess)
    found = place_jobs(circle, bound_bps=lower_bound(demands, excess=excess), rng=rng, deadline=deadline)
    group = Group(members=tuple(range(len(demands))), timeline=circle, excess=excess, shifts_ns=found.shifts_ns)
    ranges = ranges_of(demands, [group], within_bps=within_bps, deadline=deadline)
    shifts = tuple(
        with_ranges(
            JobShift(
                job=name,
                shift_s=shift_ns / NS_PER_S,
                lead_s=lead_of(profiles[name]),
                pace_period_s=slots.slot_s[name],
                stretch_frac=slots.stretch_frac[name],
            ),
            of_job,
        )
        for name, shift_ns, of_job in zip(profiles, found.shifts_ns, ranges, strict=True)
    )
    return PacedShifts(shifts=shifts, demands=tuple(demands), excess_bps=found.excess_bps)
