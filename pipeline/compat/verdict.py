"""From scores, hold time and simulation to one of six verdicts, with the reason in words a person can act on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from pipeline.compat.hold import Slip
    from pipeline.compat.members import Members
    from pipeline.compat.prediction import Prediction
    from pipeline.compat.result import Verdict

__all__ = [
    "LASTING_S",
    "Evidence",
    "Judgement",
    "judge_contention",
    "judge_demand",
    "judge_pacing",
    "judge_shift",
]

MIN_GAIN: Final = 0.01
"""A shift helps if it saves at least this fraction of the capacity over chance."""

MIN_SHARE_OF_PACING: Final = 0.5
"""A shift that gains less than this share of what pacing would gain is not enough if pacing is worth it."""

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
    """The scores of jobs that could be shifted, how long their shifts last, and the longest of their periods.

    ``slip`` is how far their phases move in an iteration; ``stretched`` names the job that slots stretch most, and
    ``stretch_frac`` and ``stretch_s`` are by how much.
    """

    score_best: float
    score_random: float
    score_paced: float
    hold_s: float
    shares_beat: bool
    period_s: float
    slip: Slip
    stretched: str
    stretch_frac: float
    stretch_s: float

    @property
    def gain(self) -> float:
        """What shifts save over chance, as a fraction of the capacity."""
        return self.score_best - self.score_random

    @property
    def is_pacing_better(self) -> bool:
        """Whether jobs held to slots would gain much more than shifts alone."""
        return self.gain < MIN_SHARE_OF_PACING * (self.score_paced - self.score_random)


def judge_demand(members: Members, *, evidence: Evidence, capacity_bps: float) -> Judgement | None:
    """Judge what needs no simulation; None if shifting or pacing the jobs may help.

    Too much demand is said to be futile rather than overloaded where periods have no beat in common: then less demand
    would not make shifts useful either.
    """
    if len(members.profiles) < 2 or members.unknown or members.peak_bps <= capacity_bps:
        return judge_contention(members, capacity_bps=capacity_bps, evidence=evidence)
    if members.mean_bps <= capacity_bps:
        return None
    too_much = _too_much(members, capacity_bps=capacity_bps)
    if not evidence.shares_beat:
        return Judgement(verdict="futile", reason=f"{_why_unheld(evidence)}, and {too_much}")
    return Judgement(verdict="overloaded", reason=f"{too_much}, and no shift can make room")


def judge_contention(members: Members, *, capacity_bps: float, evidence: Evidence | None = None) -> Judgement:
    """Judge a link on which nothing needs to be shifted, or nothing can be; ``evidence`` if some jobs have a beat."""
    if members.peak_bps <= capacity_bps:
        peak = f"{format_rate(members.peak_bps)} of {format_rate(capacity_bps)}"
        return Judgement(verdict="uncontended", reason=f"all peaks together are {peak}: no shift is needed")
    if members.unknown:
        return Judgement(verdict="unknown", reason=f"{_why_unknown(members)}{_even_so(members, evidence)}")
    if members.mean_bps > capacity_bps:
        return Judgement(verdict="overloaded", reason=_too_much(members, capacity_bps=capacity_bps))
    peak = f"{format_rate(members.peak_bps)} on {format_rate(capacity_bps)}"
    return Judgement(
        verdict="futile", reason=f"demand peaks at {peak}, but there are no two periodic jobs to move apart"
    )


def judge_shift(evidence: Evidence, *, needed_s: float) -> Judgement | None:
    """Judge shifts that nobody has to hold: they must help, and last for ``needed_s``."""
    if evidence.gain < MIN_GAIN or evidence.hold_s < needed_s:
        return None
    lasting = "for good" if math.isinf(evidence.hold_s) else f"for {format_duration(evidence.hold_s)}"
    return Judgement(
        verdict="compatible",
        reason=f"shifted, the jobs score {evidence.score_best:.3f} against {evidence.score_random:.3f} by chance, and "
        f"stay so {lasting}{_slipping(evidence.slip) if evidence.hold_s < math.inf else ''}: start each at its shift",
    )


def judge_pacing(evidence: Evidence, *, prediction: Prediction | None) -> Judgement:
    """Judge whether holding jobs to slots is worth it; it is only if the simulator says so."""
    unheld = _why_unheld(evidence)
    if evidence.score_paced < MIN_PACED_SCORE:
        return Judgement(verdict="futile", reason=f"{unheld}; {_unfit(evidence)}")
    if prediction is None:
        return Judgement(verdict="futile", reason=f"{unheld}, and periods so far apart cannot be held to common slots")
    cost, outcome = _cost(evidence), _outcome(prediction)
    if prediction.speedup_p90 < MIN_SPEEDUP_P90 or prediction.speedup_mean < 1:
        return Judgement(
            verdict="futile",
            reason=f"{unheld}; pacing would cost more than it gains: {cost}, and {outcome}; leave the jobs alone, or "
            "place one on another link",
        )
    return Judgement(
        verdict="paced",
        reason=f"{unheld}; held to slots the bursts interleave (score {evidence.score_paced:.3f}, by chance "
        f"{evidence.score_random:.3f}): {cost}, and {outcome}: run each job with the pacer",
    )


def _cost(evidence: Evidence) -> str:
    """Return what slots cost the job that they stretch most."""
    return (
        f"slots stretch job {evidence.stretched} by {evidence.stretch_frac:.0%} "
        f"({format_duration(evidence.stretch_s)} an iteration)"
    )


def _outcome(prediction: Prediction) -> str:
    """Return what the simulator says that slots bring."""
    figures = prediction.figures("paced")
    mean_s, held_s = format_duration(figures["mean_now_s"]), format_duration(figures["mean_paced_s"])
    p90_s, p90_held_s = format_duration(figures["p90_now_s"]), format_duration(figures["p90_paced_s"])
    return (
        f"simulated, iterations go from {mean_s} to {held_s} in the mean and from {p90_s} to {p90_held_s} at the 90th "
        f"percentile ({prediction.speedup_p90:.2f} times as fast), with {figures['adjustments_per_min']:.1f} "
        "adjustments a minute"
    )


def _why_unheld(evidence: Evidence) -> str:
    """Return why a mere shift does not do."""
    if not evidence.shares_beat:
        return "the periods have no beat in common, so no shift lasts"
    scores = f"{evidence.score_best:.3f} against {evidence.score_random:.3f} by chance"
    if evidence.gain < MIN_GAIN:
        return f"the best shift scores {scores}, a gain of less than {MIN_GAIN:.0%} of the capacity"
    if math.isinf(evidence.hold_s):
        return f"a shift alone scores no more than {scores}"
    lost = "one iteration"
    if evidence.hold_s >= evidence.period_s:
        lost = format_duration(float(f"{evidence.hold_s:.1g}"))
    return f"a shift alone may be lost within {lost}{_slipping(evidence.slip)}"


def _slipping(slip: Slip) -> str:
    """Return how phases move, if they do."""
    moves = {"drift": slip.drift_s, "wander": slip.wander_s}
    told = [f"{how} by {format_duration(float(f'{by_s:.2g}'))}" for how, by_s in moves.items() if by_s > 0]
    return f", as the bursts {' and '.join(told)} an iteration against each other" if told else ""


def _why_unknown(members: Members) -> str:
    """Return which jobs cannot be predicted, how they were counted, and what would help."""
    reasons = []
    erratic = [name for name in members.unknown if name not in members.unseen]
    if erratic:
        reasons.append(
            f"no period was found for job {', '.join(erratic)}, so when it sends cannot be predicted: it was counted "
            f"{_how_counted(members, erratic)} and gets no shift; profile it for longer, or move it to another link"
        )
    if members.unseen:
        reasons.append(
            f"no counter was read for job {', '.join(members.unseen)}, so what it sends is not known and nothing was "
            "counted for it; record the ports of its hosts"
        )
    return "; ".join(reasons)


def _how_counted(members: Members, erratic: Sequence[str]) -> str:
    if not members.flattened:
        return "by how much of the time it takes which rate"
    if len(members.flattened) == len(erratic):
        return "at its mean rate"
    return f"by how much of the time it takes which rate (job {', '.join(members.flattened)} at its mean)"


def _even_so(members: Members, evidence: Evidence | None) -> str:
    """Return what shifting the other jobs would bring beside those that cannot be predicted."""
    if evidence is None or len(members.profiles) < 2 or evidence.gain < MIN_GAIN:
        return ""
    return (
        f"; beside it, jobs {', '.join(members.profiles)} at their best shifts score {evidence.score_best:.3f} against "
        f"{evidence.score_random:.3f} by chance"
    )


def _too_much(members: Members, *, capacity_bps: float) -> str:
    mean = f"mean demand {format_rate(members.mean_bps)} exceeds {format_rate(capacity_bps)}"
    return f"{mean}: move a job to another link or add capacity"


def _unfit(evidence: Evidence) -> str:
    return (
        f"held to slots the bursts do not fit next to each other either (score {evidence.score_paced:.3f}): place one "
        "of the jobs on another link"
    )
