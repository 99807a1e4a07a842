"""`Alignment`: how the jobs of a link stand to each other in time, before and after the shift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline.report.demand import Demand
from pipeline.report.verdicts import needs_change
from profiler.units import NS_PER_S, format_duration

if TYPE_CHECKING:
    from pipeline.analysis import LinkAnalysis
    from pipeline.compat.result import JobShift
    from pipeline.shifts import ShiftPlan
    from profiler.phases import TrafficProfile

__all__ = ["Alignment", "after", "before"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alignment:
    """The demands of a link's jobs at one relation in time, and in words which relation that is."""

    title: str
    note: str
    demands: tuple[Demand, ...]
    leads_s: Mapping[str, float] = field(default_factory=dict)
    """How long after the first job each other one starts, where that is what was decided."""


def before(link: LinkAnalysis) -> Alignment:
    """Return the jobs as observed, or all starting together where that does not tell how it is.

    Their clocks may not relate them, or they may have been seen clear of each other though that need not last.
    The job that the plan starts first stands at time zero, so that the picture before and the one after compare.
    """
    anchors_ns = _anchors_ns(link)
    together = tuple(Demand.from_profile(job, profile) for job, profile in link.demands.items())
    if anchors_ns is None:
        note = "How the jobs stand to each other could not be observed, so all are drawn starting at once."
        return Alignment(title="Before: if all burst together", note=note, demands=together)
    seen = f"{datetime.fromtimestamp(max(anchors_ns.values()) // NS_PER_S, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    if link.were_apart and needs_change(link):
        note = f"Until {seen} they kept clear of each other, but not steadily: here all start at once."
        return Alignment(title="Before: if they drift together", note=note, demands=together)
    origin_ns = anchors_ns[_leader(link, anchors_ns)]
    return Alignment(
        title="As observed" if link.is_interleaved else "Before: as observed",
        note=f"Phases as they stood at {seen}; {_next(link)}.",
        demands=tuple(
            Demand.from_profile(job, profile, offset_s=_offset_s(profile, origin_ns))
            for job, profile in link.demands.items()
        ),
    )


def after(link: LinkAnalysis, plan: ShiftPlan) -> Alignment | None:
    """Return the jobs as the plan places them; None where no shift is recommended for the link."""
    if not needs_change(link):
        return None
    shifts = _shifts(link, plan)
    origin_s = min((shift.shift_s for shift in shifts.values()), default=0.0)
    slots_s = sorted({shift.pace_period_s for shift in shifts.values() if shift.pace_period_s is not None})
    demands = tuple(
        _shifted(job, profile, shift=shifts.get(job), origin_s=origin_s) for job, profile in link.demands.items()
    )
    leads_s = {demand.job: demand.offset_s for demand in demands if demand.offset_s > 0}
    if not slots_s:
        note = "Each job keeps its own period."
        return Alignment(title="After the shift", note=note, demands=demands, leads_s=leads_s)
    slots = " and ".join(format_duration(slot_s) for slot_s in slots_s)
    return Alignment(
        title=f"After: held to slots of {slots}",
        note="Each iteration starts its all-reduce in its slot; a job that is early waits for it.",
        demands=demands,
        leads_s=leads_s,
    )


def _next(link: LinkAnalysis) -> str:
    return "the jobs stood so steadily" if link.is_interleaved else "jobs that nobody holds drift from there"


def _shifted(job: str, profile: TrafficProfile, *, shift: JobShift | None, origin_s: float) -> Demand:
    if shift is None:
        return Demand.from_profile(job, profile)
    return Demand.from_profile(job, profile, offset_s=shift.shift_s - origin_s, slot_s=shift.pace_period_s)


def _shifts(link: LinkAnalysis, plan: ShiftPlan) -> dict[str, JobShift]:
    planned = {shift.job: shift for shift in plan.shifts if shift.job in link.demands}
    return planned or {shift.job: shift for shift in link.compatibility.shifts}


def _anchors_ns(link: LinkAnalysis) -> dict[str, int] | None:
    """Return when each periodic job began an iteration, or None where that does not relate them."""
    if link.compatibility.score_now is None:
        return None
    periodic = {job: profile.anchor_ns for job, profile in link.demands.items() if profile.period_s is not None}
    known = {job: anchor_ns for job, anchor_ns in periodic.items() if anchor_ns is not None}
    return known if known and len(known) == len(periodic) else None


def _leader(link: LinkAnalysis, anchors_ns: dict[str, int]) -> str:
    shifts_s = link.compatibility.shifts_s
    return min(anchors_ns, key=lambda job: (shifts_s.get(job, 0.0), job))


def _offset_s(profile: TrafficProfile, origin_ns: int) -> float:
    if profile.period_s is None or profile.anchor_ns is None:
        return 0.0
    return ((profile.anchor_ns - origin_ns) / NS_PER_S) % profile.period_s
