"""Stacked demand over time, against the capacity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import altair as alt

from pipeline.report.charts.look import Row, finish, inline, job_colour, rate_axis, rounded, time_axis
from pipeline.report.palette import ALERT, INK, SURFACE
from pipeline.report.scales import Scale, rate_scale, time_scale
from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from pipeline.report.series import Stack

__all__ = ["draw_stack"]

_HEIGHT_PX: Final = 190
_MAX_LEADS: Final = 3


def draw_stack(
    stacked: Stack,
    *,
    capacity_bps: float,
    top_bps: float,
    leads_s: Mapping[str, float],
    colours: Mapping[str, str],
    description: str,
) -> alt.LayerChart:
    """Draw stacked demand; what exceeds the capacity is red.

    ``top_bps`` ends the axis, so that two pictures compare; ``leads_s`` is how long after time zero a job starts,
    marked above the demand.
    """
    span_s = float(stacked.edges_s[-1])
    rate, time = rate_scale(top_bps), time_scale(span_s)
    x = time_axis("t", scale=time, longest_s=span_s)
    y = rate_axis("low", scale=rate, top_bps=top_bps)
    layers = inline(_layer_rows(stacked, rate=rate, time=time)).encode(x=x, y=y, y2="high:Q")
    excess = inline(_excess_rows(stacked, capacity_bps=capacity_bps, rate=rate, time=time)).encode(
        x=x, y=y, y2="high:Q"
    )
    return finish(
        layers.mark_area(interpolate="step-after", aria=False, fillOpacity=0.85).encode(
            x=x, y=y, y2="high:Q", color=job_colour(colours), tooltip=alt.Tooltip("job:N", title="job")
        ),
        excess.mark_area(interpolate="step-after", aria=False, fill=ALERT).encode(x=x, y=y, y2="high:Q"),
        *_capacity_line(capacity_bps, rate=rate, y=y),
        *_lead_marks(leads_s, time=time, x=x, colours=colours),
        height=_HEIGHT_PX,
        description=description,
    )


def _layer_rows(stacked: Stack, *, rate: Scale, time: Scale) -> list[Row]:
    """Return each job's layer as steps; the last step is repeated at the end, where a step chart stops."""
    rows: list[Row] = []
    lows_bps = [0.0 * stacked.total_bps, *stacked.levels_bps[:-1]]
    for job, low_bps, high_bps in zip(stacked.jobs, lows_bps, stacked.levels_bps, strict=True):
        steps = zip(stacked.edges_s, [*low_bps, low_bps[-1]], [*high_bps, high_bps[-1]], strict=True)
        rows.extend(
            {
                "job": job,
                "t": rounded(t_s / time.size),
                "low": rounded(low / rate.size),
                "high": rounded(high / rate.size),
            }
            for t_s, low, high in steps
        )
    return rows


def _excess_rows(stacked: Stack, *, capacity_bps: float, rate: Scale, time: Scale) -> list[Row]:
    total_bps = [max(float(total), capacity_bps) for total in stacked.total_bps]
    return [
        {"t": rounded(t / time.size), "low": rounded(capacity_bps / rate.size), "high": rounded(total / rate.size)}
        for t, total in zip(stacked.edges_s, [*total_bps, total_bps[-1]], strict=True)
    ]


def _capacity_line(capacity_bps: float, *, rate: Scale, y: alt.Y) -> list[alt.Chart]:
    """Return the line and its name, the name twice so that it stands clear of the bars under it."""
    line = inline([{"low": rounded(capacity_bps / rate.size)}]).encode(y=y)
    label = line.encode(x=alt.value("width"), text=alt.value(f"capacity {format_rate(capacity_bps)}"))
    corner = label.mark_text(color=INK, align="right", baseline="bottom", dx=-4, dy=-3, aria=False)
    halo = label.mark_text(
        stroke=SURFACE, strokeWidth=4, strokeJoin="round", align="right", baseline="bottom", dx=-4, dy=-3, aria=False
    )
    return [line.mark_rule(color=INK, strokeDash=[5, 3], strokeWidth=1.4, aria=False), halo, corner]


def _lead_marks(leads_s: Mapping[str, float], *, time: Scale, x: alt.X, colours: Mapping[str, str]) -> list[alt.Chart]:
    """Return a bracket from time zero to the start of each shifted job, if they are few enough to read."""
    if len(leads_s) > _MAX_LEADS:
        return []
    rows: list[Row] = [
        {"job": job, "t": 0.0, "end": rounded(lead_s / time.size), "px": 10 + 20 * i, "label": format_duration(lead_s)}
        for i, (job, lead_s) in enumerate(sorted(leads_s.items(), key=lambda item: item[1]))
    ]
    base = inline(rows).encode(y=alt.Y("px:Q", scale=None, axis=None), color=job_colour(colours))
    tick = base.mark_tick(aria=False, orient="vertical", size=10, thickness=1.5)
    end = alt.X("end:Q")
    return [
        base.mark_rule(aria=False, strokeWidth=1.5).encode(x=x, x2="end:Q"),
        tick.encode(x=x),
        tick.encode(x=end),
        base.mark_text(aria=False, align="left", dx=7).encode(x=end, text="label:N", color=alt.value(INK)),
    ]
