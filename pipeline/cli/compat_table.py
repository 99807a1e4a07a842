"""How the compatibility of a link is shown in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.units import format_duration

if TYPE_CHECKING:
    from pipeline.compat.result import Compatibility

__all__ = ["readable_jobs", "readable_scores"]

_SCORES: Final = ("now", "random", "best", "robust", "paced", "cassini")


def readable_jobs(found: Compatibility) -> list[dict[str, str]]:
    """Return a row for people for each job; without a shift where none is advised."""
    advice = {shift.job: shift for shift in found.shifts} if found.advises_shifts else {}
    rows = []
    for job in found.jobs:
        shift = advice.get(job)
        stretch_frac = shift.stretch_frac if shift else None
        rows.append(
            {
                "job": job,
                "shift": format_duration(shift.shift_s if shift else None),
                "slot": format_duration(shift.pace_period_s if shift else None),
                "stretch": "-" if stretch_frac is None else f"{stretch_frac:.1%}",
            }
        )
    return rows


def readable_scores(found: Compatibility) -> str:
    """Return a line with the verdict and its reason, and one with the scores that are known."""
    scores = {name: getattr(found, f"score_{name}") for name in _SCORES}
    known = ", ".join(f"{name} {score:.3f}" for name, score in scores.items() if score is not None)
    return f"{found.verdict}: {found.reason}\nscores: {known}"
