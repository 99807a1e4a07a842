"""From scores, hold time and simulation to one of six verdicts, with the reason in words a person can act on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pipeline.compat.reasons import (
    beside_chance,
    cost_of_slots,
    gain_beside_unknown,
    how_they_slip,
    outcome_of,
    too_much_demand,
    why_unfit,
    why_unheld,
    why_unknown,
)
from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from pipeline.compat.evidence import Evidence
    from pipeline.compat.members import Members
    from pipeline.compat.prediction import Prediction
    from pipeline.compat.result import Verdict

__all__ = [
    "LASTING_S",
    "Judgement",
    "judge_contention",
    "judge_demand",
    "judge_pacing",
    "judge_shift",
]

MIN_PACED_SCORE: Final = 0.97
"""Held jobs must fit next to each other all but perfectly; pacing a link that stays contended makes slots collapse."""

MIN_SPEEDUP_P90: Final = 1.03

LASTING_S: Final = 300.0
"""A shift of measured jobs must hold this long by itself, if no horizon is given, to need no pacer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict and the reason for it."""

    verdict: Verdict
    reason: str


def judge_demand(members: Members, *, evidence: Evidence, capacity_bps: float) -> Judgement | None:
    """Judge what needs no simulation; None if shifting or pacing the jobs may help.

    Too much demand is said to be futile rather than overloaded where periods have no beat in common: then less demand
    would not make shifts useful either.
    """
    if len(members.profiles) < 2 or members.unknown or members.peak_bps <= capacity_bps:
        return judge_contention(members, capacity_bps=capacity_bps, evidence=evidence)
    if members.mean_bps <= capacity_bps:
        return None
    too_much = too_much_demand(members, capacity_bps=capacity_bps)
    if not evidence.shares_beat:
        return Judgement(verdict="futile", reason=f"{why_unheld(evidence)}, and {too_much}")
    return Judgement(verdict="overloaded", reason=f"{too_much}, and no shift can make room")


def judge_contention(members: Members, *, capacity_bps: float, evidence: Evidence | None = None) -> Judgement:
    """Judge a link on which nothing needs to be shifted, or nothing can be; ``evidence`` if some jobs have a beat."""
    if members.peak_bps <= capacity_bps:
        peak = f"{format_rate(members.peak_bps)} of {format_rate(capacity_bps)}"
        return Judgement(verdict="uncontended", reason=f"all peaks together are {peak}: no shift is needed")
    if members.unknown:
        return Judgement(verdict="unknown", reason=f"{why_unknown(members)}{gain_beside_unknown(members, evidence)}")
    if members.mean_bps > capacity_bps:
        return Judgement(verdict="overloaded", reason=too_much_demand(members, capacity_bps=capacity_bps))
    peak = f"{format_rate(members.peak_bps)} on {format_rate(capacity_bps)}"
    return Judgement(
        verdict="futile", reason=f"demand peaks at {peak}, but there are no two periodic jobs to move apart"
    )


def judge_shift(evidence: Evidence, *, prediction: Prediction | None) -> Judgement:
    """Judge shifts that help and last though nobody holds them."""
    lasting = "for good"
    if evidence.hold_s < math.inf:
        lasting = f"for {format_duration(evidence.hold_s)}{how_they_slip(evidence.slip)}"
    brings = "" if prediction is None else f" {outcome_of(prediction, plan='shifted')}."
    return Judgement(
        verdict="compatible",
        reason=f"shifted, the jobs score {evidence.score_best:.3f} against {beside_chance(evidence)}, and stay so "
        f"{lasting}.{brings} Start each at its shift",
    )


def judge_pacing(evidence: Evidence, *, prediction: Prediction | None) -> Judgement:
    """Judge whether holding jobs to slots is worth it; it is only if the simulator says so."""
    unheld = why_unheld(evidence)
    if evidence.score_paced < MIN_PACED_SCORE:
        return Judgement(verdict="futile", reason=f"{unheld}; {why_unfit(evidence)}")
    if prediction is None:
        return Judgement(verdict="futile", reason=f"{unheld}, and periods so far apart cannot be held to common slots")
    cost, outcome = cost_of_slots(evidence, prediction), outcome_of(prediction, plan="paced")
    if prediction.speedup_p90 < MIN_SPEEDUP_P90 or prediction.speedup_mean < 1:
        return Judgement(
            verdict="futile",
            reason=f"{unheld}; pacing would cost more than it gains: {cost}. {outcome}. Leave the jobs alone, or place "
            "one on another link",
        )
    return Judgement(
        verdict="paced",
        reason=f"{unheld}; held to slots the bursts interleave (score {evidence.score_paced:.3f} against "
        f"{beside_chance(evidence)}). {outcome}; {cost}. Run each job with the pacer",
    )
