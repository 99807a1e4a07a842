"""Links: compatibility of the jobs on each (`solve_links`), and what one plan for all makes of it (`settle_links`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pipeline.analysis import LinkAnalysis
from pipeline.compat import Compatibility, solve
from pipeline.compat.prediction import Prediction
from pipeline.meetings import Meeting, demand_on
from pipeline.shifts import is_interleaved
from profiler.units import format_duration

if TYPE_CHECKING:
    from pipeline.compat.result import JobShift
    from pipeline.shifts import ShiftPlan
    from profiler.phases import TrafficProfile

__all__ = ["settle_links", "solve_links"]

PRESENT_FRAC: Final = 0.005
"""Slots that are longer than the present period by no more than this change nothing."""


def solve_links(meetings: Sequence[Meeting], own: Mapping[str, TrafficProfile]) -> tuple[LinkAnalysis, ...]:
    """Solve every meeting; one that equals another but for its place, as the two directions of a ring do, only once.

    Parameters
    ----------
    meetings
        The links on which jobs meet.
    own
        What each job would send alone.
    """
    solved: dict[tuple[float, tuple[tuple[str, float], ...]], Compatibility] = {}
    links = []
    for meeting in meetings:
        demands = demand_on(meeting, own)
        problem = (meeting.capacity_bps, tuple(sorted(meeting.load_frac.items())))
        if problem not in solved:
            solved[problem] = solve(demands, capacity_bps=meeting.capacity_bps)
        links.append(
            LinkAnalysis(
                link=meeting.link,
                direction=meeting.direction,
                capacity_bps=meeting.capacity_bps,
                demands=demands,
                compatibility=replace(solved[problem], link=meeting.link, direction=meeting.direction),
                shared_frac=meeting.shared_frac,
            )
        )
    return tuple(links)


def settle_links(links: Iterable[LinkAnalysis], plan: ShiftPlan) -> tuple[LinkAnalysis, ...]:
    """Say of each link what the plan for all links makes of it, where that is not what it would have for itself.

    Parameters
    ----------
    links
        As solved, each on its own.
    plan
        What was recommended for all of them.
    """
    shifts = {shift.job: shift for shift in plan.shifts}
    return tuple(
        _settle(link, plan, shifts={job: shifts[job] for job in link.demands if job in shifts}) for link in links
    )


def _settle(link: LinkAnalysis, plan: ShiftPlan, *, shifts: Mapping[str, JobShift]) -> LinkAnalysis:
    found = link.compatibility
    if found.verdict not in ("compatible", "paced"):
        return link
    planned = replace(found, shifts=tuple(shifts[shift.job] for shift in found.shifts))
    if is_interleaved(link) and all((shift.stretch_frac or 0.0) <= PRESENT_FRAC for shift in planned.shifts):
        return replace(link, is_interleaved=True, compatibility=_kept(planned))
    if (why := plan.why_left_out.get((link.link, link.direction))) is not None:
        return replace(link, compatibility=_left_out(planned, why=why))
    has_own_slots = _slots_s(found) == _slots_s(planned)
    if found.verdict == "compatible" or has_own_slots or not _slots_s(planned).keys() <= plan.planned.keys():
        return replace(link, compatibility=planned if found.verdict == "compatible" else found)
    return replace(link, compatibility=_rehearsed(planned, plan))


def _kept(planned: Compatibility) -> Compatibility:
    reason = (
        f"the bursts keep clear of each other (score {planned.score_now:.3f}, at best {planned.score_best:.3f}), in "
        "one period and with little jitter: keep what holds them there"
    )
    return replace(planned, reason=reason, predicted={})


def _left_out(planned: Compatibility, *, why: str) -> Compatibility:
    fits = "collide and would fit held to slots" if planned.verdict == "paced" else "would fit at other shifts"
    reason = f"the bursts {fits}, but {why}: leave them alone, or place one job on another link"
    return replace(planned, verdict="futile", reason=reason, predicted={})


def _rehearsed(planned: Compatibility, plan: ShiftPlan) -> Compatibility:
    """Return what was simulated of the plan as a whole, in place of what the link's own slots would bring."""
    jobs = list(_slots_s(planned))
    prediction = Prediction(
        now=tuple(plan.unmanaged[job] for job in jobs),
        planned=tuple(plan.planned[job] for job in jobs),
        n_iterations=min(plan.planned[job].iteration_s.size for job in jobs),
    )
    slots = " and ".join(
        format_duration(slot_s) for slot_s in sorted({shift.pace_period_s or 0.0 for shift in planned.shifts})
    )
    reason = (
        f"held to slots of {slots}, in common with the jobs of other links, the bursts interleave, and the "
        f"90th-percentile iteration is predicted to be {prediction.speedup_p90:.2f} times as fast: run each job with "
        "the pacer"
    )
    return replace(planned, reason=reason, predicted=prediction.figures("paced"))


def _slots_s(found: Compatibility) -> dict[str, float | None]:
    return {shift.job: shift.pace_period_s for shift in found.shifts}
