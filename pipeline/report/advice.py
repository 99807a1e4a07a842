"""What each job should do, in plain words, and the two lines that make it do so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pipeline.report.verdicts import needs_change
from profiler.units import format_duration

if TYPE_CHECKING:
    from pipeline.analysis import Analysis, LinkAnalysis
    from pipeline.compat.result import JobShift

__all__ = ["Advice", "advise"]

NS_DIGITS: Final = 9
"""Shifts are whole ns: what sums of them differ by below that is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Advice for one job; the one that ``leads`` sets the beat of those it meets.

    ``sentence`` speaks to the job's owner, ``naming`` to everybody.
    ``shift_s`` is when its iterations begin, as in the plan; sentences and snippet tell when they communicate.
    ``hold_s`` is how long the shift lasts without pacing: infinite if for good, None if not known; ``must_be_held``
    that this is not enough. ``snippet`` sets the shift, and is empty where there is no slot to do it by.
    """

    job: str
    leads: bool
    sentence: str
    naming: str
    shift_s: float
    slot_s: float | None
    stretch_frac: float | None
    must_be_held: bool
    hold_s: float | None
    links: tuple[str, ...]
    snippet: str

    @property
    def lasts(self) -> str:
        """How long the advice stays good."""
        if self.must_be_held:
            return "while it is paced"
        if self.hold_s is None:
            return "not known"
        return "for good" if self.hold_s == float("inf") else format_duration(self.hold_s)


def advise(analysis: Analysis) -> list[Advice]:
    """Return advice for every job that meets others on a link where a shift helps; those that meet, together."""
    planned = {shift.job: shift for shift in analysis.plan.shifts}
    helped = [link for link in analysis.links if needs_change(link)]
    advice: list[Advice] = []
    for group in _groups(helped):
        shifts = [planned[job] for job in group if job in planned]
        shifts.sort(key=lambda shift: (shift.communication_s, shift.job))
        advice.extend(_advise(shift, leader=shifts[0], links=helped) for shift in shifts)
    return advice


def _advise(shift: JobShift, *, leader: JobShift, links: Iterable[LinkAnalysis]) -> Advice:
    own = [link for link in links if shift.job in link.demands]
    holds_s = [link.compatibility.hold_s for link in own if link.compatibility.hold_s is not None]
    return Advice(
        job=shift.job,
        leads=shift.job == leader.job,
        sentence=_sentence(shift, leader, whose="its"),
        naming=_sentence(shift, leader, whose=f"{shift.job}'s"),
        shift_s=shift.shift_s,
        slot_s=shift.pace_period_s,
        stretch_frac=shift.stretch_frac,
        must_be_held=any(link.compatibility.verdict == "paced" for link in own) and shift.pace_period_s is not None,
        hold_s=min(holds_s, default=None),
        links=tuple(f"{link.link} {link.direction}".strip() for link in own),
        snippet=_snippet(shift),
    )


def _sentence(shift: JobShift, leader: JobShift, *, whose: str) -> str:
    every = "" if shift.pace_period_s is None else f", every {format_duration(shift.pace_period_s)}"
    if shift.job == leader.job:
        return f"Let {whose} all-reduce set the beat{every}."
    later_s = round(shift.communication_s - leader.communication_s, NS_DIGITS)
    if shift.pace_period_s is not None and shift.pace_period_s == leader.pace_period_s:
        later_s %= shift.pace_period_s
    if later_s == 0:
        return f"Start {whose} all-reduce together with {leader.job}'s{every}."
    if shift.pace_period_s == leader.pace_period_s:
        return f"Start {whose} all-reduce {format_duration(later_s)} after {leader.job}'s{every}."
    return f"Start {whose} all-reduce {format_duration(shift.communication_s)} after the common anchor{every}."


def _snippet(shift: JobShift) -> str:
    if shift.pace_period_s is None:
        return ""
    slot = f"period_s={shift.pace_period_s:.9g}, shift_s={shift.communication_s:.9g}"
    return (
        f"pacer = Pacer({slot})  # once, before the loop\n"
        "pacer.wait()  # in the loop, right before the iteration's first all-reduce"
    )


def _groups(links: Iterable[LinkAnalysis]) -> list[set[str]]:
    """Return sets of jobs that meet, directly or through others."""
    groups: list[set[str]] = []
    for link in links:
        meeting = set(link.demands)
        apart = [group for group in groups if not group & meeting]
        groups = [*apart, meeting.union(*(group for group in groups if group & meeting))]
    return groups
