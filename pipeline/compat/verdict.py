"""From scores, hold time and simulation to one of six verdicts, with the reason in words a person can act on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from pipeline.compat.members import Members
    from pipeline.compat.prediction import Prediction
    from pipeline.compat.result import Verdict

__all__ = ["LASTING_S", "Evidence", "Judgement", "judge_demand", "judge_lack", "judge_pacing", "judge_shift"]

MIN_GAIN: Final = 0.01
"""A shift helps if it saves at least this fraction of the capacity over chance."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The scores of jobs that could be shifted, and how long their shifts last (`pipeline.compat.result`)."""

    score_best: float
    score_random: float
    score_paced: float
    hold_s: float

    @property
    def gain(self) -> float:
        """What shifts save over chance, as a fraction of the capacity."""
        return self.score_best - self.score_random


def judge_demand(members: Members, *, capacity_bps: float) -> Judgement | None:
    """Judge what needs no shift to be judged: too little demand to contend, too much to help, or unknown demand."""
    capacity = format_rate(capacity_bps)
    if members.peak_bps <= capacity_bps and not members.unknown:
        return Judgement(
            verdict="uncontended",
            reason=f"all peaks together are {format_rate(members.peak_bps)} of {capacity}: no shift is needed",
        )
    if members.unknown:
        return Judgement(
            verdict="unknown",
            reason=f"{_listed(members.unknown)} has no period, so its bursts cannot be predicted: it was counted at its mean rate "
            "and gets no shift; profile it for longer, or move it to another link",
        )
    if members.mean_bps > capacity_bps:
        return Judgement(
            verdict="overloaded",
            reason=f"mean demand {format_rate(members.mean_bps)} exceeds {capacity}: no shift can make room; move a job "
            "to another link or add capacity",
        )
    return judge_lack(members, capacity_bps=capacity_bps) if len(members.profiles) < 2 else None


def judge_lack(members: Members, *, capacity_bps: float) -> Judgement:
    """Judge a link that at times has too much traffic and no two jobs with a period."""
    who = _listed(tuple(members.profiles)) or "traffic without a period"
    return Judgement(
        verdict="futile",
        reason=f"{who} peaks at {format_rate(members.peak_bps)} on {format_rate(capacity_bps)}, and there are no two jobs to move apart",
    )


def judge_shift(evidence: Evidence, *, needed_s: float) -> Judgement | None:
    """Judge shifts that nobody has to hold: they must help, and last for ``needed_s``."""
    if evidence.gain < MIN_GAIN or evidence.hold_s < needed_s:
        return None
    lasting = "for good" if math.isinf(evidence.hold_s) else f"for {format_duration(evidence.hold_s)}"
    return Judgement(
        verdict="compatible",
        reason=f"shifted, the jobs score {evidence.score_best:.3f} against {evidence.score_random:.3f} by chance, and stay so "
        f"{lasting}: start each at its shift",
    )


def judge_pacing(evidence: Evidence, *, prediction: Prediction, stretch_frac: float) -> Judgement:
    """Judge holding jobs to slots, ``stretch_frac`` being by how much the most stretched job is: is it worth its cost?"""
    unheld, score = _why_unheld(evidence), evidence.score_paced
    if score < MIN_PACED_SCORE:
        return Judgement(
            verdict="futile",
            reason=f"{unheld}, and held to slots the bursts still do not fit next to each other (score {score:.3f}): place one of "
            "the jobs on another link",
        )
    if prediction.speedup_p90 < MIN_SPEEDUP_P90 or prediction.speedup_mean < 1:
        return Judgement(
            verdict="futile",
            reason=f"{unheld}, and pacing costs more than it gains: a job is stretched by {stretch_frac:.0%}, and iterations "
            f"are predicted {prediction.speedup_mean:.2f}x as fast in the mean and {prediction.speedup_p90:.2f}x at the 90th "
            "percentile; leave the jobs alone, or place one elsewhere",
        )
    return Judgement(
        verdict="paced",
        reason=f"{unheld}; held to slots they interleave (score {score:.3f} against {evidence.score_random:.3f} by chance), and the "
        f"90th-percentile iteration is predicted {prediction.speedup_p90:.2f}x shorter: run each job with the pacer",
    )


def _why_unheld(evidence: Evidence) -> str:
    """Return why a mere shift does not do."""
    if evidence.gain < MIN_GAIN:
        return "no shift beats chance, for the periods have no beat in common"
    return f"a shift alone is lost within {format_duration(evidence.hold_s)} by jitter and drift"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
