"""Why a link is judged as it is, in words a person can act on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pipeline.compat.evidence import MIN_GAIN
from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from pipeline.compat.evidence import Evidence
    from pipeline.compat.hold import Slip
    from pipeline.compat.members import Members
    from pipeline.compat.prediction import Prediction

__all__ = [
    "beside_chance",
    "cost_of_slots",
    "gain_beside_unknown",
    "how_they_slip",
    "outcome_of",
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


def why_unheld(evidence: Evidence) -> str:
    """Return why a mere shift does not do."""
    if not evidence.shares_beat:
        return "the periods have no beat in common, so no shift lasts"
    scores = f"{evidence.score_best:.3f} against {beside_chance(evidence)}"
    if evidence.gain < MIN_GAIN:
        return f"the best shift scores {scores}, a gain of less than {MIN_GAIN:.0%} of the capacity"
    if math.isinf(evidence.hold_s):
        return f"a shift alone scores no more than {scores}"
    lost = "one iteration"
    if evidence.hold_s >= evidence.period_s:
        lost = format_duration(float(f"{evidence.hold_s:.1g}"))
    return f"a shift alone may be lost within {lost}{how_they_slip(evidence.slip)}"


def how_they_slip(slip: Slip) -> str:
    """Return how phases move, if they do."""
    moves = {"drift": slip.drift_s, "wander": slip.wander_s}
    told = [f"{how} by {format_duration(float(f'{by_s:.2g}'))}" for how, by_s in moves.items() if by_s > 0]
    return f", as the bursts {' and '.join(told)} an iteration against each other" if told else ""


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


def gain_beside_unknown(members: Members, evidence: Evidence | None) -> str:
    """Return what shifting the other jobs would bring beside those that cannot be predicted."""
    if evidence is None or len(members.profiles) < 2 or evidence.gain < MIN_GAIN:
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
