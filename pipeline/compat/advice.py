"""`advise`: from what was computed about a link to what its jobs should do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from pipeline.compat.evidence import Evidence
from pipeline.compat.hold import slip_of
from pipeline.compat.interleaved import is_interleaved
from pipeline.compat.loss import losses
from pipeline.compat.pacing import lead_of
from pipeline.compat.plateaus import with_ranges
from pipeline.compat.prediction import predict
from pipeline.compat.result import JobShift
from pipeline.compat.verdict import (
    LASTING_S,
    MIN_PACED_SCORE,
    is_gain,
    judge_contention,
    judge_demand,
    judge_kept,
    judge_pacing,
    judge_quiet,
    judge_shift,
    with_slots,
)
from pipeline.simulation.job import DEFAULT_JITTER_FRAC
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import numpy as np

    from pipeline.compat.findings import Findings
    from pipeline.compat.loss import Loss
    from pipeline.compat.members import Members
    from pipeline.compat.prediction import Prediction
    from pipeline.compat.result import Verdict
    from pipeline.compat.verdict import Judgement
    from profiler.phases import TrafficProfile

__all__ = ["Advice", "advise", "advise_unshiftable"]

_TOO_MUCH: Final = frozenset({"futile", "overloaded"})
"""What two known jobs or more are judged if they ask for more than the link carries."""


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
    if judgement is not None and judgement.verdict in _TOO_MUCH and findings.members.n_sending > 1:
        return _advise_too_much(findings, judgement, evidence=evidence, shifts=shifts, rng=rng)
    judgement = judgement or judge_quiet(evidence)
    if judgement is not None:
        return Advice(verdict=judgement.verdict, reason=judgement.reason, shifts=shifts)
    lasts = evidence.lasts(_needed_s(findings))
    shifted = _predicted(findings, shifts=shifts, rng=rng) if lasts else None
    losers = losses(shifted, shifts) if shifted else ()
    is_enough = lasts and is_gain(evidence, prediction=shifted, losers=losers)
    if not is_enough or evidence.is_pacing_better:
        paced = _advise_pacing(findings, evidence=evidence, shifts=shifts, shift_losers=losers, rng=rng)
        if not is_enough or paced.verdict == "paced":
            return paced
    judgement = judge_shift(evidence, prediction=shifted)
    return _advice(judgement, shifts=shifts, prediction=shifted, plan="shifted")


def advise_unshiftable(members: Members, *, capacity_bps: float) -> Advice:
    """Return the advice for traffic none of which has a period."""
    judgement = judge_contention(members, capacity_bps=capacity_bps)
    return Advice(verdict=judgement.verdict, reason=judgement.reason)


def _advise_pacing(
    findings: Findings,
    *,
    evidence: Evidence,
    shifts: tuple[JobShift, ...],
    shift_losers: Sequence[Loss],
    rng: np.random.Generator,
) -> Advice:
    """Return the advice to pace, or that this is futile, with the best unheld shifts."""
    held = findings.paced.shifts
    prediction = _predicted(findings, shifts=held, rng=rng)
    losers = losses(prediction, held) if prediction else ()
    judgement = judge_pacing(evidence, prediction=prediction, losers=losers, shift_losers=shift_losers)
    if judgement.verdict != "paced":
        return _advice(judgement, shifts=shifts, prediction=prediction, plan="paced")
    profiles = list(findings.members.profiles.values())
    if is_interleaved(profiles, score_now=evidence.score_now, score_best=evidence.score_best):
        kept = judge_kept(evidence)
        return Advice(verdict=kept.verdict, reason=kept.reason, shifts=_present_slots(findings, shifts))
    return _advice(judgement, shifts=held, prediction=prediction, plan="paced")


def _advise_too_much(
    findings: Findings,
    judgement: Judgement,
    *,
    evidence: Evidence,
    shifts: tuple[JobShift, ...],
    rng: np.random.Generator,
) -> Advice:
    """Return that the jobs ask for more than the link carries, with what slots would bring them if they fit."""
    prediction = None
    if evidence.score_paced >= MIN_PACED_SCORE:
        prediction = _predicted(findings, shifts=findings.paced.shifts, rng=rng)
    told = with_slots(judgement, evidence=evidence, prediction=prediction)
    return _advice(told, shifts=shifts, prediction=prediction, plan="paced")


def _advice(
    judgement: Judgement,
    *,
    shifts: tuple[JobShift, ...],
    prediction: Prediction | None,
    plan: Literal["shifted", "paced"],
) -> Advice:
    return Advice(
        verdict=judgement.verdict,
        reason=judgement.reason,
        shifts=shifts,
        predicted=prediction.figures(plan) if prediction else {},
        warnings=prediction.warnings if prediction else (),
    )


def _present_slots(findings: Findings, shifts: tuple[JobShift, ...]) -> tuple[JobShift, ...]:
    """Return the best shifts, in slots of the one period that the jobs have."""
    period_s = {name: profile.period_s or 0.0 for name, profile in findings.members.profiles.items()}
    slot_s = math.ceil(max(period_s.values()) * NS_PER_S) / NS_PER_S
    return tuple(
        replace(shift, pace_period_s=slot_s, stretch_frac=slot_s / period_s[shift.job] - 1) for shift in shifts
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
        unmeasured=tuple(name for name, profile in findings.members.profiles.items() if _is_jitter_taken(profile)),
        taken_jitter_frac=DEFAULT_JITTER_FRAC,
        stretched=stretched.job,
        stretch_frac=stretch_frac,
        stretch_s=slot_s - slot_s / (1 + stretch_frac),
        slot_s=max(shift.pace_period_s or 0.0 for shift in findings.paced.shifts),
    )


def _is_jitter_taken(profile: TrafficProfile) -> bool:
    """Return whether a job was measured, but its jitter was not."""
    return profile.jitter_frac is None and profile.period_error_s is not None


def _predicted(findings: Findings, *, shifts: Sequence[JobShift], rng: np.random.Generator) -> Prediction | None:
    free_bps = findings.terms.capacity_bps - findings.members.background_bps
    if free_bps <= 0:
        return None
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
