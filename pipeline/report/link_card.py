"""`LinkCard`: everything the page shows about one contended link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pipeline.report.alignment import Alignment, after, before
from pipeline.report.charts.circle import draw_circle
from pipeline.report.charts.stack import draw_stack
from pipeline.report.series import Circle, Stack, shared_span_s, stack, unified_circle
from pipeline.report.verdicts import ScoreLine, VerdictWords, explain_verdict, score_lines, words_of
from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from pipeline.analysis import LinkAnalysis
    from pipeline.shifts import ShiftPlan

__all__ = ["Figure", "LinkCard", "View", "make_link_card"]

_HEADROOM = 1.15

ROUNDING_FRAC: Final = 1e-6
"""Periods that differ by less than this are one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One chart with the sentence that says what it shows."""

    caption: str
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The link at one relation of its jobs: over time and around the circle."""

    title: str
    note: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCard:
    """One link: name, verdict, scores, the views before and after, and what to be careful about.

    ``alike`` are other directions with the same jobs and verdict, which are not drawn.
    """

    name: str
    direction: str
    alike: tuple[str, ...]
    capacity: str
    jobs: tuple[str, ...]
    verdict: VerdictWords
    kind: str
    explanation: str
    scores: tuple[ScoreLine, ...]
    views: tuple[View, ...]
    warnings: tuple[str, ...]


def make_link_card(
    link: LinkAnalysis, *, plan: ShiftPlan, colours: Mapping[str, str], alike: Sequence[str] = ()
) -> LinkCard:
    """Return what the page shows about a link; charts before and after share their axes."""
    compatibility = link.compatibility
    alignments = [alignment for alignment in (before(link), after(link, plan)) if alignment is not None]
    span_s = shared_span_s([alignment.demands for alignment in alignments])
    stacks = [stack(alignment.demands, span_s=span_s) for alignment in alignments]
    top_bps = _HEADROOM * max(link.capacity_bps, *(float(piled.total_bps.max()) for piled in stacks))
    return LinkCard(
        name=link.link,
        direction=link.direction,
        alike=tuple(alike),
        capacity=format_rate(link.capacity_bps),
        jobs=tuple(link.demands),
        verdict=words_of(link),
        kind="interleaved" if link.is_interleaved else compatibility.verdict,
        explanation=explain_verdict(compatibility),
        scores=tuple(score_lines(compatibility)),
        views=tuple(
            _view(alignment, piled, link=link, top_bps=top_bps, colours=colours)
            for alignment, piled in zip(alignments, stacks, strict=True)
        ),
        warnings=compatibility.warnings,
    )


def _view(
    alignment: Alignment, piled: Stack, *, link: LinkAnalysis, top_bps: float, colours: Mapping[str, str]
) -> View:
    circle = unified_circle(alignment.demands, capacity_bps=link.capacity_bps)
    over_time = _stack_words(piled, capacity_bps=link.capacity_bps)
    around = _circle_words(circle, periods_s=[demand.repeat_s for demand in alignment.demands if demand.natural_s])
    drawn = draw_stack(
        piled,
        capacity_bps=link.capacity_bps,
        top_bps=top_bps,
        leads_s=alignment.leads_s,
        colours=colours,
        description=over_time,
    )
    figures = [Figure(caption=over_time, spec=drawn.to_dict())]
    if circle.jobs:
        ring = draw_circle(circle, colours=colours, description=around)
        figures.append(Figure(caption=around, spec=ring.to_dict()))
    return View(title=alignment.title, note=alignment.note, figures=tuple(figures))


def _stack_words(piled: Stack, *, capacity_bps: float) -> str:
    """Say how far the demand exceeds the capacity."""
    peak_bps = float(piled.total_bps.max())
    if peak_bps <= capacity_bps * (1 + 1e-9):
        return f"Demand stays within the link: at most {format_rate(peak_bps)} of {format_rate(capacity_bps)}."
    return (
        f"Demand exceeds the link by up to {format_rate(peak_bps - capacity_bps)} (red); what exceeds it waits, and "
        "iterations stretch."
    )


def _circle_words(circle: Circle, *, periods_s: Sequence[float]) -> str:
    if circle.perimeter_s is None:
        periods = ", ".join(format_duration(period_s) for period_s in periods_s)
        return f"The periods ({periods}) share no circle: each ring is one iteration of its own job."
    turn = format_duration(circle.perimeter_s)
    spread = max(periods_s) - min(periods_s)
    drift = f" The periods differ by {format_duration(spread)}, drawn as equal." if _drifts(circle, periods_s) else ""
    overlap = sum(arc.end_turn - arc.start_turn for arc in circle.excess)
    if overlap == 0:
        return f"One turn is {turn}: no bursts meet that together exceed the link.{drift}"
    return (
        f"One turn is {turn}: bursts that together exceed the link meet on {_percent(overlap)} of it (red rim).{drift}"
    )


def _drifts(circle: Circle, periods_s: Sequence[float]) -> bool:
    """Return whether jobs with nearly the same period are drawn as if it were the same."""
    spread_frac = (max(periods_s) - min(periods_s)) / min(periods_s)
    return circle.perimeter_s == max(periods_s) and ROUNDING_FRAC < spread_frac < 0.5


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.005 else "under 1 %"
