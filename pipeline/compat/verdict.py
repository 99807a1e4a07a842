"""From scores, hold time and simulation to one of six verdicts, with the reason in words a person can act on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pipeline.compat.loss import MIN_SPEEDUP_P90
from pipeline.compat.reasons import (
    as_lasting,
    beside_chance,
    cost_of_slots,
    gain_beside_unknown,
    how_a_job_loses,
    outcome_of,
    slots_for_too_much,
    too_much_demand,
    why_unfit,
    why_unheld,
    why_unknown,
)
from profiler.units import format_rate

if TYPE_CHECKING:
    from pipeline.compat.evidence import Evidence
    from pipeline.compat.loss import Loss
    from pipeline.compat.members import Members
    from pipeline.compat.prediction import Prediction
    from pipeline.compat.result import Verdict

__all__ = [
    "LASTING_S",
    "MIN_PACED_SCORE",
    "Judgement",
    "is_gain",
    "judge_contention",
    "judge_demand",
    "judge_kept",
    "judge_pacing",
    "judge_quiet",
    "judge_shift",
    "with_slots",
]

MIN_PACED_SCORE: Final = 0.97
"""Held jobs must fit next to each other all but perfectly; pacing a link that stays contended makes slots collapse."""

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
    if members.n_sending < 2 or members.unknown or members.fits(capacity_bps):
        return judge_contention(members, capacity_bps=capacity_bps, evidence=evidence)
    if not members.exceeds(capacity_bps):
        return None
    too_much = too_much_demand(members, capacity_bps=capacity_bps)
    if not evidence.shares_beat:
        return Judgement(verdict="futile", reason=f"{why_unheld(evidence)}, and {too_much}")
    return Judgement(verdict="overloaded", reason=f"{too_much}, and no shift can make room")


def judge_contention(members: Members, *, capacity_bps: float, evidence: Evidence | None = None) -> Judgement:
    """Judge a link on which nothing needs to be shifted, or nothing can be; ``evidence`` if some jobs have a beat."""
    if members.fits(capacity_bps):
        peak = f"{format_rate(members.peak_bps)} of {format_rate(capacity_bps)}"
        return Judgement(verdict="uncontended", reason=f"all peaks together are {peak}: no shift is needed")
    if members.unknown:
        return Judgement(verdict="unknown", reason=f"{why_unknown(members)}{gain_beside_unknown(members, evidence)}")
    if members.exceeds(capacity_bps):
        return Judgement(verdict="overloaded", reason=too_much_demand(members, capacity_bps=capacity_bps))
    peak = f"{format_rate(members.peak_bps)} on {format_rate(capacity_bps)}"
    return Judgement(
        verdict="futile", reason=f"demand peaks at {peak}, but there are no two periodic jobs to move apart"
    )


def judge_quiet(evidence: Evidence) -> Judgement | None:
    """Judge jobs that hardly ever collide by chance: no shift can beat that; None where they do collide."""
    if not evidence.is_quiet:
        return None
    return Judgement(
        verdict="futile",
        reason=f"hardly any contention (score by chance {_down_to_4_places(evidence.score_random)}): nothing to do",
    )


def is_gain(evidence: Evidence, *, prediction: Prediction | None, losers: Sequence[Loss]) -> bool:
    """Return whether shifts make no job slower.

    Jobs that never collide any more cannot lose. Of others the simulator must say so: a burst that still collides takes
    longer, and what follows begins later.
    """
    return evidence.is_clear or (prediction is not None and not losers)


def judge_shift(evidence: Evidence, *, prediction: Prediction | None) -> Judgement:
    """Judge shifts that help and last though nobody holds them."""
    brings = "" if prediction is None else f" {outcome_of(prediction, plan='shifted')}."
    return Judgement(
        verdict="compatible",
        reason=f"shifted, the jobs score {evidence.score_best:.3f} against {beside_chance(evidence)}, "
        f"{as_lasting(evidence)}.{brings} Start each at its shift",
    )


def judge_kept(evidence: Evidence) -> Judgement:
    """Judge jobs that something holds out of each other's way already."""
    return Judgement(
        verdict="paced",
        reason=f"the bursts keep clear of each other (score {evidence.score_now:.3f}, at best "
        f"{evidence.score_best:.3f}), in one period and with little jitter: keep what holds them there",
    )


def judge_pacing(
    evidence: Evidence, *, prediction: Prediction | None, losers: Sequence[Loss], shift_losers: Sequence[Loss] = ()
) -> Judgement:
    """Judge whether holding jobs to slots is worth it; it is only if the simulator says so, of every job.

    Parameters
    ----------
    evidence
        What is known of the jobs.
    prediction, losers
        What the simulator says of the slots, and the jobs that lose by them, the worst first.
    shift_losers
        Those that lose by mere shifts, if these last.
    """
    unheld = why_unheld(evidence, losers=shift_losers)
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
    if losers:
        return Judgement(
            verdict="futile",
            reason=f"{unheld}; pacing would be at the cost of one job: {how_a_job_loses(losers[0])}. Leave the jobs "
            "alone, or place one on another link",
        )
    return Judgement(
        verdict="paced",
        reason=f"{unheld}; held to slots the bursts interleave (score {evidence.score_paced:.3f} against "
        f"{beside_chance(evidence)}). {outcome}; {cost}. Run each job with the pacer",
    )


def with_slots(judgement: Judgement, *, evidence: Evidence, prediction: Prediction | None) -> Judgement:
    """Return the judgement of too much demand, with what slots would bring all the same if that is a gain."""
    if prediction is None or prediction.speedup_p90 < MIN_SPEEDUP_P90 or prediction.speedup_mean < 1:
        return judgement
    return replace(judgement, reason=f"{judgement.reason}; {slots_for_too_much(evidence, prediction)}")


def _down_to_4_places(score: float) -> str:
    """Return a score, never rounded up: one is said only of jobs that cannot collide."""
    return f"{math.floor(score * 1e4) / 1e4:.4f}"
