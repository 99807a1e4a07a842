"""Why a link is judged as it is, in words a person can act on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pipeline.compat.evidence import MIN_GAIN
from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from pipeline.compat.evidence import Evidence
    from pipeline.compat.loss import Loss
    from pipeline.compat.members import Members
    from pipeline.compat.prediction import Prediction

__all__ = [
    "as_lasting",
    "beside_chance",
    "cost_of_slots",
    "gain_beside_unknown",
    "how_a_job_loses",
    "outcome_of",
    "slots_for_too_much",
    "too_much_demand",
    "why_unfit",
    "why_unheld",
    "why_unknown",
]


def cost_of_slots(evidence: Evidence, prediction: Prediction) -> str:
    """Return what slots cost the job that they stretch most, against what contention costs it now."""
    means_s = prediction.means_s(evidence.stretched)
    among_others = ""
    if means_s is not None:
        now_s, held_s = map(format_duration, means_s)
        among_others = f", and its mean iteration, with its waits for others, goes from {now_s} to {held_s}"
    return (
        f"slots stretch job {evidence.stretched} by {evidence.stretch_frac:.0%} "
        f"({format_duration(evidence.stretch_s)} an iteration){among_others}"
    )


def outcome_of(prediction: Prediction, *, plan: Literal["shifted", "paced"]) -> str:
    """Return what the simulator says that a plan brings; adjustments only where there are slots to miss."""
    figures = prediction.figures(plan)
    mean_s, then_s = format_duration(figures["mean_now_s"]), format_duration(figures[f"mean_{plan}_s"])
    p90_s, p90_then_s = format_duration(figures["p90_now_s"]), format_duration(figures[f"p90_{plan}_s"])
    adjusted = f", with {figures['adjustments_per_min']:.1f} adjustments a minute" if plan == "paced" else ""
    return (
        f"Simulated, iterations go from {mean_s} to {then_s} in the mean and from {p90_s} to {p90_then_s} at the 90th "
        f"percentile ({prediction.speedup_p90:.2f} times as fast){adjusted}"
    )


def beside_chance(evidence: Evidence) -> str:
    """Return what chance scores, and the jobs as they were observed."""
    now = "" if evidence.score_now is None else f" and {evidence.score_now:.3f} as observed"
    return f"{evidence.score_random:.3f} by chance{now}"


def as_lasting(evidence: Evidence) -> str:
    """Return for how long shifts bring what they score: bursts that still collide get longer and move from there."""
    if math.isinf(evidence.hold_s):
        return "and stay so for good" if evidence.is_clear else "though what still collides moves them from there"
    hold, slip = format_duration(evidence.hold_s), _how_they_slip(evidence)
    return f"and stay so for {hold}{slip}" if evidence.is_clear else f"for {hold} at most{slip}"


def how_a_job_loses(loss: Loss) -> str:
    """Return what a plan does to a job that is better off without it."""
    figures = {"in the mean": (loss.now.mean_s, loss.planned.mean_s)}
    figures["at the 90th percentile"] = (loss.now.p90_s, loss.planned.p90_s)
    told = " and ".join(
        f"from {format_duration(now_s)} to {format_duration(then_s)} {at}" for at, (now_s, then_s) in figures.items()
    )
    stretched = f"slots stretch job {loss.now.job} by {loss.stretch_frac:.0%}, and its"
    whose = stretched if loss.stretch_frac > 0 else f"job {loss.now.job}'s"
    return f"{whose} iterations would go {told}"


def slots_for_too_much(evidence: Evidence, prediction: Prediction) -> str:
    """Return what slots that slow jobs down to what the link carries would bring, though demand is too much."""
    return (
        f"slots of {format_duration(evidence.slot_s)} would slow every job down to what the link carries (score "
        f"{evidence.score_paced:.3f}). {outcome_of(prediction, plan='paced')}; {cost_of_slots(evidence, prediction)}"
    )


def why_unheld(evidence: Evidence, *, losers: Sequence[Loss] = ()) -> str:
    """Return why a mere shift does not do; ``losers`` are the jobs that it makes slower though it lasts."""
    if not evidence.shares_beat:
        return "the periods have no beat in common, so no shift lasts"
    scores = f"{evidence.score_best:.3f} against {beside_chance(evidence)}"
    if evidence.gain < MIN_GAIN:
        return f"the best shift scores {scores}, a gain of less than {MIN_GAIN:.0%} of the capacity"
    if losers:
        return (
            f"a shift alone scores {scores}, but what still collides is at the cost of one job: simulated, "
            f"{how_a_job_loses(losers[0])}"
        )
    if math.isinf(evidence.hold_s):
        return f"a shift alone scores no more than {scores}"
    lost = "one iteration"
    if evidence.hold_s >= evidence.period_s:
        lost = format_duration(float(f"{evidence.hold_s:.1g}"))
    return f"a shift alone may be lost within {lost}{_how_they_slip(evidence)}"


def _how_they_slip(evidence: Evidence) -> str:
    """Return how phases move, if they do, and what of that nobody measured."""
    moves = {"drift": evidence.slip.drift_s, "wander": evidence.slip.wander_s}
    told = [f"{how} by {format_duration(float(f'{by_s:.2g}'))}" for how, by_s in moves.items() if by_s > 0]
    if not told:
        return ""
    taken = ""
    if evidence.unmeasured:
        jobs = ", ".join(evidence.unmeasured)
        taken = f" (the jitter of job {jobs} is taken as {evidence.taken_jitter_frac:.0%}, not measured)"
    return f", as the bursts {' and '.join(told)} an iteration against each other{taken}"


def why_unknown(members: Members) -> str:
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
            f"nothing is known of how much job {', '.join(members.unseen)} sends, so the link cannot be scored: record "
            "the ports of its hosts, or give its mean rate"
        )
    return "; ".join(reasons)


def _how_counted(members: Members, erratic: Sequence[str]) -> str:
    if not members.flattened:
        return "by how much of the time it takes which rate"
    if len(members.flattened) == len(erratic):
        return "at its mean rate"
    return f"by how much of the time it takes which rate (job {', '.join(members.flattened)} at its mean)"


def gain_beside_unknown(members: Members, evidence: Evidence | None) -> str:
    """Return what shifting the other jobs would bring beside those that cannot be predicted."""
    if evidence is None or members.unseen or len(members.profiles) < 2 or evidence.gain < MIN_GAIN:
        return ""
    return (
        f"; beside it, jobs {', '.join(members.profiles)} at their best shifts score {evidence.score_best:.3f} against "
        f"{evidence.score_random:.3f} by chance"
    )


def too_much_demand(members: Members, *, capacity_bps: float) -> str:
    """Return by how much demand exceeds the capacity, and what would help."""
    mean = f"mean demand {format_rate(members.mean_bps)} exceeds {format_rate(capacity_bps)}"
    return f"{mean}: move a job to another link or add capacity"


def why_unfit(evidence: Evidence) -> str:
    """Return why slots do not do either."""
    return (
        f"held to slots the bursts do not fit next to each other either (score {evidence.score_paced:.3f}): place one "
        "of the jobs on another link"
    )
