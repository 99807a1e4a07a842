"""A plan as the simulator follows it: when each job begins, and the slots that it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from pipeline.simulation.job import Pace
from profiler.documents import Fields
from profiler.errors import BadInput, UsageError

if TYPE_CHECKING:
    from pipeline.simulation.job import SimulatedJob

__all__ = ["PlannedShift", "Shift", "follow_plan", "read_plan"]

PLAN_KINDS: Final = ("shift_plan", "analysis", "compat")
"""Documents of Offbeat that carry shifts: those that `profiler.pacer` reads."""

VERSION: Final = 1
"""Of these documents; the pacer reads no other either."""


class PlannedShift(Protocol):
    """What a plan says of one job; `pipeline.compat.JobShift` is one."""

    @property
    def job(self) -> str:
        """Name of the job."""

    @property
    def shift_s(self) -> float:
        """Start of an iteration after the common anchor, in seconds."""

    @property
    def pace_period_s(self) -> float | None:
        """Slot period to hold, in seconds; None if the job is not paced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """What a plan document says of one job."""

    job: str
    shift_s: float
    pace_period_s: float | None = None


def follow_plan(jobs: Sequence[SimulatedJob], shifts: Iterable[PlannedShift]) -> list[SimulatedJob]:
    """Return the jobs as a plan would have them; those that it does not name are left as they are.

    Raises
    ------
    UsageError
        If the plan names none of the jobs, or a slot has no meaning.
    """
    plan = {shift.job: shift for shift in shifts}
    if plan.keys().isdisjoint(job.name for job in jobs):
        raise UsageError(
            f"plan: it is for {', '.join(sorted(plan)) or 'no job'}, not for {', '.join(job.name for job in jobs)}; "
            "give a plan for these jobs"
        )
    return [_following(job, plan[job.name]) if job.name in plan else job for job in jobs]


def read_plan(document: Mapping[str, Any], *, place: str = "plan") -> tuple[Shift, ...]:
    """Read the shifts of a plan, an analysis, or the compatibility of one link.

    Raises
    ------
    BadInput
        If the document is none of these or of another version, or a value is not what it should be.
    """
    given = Fields(document, place=place)
    if document.get("kind") not in PLAN_KINDS:
        kind = document.get("kind")
        raise BadInput(
            f"{place}: kind is {kind!r}, expected one of {', '.join(PLAN_KINDS)}; write it with offbeat analyze"
        )
    if document.get("version") != VERSION:
        raise BadInput(
            f"{place}: version is {document.get('version')!r}, expected {VERSION}; use the offbeat that wrote it"
        )
    shifts = tuple(
        Shift(job=shift.text("job"), shift_s=shift.needed("shift_s"), pace_period_s=shift.number("pace_period_s"))
        for shift in given.objects("shifts", what="shift")
    )
    names = [shift.job for shift in shifts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"{place}: job {twice} has two shifts; leave one")
    return shifts


def _following(job: SimulatedJob, shift: PlannedShift) -> SimulatedJob:
    start_s = shift.shift_s + job.lead_s
    pace = None if shift.pace_period_s is None else Pace(period_s=shift.pace_period_s, shift_s=start_s)
    return replace(job, start_s=start_s, pace=pace)
