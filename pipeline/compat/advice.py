"""`advise`: from what was computed about a link to what its jobs should do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.compat.evidence import Evidence
from pipeline.compat.hold import slip_of
from pipeline.compat.pacing import lead_of
from pipeline.compat.plateaus import with_ranges
from pipeline.compat.prediction import predict
from pipeline.compat.result import JobShift
from pipeline.compat.verdict import LASTING_S, judge_contention, judge_demand, judge_pacing, judge_shift
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import numpy as np

    from pipeline.compat.findings import Findings
    from pipeline.compat.members import Members
    from pipeline.compat.prediction import Prediction
    from pipeline.compat.result import Verdict

__all__ = ["Advice", "advise", "advise_unshiftable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The verdict with its reason, a shift for every periodic job, and what the simulator predicts of it."""

    verdict: Verdict
    reason: str
    shifts: tuple[JobShift, ...] = ()
    predicted: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def advise(findings: Findings, *, rng: np.random.Generator) -> Advice:
    """Return the least that makes the jobs fit: nothing, shifts, or shifts held by a pacer; or say that nothing does.

    Shifts are given with every verdict; those of the best score where none is recommended.
    """
    shifts = _best_shifts(findings)
    evidence = _evidence(findings)
    judgement = judge_demand(findings.members, evidence=evidence, capacity_bps=findings.terms.capacity_bps)
    if judgement is not None:
        return Advice(verdict=judgement.verdict, reason=judgement.reason, shifts=shifts)
    lasts = evidence.lasts(_needed_s(findings))
    if not lasts or evidence.is_pacing_better:
        paced = _advise_pacing(findings, evidence=evidence, shifts=shifts, rng=rng)
        if not lasts or paced.verdict == "paced":
            return paced
    prediction = _predicted(findings, shifts=shifts, rng=rng)
    judgement = judge_shift(evidence, prediction=prediction)
    return Advice(
        verdict=judgement.verdict,
        reason=judgement.reason,
        shifts=shifts,
        predicted=prediction.figures("shifted") if prediction else {},
        warnings=prediction.warnings if prediction else (),
    )


def advise_unshiftable(members: Members, *, capacity_bps: float) -> Advice:
    """Return the advice for traffic none of which has a period."""
    judgement = judge_contention(members, capacity_bps=capacity_bps)
    return Advice(verdict=judgement.verdict, reason=judgement.reason)


def _advise_pacing(
    findings: Findings, *, evidence: Evidence, shifts: tuple[JobShift, ...], rng: np.random.Generator
) -> Advice:
    """Return the advice to pace, or that this is futile, with the best unheld shifts."""
    held = findings.paced.shifts
    prediction = _predicted(findings, shifts=held, rng=rng)
    judgement = judge_pacing(evidence, prediction=prediction)
    return Advice(
        verdict=judgement.verdict,
        reason=judgement.reason,
        shifts=held if judgement.verdict == "paced" else shifts,
        predicted=prediction.figures("paced") if prediction else {},
        warnings=prediction.warnings if prediction else (),
    )


def _evidence(findings: Findings) -> Evidence:
    stretched = max(findings.paced.shifts, key=lambda shift: shift.stretch_frac or 0.0)
    stretch_frac, slot_s = stretched.stretch_frac or 0.0, stretched.pace_period_s or 0.0
    return Evidence(
        score_now=findings.score(findings.now_bps),
        score_best=findings.score(findings.best.excess_bps),
        score_random=findings.score(findings.random_bps),
        score_paced=findings.score(findings.paced.excess_bps),
        hold_s=findings.best.hold_s,
        shares_beat=findings.best.shares_beat,
        period_s=max(demand.period_ns for demand in findings.best.demands) / NS_PER_S,
        slip=slip_of(findings.beats),
        stretched=stretched.job,
        stretch_frac=stretch_frac,
        stretch_s=slot_s - slot_s / (1 + stretch_frac),
    )


def _predicted(findings: Findings, *, shifts: Sequence[JobShift], rng: np.random.Generator) -> Prediction | None:
    free_bps = findings.terms.capacity_bps - findings.members.background_bps
    return predict(findings.members.profiles, shifts=shifts, free_bps=free_bps, rng=rng)


def _needed_s(findings: Findings) -> float:
    """Return how long shifts must hold by themselves to need no pacer."""
    if findings.terms.horizon_s is not None:
        return findings.terms.horizon_s
    return math.inf if findings.members.is_exact else LASTING_S


def _best_shifts(findings: Findings) -> tuple[JobShift, ...]:
    placed = zip(findings.members.demands, findings.best.shifts_ns, findings.ranges, strict=True)
    profiles = findings.members.profiles
    return tuple(
        with_ranges(JobShift(job=name, shift_s=shift_ns / NS_PER_S, lead_s=lead_of(profiles[name])), ranges)
        for name, shift_ns, ranges in placed
    )
