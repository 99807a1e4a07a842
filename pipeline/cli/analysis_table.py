"""How the links, shifts and omissions of an analysis are shown in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from pipeline.analysis import Analysis, LinkAnalysis
    from pipeline.report import Advice

__all__ = ["readable_link", "readable_omissions", "readable_shift"]

MAX_OMISSIONS: Final = 20

_SCORES = ("now", "random", "best", "paced")


def readable_link(link: LinkAnalysis) -> dict[str, str]:
    """Return a link as a row for people."""
    found = link.compatibility
    scores = {name: getattr(found, f"score_{name}") for name in _SCORES}
    return {
        "link": link.link,
        "direction": link.direction,
        "capacity": format_rate(link.capacity_bps),
        "jobs": ", ".join(link.demands),
        "verdict": found.verdict,
        **{f"score {name}": "-" if score is None else f"{score:.3f}" for name, score in scores.items()},
    }


def readable_shift(advice: Advice) -> dict[str, str]:
    """Return the advice for one job as a row for people."""
    return {
        "job": advice.job,
        "shift": "0" if advice.shift_s == 0 else format_duration(advice.shift_s),
        "slot": format_duration(advice.slot_s),
        "slower by": "-" if advice.stretch_frac is None else f"{advice.stretch_frac:.1%}",
        "lasts": advice.lasts,
    }


def readable_omissions(analysis: Analysis) -> list[str]:
    """Return a line for each thing that could not be analysed, and for each warning of the plan."""
    lines = [f"Skipped {one.what}: {one.why}" for one in (*analysis.kept, *analysis.skipped)]
    more = len(lines) - MAX_OMISSIONS
    return [
        *lines[:MAX_OMISSIONS],
        *([f"and {more} more"] if more > 0 else []),
        *(f"The plan: {warning}" for warning in analysis.plan.warnings),
    ]
