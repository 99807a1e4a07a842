"""`scenes_of`: how the jobs of a link stand to each other before and after its advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.compat.explanation.bursts import part_of
from pipeline.compat.explanation.causes import Scene
from pipeline.compat.levels import Excess
from pipeline.compat.timeline import Window
from pipeline.compat.turns import Turns
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.explanation.bursts import Part
    from pipeline.compat.findings import Findings
    from pipeline.compat.members import Members
    from pipeline.compat.result import JobShift

__all__ = ["Scenes", "scenes_of", "scenes_without_beat"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scenes:
    """The jobs as they are, and as they would be."""

    before: Scene
    after: Scene


def scenes_of(findings: Findings, *, advised: Sequence[JobShift]) -> Scenes:
    """Return the scenes of jobs with a beat.

    Before is as their phases were observed, or any phases where clocks do not tell; after is held to slots if that is
    the advice, else at the best shifts.
    """
    after = _paced(findings) if advised == findings.paced.shifts else _best(findings)
    return Scenes(before=_by_chance(findings) if findings.now_ns is None else _now(findings), after=after)


def scenes_without_beat(members: Members, *, capacity_bps: float, score: float) -> Scenes:
    """Return the scenes of traffic none of which has a period: nothing changes."""
    excess = Excess(capacity_bps=capacity_bps, others=members.background)
    scene = Scene(what="whatever is done", groups=(), excess=excess, score=score)
    return Scenes(before=scene, after=scene)


def _by_chance(findings: Findings) -> Scene:
    n_jobs = len(findings.best.demands)
    return Scene(
        what="by chance",
        groups=_grouped(findings, findings.best.demands, shifts_ns=(0,) * n_jobs, members=_each(n_jobs)),
        excess=_excess(findings),
        score=findings.score(findings.random_bps),
    )


def _now(findings: Findings) -> Scene:
    return Scene(
        what="as observed",
        groups=_grouped(findings, findings.best.demands, shifts_ns=findings.now_ns or (), members=_all(findings)),
        excess=_excess(findings),
        score=findings.score(findings.now_bps) or 0.0,
        length_ns=_length_ns(findings),
    )


def _best(findings: Findings) -> Scene:
    best = findings.best
    members: Sequence[Sequence[int]] = best.classes
    if best.timeline is not None:
        members = _all(findings)
    return Scene(
        what="at the best shifts",
        groups=_grouped(findings, best.demands, shifts_ns=best.shifts_ns, members=members),
        excess=_excess(findings),
        score=findings.score(best.excess_bps),
        length_ns=_length_ns(findings),
    )


def _paced(findings: Findings) -> Scene:
    paced = findings.paced
    shifts_ns = [round(shift.shift_s * NS_PER_S) for shift in paced.shifts]
    return Scene(
        what="held to slots",
        groups=_grouped(findings, paced.demands, shifts_ns=shifts_ns, members=_all(findings)),
        excess=_excess(findings),
        score=findings.score(paced.excess_bps),
    )


def _grouped(
    findings: Findings, demands: Sequence[Demand], *, shifts_ns: Sequence[int], members: Sequence[Sequence[int]]
) -> tuple[tuple[Part, ...], ...]:
    parts = [
        part_of(profile, demand, job=job, shift_ns=shift_ns)
        for (job, profile), demand, shift_ns in zip(findings.members.profiles.items(), demands, shifts_ns, strict=True)
    ]
    return tuple(tuple(parts[i] for i in group) for group in members)


def _all(findings: Findings) -> tuple[tuple[int, ...], ...]:
    return (tuple(range(len(findings.best.demands))),)


def _each(n_jobs: int) -> tuple[tuple[int, ...], ...]:
    return tuple((i,) for i in range(n_jobs))


def _excess(findings: Findings) -> Excess:
    return Excess(capacity_bps=findings.terms.capacity_bps, others=findings.members.background)


def _length_ns(findings: Findings) -> int | None:
    timeline = findings.best.timeline
    return timeline.length_ns if isinstance(timeline, Window | Turns) else None
