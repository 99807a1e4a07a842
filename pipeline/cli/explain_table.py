"""How the origin of a link's excess is shown in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.units import format_bytes, format_duration, format_rate

if TYPE_CHECKING:
    from pipeline.compat.explanation import Explanation, Overlap, Side

__all__ = ["readable_bursts", "readable_overlaps", "readable_sides"]

MAX_BURSTS: Final = 4
"""Of an overlap of more bursts only these are named."""

MAX_LEGEND: Final = 12
"""Bursts that are listed with their times."""


def readable_sides(told: Explanation) -> list[str]:
    """Return a line for the jobs as they are, and one for them as they would be."""
    return [
        f"before, {_side(told.before, told.capacity_bps)}",
        f"after, {_side(told.after, told.capacity_bps)}",
    ]


def readable_overlaps(told: Explanation) -> list[dict[str, str]]:
    """Return a row for people for each overlap."""
    named = [(_label(overlap, told), overlap) for overlap in told.overlaps]
    if told.rest is not None:
        named.append(("all others", told.rest))
    return [
        {
            "at once": label,
            "before": _amount(overlap.before_s, overlap.before_bytes),
            "after": _amount(overlap.after_s, overlap.after_bytes),
        }
        for label, overlap in named
    ]


def readable_bursts(told: Explanation) -> list[str]:
    """Return a line for each burst that is named in an overlap, with its place in its job's iteration."""
    bursts = sorted({burst for overlap in told.overlaps for burst in overlap.bursts[:MAX_BURSTS]})
    lines = [
        f"{burst.job} {burst.kind} {burst.number}: from {format_duration(burst.start_s)} for "
        f"{format_duration(burst.width_s)} at {format_rate(burst.rate_bps)}"
        for burst in bursts[:MAX_LEGEND]
    ]
    return lines + ["…"] * (len(bursts) > MAX_LEGEND)


def _side(side: Side, capacity_bps: float) -> str:
    if not side.excess_bytes:
        return f"{side.what}: demand never exceeds {format_rate(capacity_bps)} (score {side.score:.3f})"
    return (
        f"{side.what}: demand exceeds {format_rate(capacity_bps)} for {format_duration(side.over_s)} of every "
        f"{format_duration(side.beat_s)}, by {format_bytes(side.excess_bytes)} in all (score {side.score:.3f})"
    )


def _label(overlap: Overlap, told: Explanation) -> str:
    names = [f"{burst.job} {burst.kind} {burst.number}" for burst in overlap.bursts[:MAX_BURSTS]]
    left = len(overlap.bursts) - MAX_BURSTS
    if left > 0:
        names.append(f"{left} more")
    if told.has_background:
        names.append("other traffic")
    return " + ".join(names)


def _amount(over_s: float, over_bytes: float) -> str:
    return f"{format_duration(over_s)}, {format_bytes(over_bytes)}" if over_bytes else "-"
