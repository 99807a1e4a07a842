"""How a ranking is shown in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.units import format_duration

if TYPE_CHECKING:
    from pipeline.ranking import RankedCandidate

__all__ = ["readable_candidate"]


def readable_candidate(candidate: RankedCandidate, *, place: int) -> dict[str, str]:
    """Return a candidate as a row for people, with its place in the ranking."""
    slowdown = candidate.predicted_slowdown
    return {
        "place": str(place) if candidate.is_judged else "-",
        "candidate": candidate.id,
        "score mean": _score(candidate.score_mean),
        "score worst": _score(candidate.score_worst),
        "worst link": candidate.worst_link or "-",
        "slower by": "-" if slowdown is None else f"{round(slowdown - 1, 3) + 0.0:.1%}",
        "shifts": candidate.reason or _shifts(candidate),
    }


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.3f}"


def _shifts(candidate: RankedCandidate) -> str:
    later = [f"{job} {format_duration(shift_s)}" for job, shift_s in candidate.shifts_s.items() if shift_s > 0]
    return ", ".join(later) or "none needed"
