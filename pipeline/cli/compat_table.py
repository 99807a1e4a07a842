"""How the compatibility of a link is shown in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.compat.result import Compatibility

__all__ = ["readable_jobs", "readable_scores"]

_SCORES: Final = ("now", "random", "best", "robust", "paced", "cassini")

MAX_STRETCHES: Final = 2
"""More stretches of good shifts than this are not listed."""


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
                "as good": _stretches(shift.good_shifts_s if shift else ()),
                "slot": format_duration(shift.pace_period_s if shift else None),
                "stretch": "-" if stretch_frac is None else f"{stretch_frac:.1%}",
            }
        )
    return rows


def readable_scores(found: Compatibility) -> list[str]:
    """Return lines with the verdict and its reason, the scores that are known, and how good the best is."""
    scores = {name: getattr(found, f"score_{name}") for name in _SCORES}
    known = ", ".join(f"{name} {score:.3f}{_aside(name, found)}" for name, score in scores.items() if score is not None)
    judged = f"{found.verdict}: {found.reason}"
    return [judged, f"scores: {known}", _proof(found)] if known else [judged]


def _stretches(ranges_s: Sequence[tuple[float, float]]) -> str:
    """Return the shifts that serve nearly as well."""
    told = [f"{format_duration(low_s)} to {format_duration(high_s)}" for low_s, high_s in ranges_s[:MAX_STRETCHES]]
    return ", ".join(told + ["…"] * (len(ranges_s) > MAX_STRETCHES)) or "-"


def _aside(name: str, found: Compatibility) -> str:
    """Return what a score needs to be understood."""
    if name == "cassini":
        return " (claimed by the 5-degree grid)"
    if name != "robust" or found.score_worst is None or found.jitter_frac is None:
        return ""
    return f" (each job off by up to {found.jitter_frac:.0%} of its period; at worst {found.score_worst:.3f})"


def _proof(found: Compatibility) -> str:
    took = f"{found.method}, {format_duration(found.elapsed_s)}"
    if found.bound is None or found.is_proved:
        return f"no shifts score better than the best ({took})"
    return f"no shifts score better than {found.bound:.3f}, {found.gap:.3f} above the best ({took})"
