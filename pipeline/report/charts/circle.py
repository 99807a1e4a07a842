"""The unified circle: each job a ring, its bursts thick, and a red rim where they exceed the link together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt

from pipeline.report.charts.look import Row, finish, inline, job_colour, rounded
from pipeline.report.palette import ALERT, INK, MUTED, SURFACE, TRACK
from pipeline.report.series import Arc, Circle
from profiler.units import format_duration

__all__ = ["draw_circle"]

_SIZE_PX: Final = 280
_HOLE: Final = 0.32
_RIM: Final = 0.74
_EXCESS: Final = (0.76, 0.81)
_LABELS: Final = 0.86
"""Radii of the circle's parts, as fractions of half its size."""
_LOWEST: Final = 0.2
"""A burst is drawn at least this high, as a fraction of its ring, so that it can be seen."""


def draw_circle(circle: Circle, *, colours: Mapping[str, str], description: str) -> alt.LayerChart:
    """Draw a circle of time that runs clockwise from twelve o'clock; a burst's height is its rate."""
    rings = _rings(circle.jobs)
    tracks = [_row(Arc(job=job, start_turn=0.0, end_turn=1.0, height_frac=1.0), rings[job]) for job in circle.jobs]
    bursts = [_row(arc, rings[arc.job]) for arc in circle.arcs]
    excess = [_row(arc, _EXCESS) for arc in circle.excess]
    drawn = finish(
        _arcs(tracks).mark_arc(aria=False, fill=TRACK),
        _arcs(bursts).mark_arc(aria=False, stroke=SURFACE, strokeWidth=0.5).encode(color=job_colour(colours)),
        _arcs(excess).mark_arc(aria=False, fill=ALERT),
        _centre(circle.perimeter_s),
        *_quarters(circle.perimeter_s),
        height=_SIZE_PX,
        description=description,
    )
    return drawn.properties(width=_SIZE_PX)


def _rings(jobs: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the inner and outer radius of each job's ring, the first job innermost."""
    step = (_RIM - _HOLE) / max(1, len(jobs))
    return {job: (_HOLE + i * step, _HOLE + (i + 0.86) * step) for i, job in enumerate(jobs)}


def _row(arc: Arc, radii: tuple[float, float]) -> Row:
    inner, outer = radii
    return {
        "job": arc.job,
        "start": rounded(arc.start_turn),
        "end": rounded(arc.end_turn),
        "inner": rounded(inner),
        "outer": rounded(inner + (outer - inner) * max(_LOWEST, arc.height_frac)),
    }


def _arcs(rows: Sequence[Row]) -> alt.Chart:
    return inline(rows).encode(theta=_turn("start"), theta2="end:Q", radius=_radius("inner"), radius2="outer:Q")


def _centre(perimeter_s: float | None) -> alt.Chart:
    name = "own period" if perimeter_s is None else format_duration(perimeter_s)
    place = inline([{"turn": 0.0, "at": 0.0}]).encode(theta=_turn("turn"), radius=_radius("at"))
    label: alt.Chart = place.mark_text(aria=False, text=name, color=INK, fontSize=14, fontWeight="bold")
    return label


def _quarters(perimeter_s: float | None) -> list[alt.Chart]:
    """Return the times at the quarters of the circle, each beside the rim."""
    return [
        _quarter(0.0, perimeter_s).mark_text(aria=False, color=MUTED, align="center"),
        _quarter(0.25, perimeter_s).mark_text(aria=False, color=MUTED, align="left"),
        _quarter(0.5, perimeter_s).mark_text(aria=False, color=MUTED, align="center"),
        _quarter(0.75, perimeter_s).mark_text(aria=False, color=MUTED, align="right"),
    ]


def _quarter(turn: float, perimeter_s: float | None) -> alt.Chart:
    label = f"{turn:g}" if turn == 0 or perimeter_s is None else format_duration(float(f"{turn * perimeter_s:.3g}"))
    row = {"turn": turn, "at": _LABELS, "label": label}
    return inline([row]).encode(theta=_turn("turn"), radius=_radius("at"), text="label:N")


def _turn(field: str) -> alt.Theta:
    return alt.Theta(f"{field}:Q", scale=alt.Scale(domain=[0, 1], range=[0, 2 * math.pi]), stack=None)


def _radius(field: str) -> alt.Radius:
    scale = alt.Scale(type="linear", domain=[0, 1], range=[0, _SIZE_PX / 2], zero=True)
    return alt.Radius(f"{field}:Q", scale=scale, stack=None)
