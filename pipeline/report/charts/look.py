"""The look that all charts share: size, type, axes, colours, and numbers no longer than a screen shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import altair as alt

from pipeline.report.palette import GRID, MUTED

if TYPE_CHECKING:
    from pipeline.report.scales import Scale

__all__ = ["FONT", "Row", "finish", "inline", "job_colour", "rate_axis", "rounded", "time_axis"]

Row = Mapping[str, Any]

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"


def finish(*layers: alt.Chart, height: int, description: str) -> alt.LayerChart:
    """Put layers together as wide as the place they stand in; ``description`` is what a screen reader says."""
    chart: alt.LayerChart = (
        alt.layer(*layers)
        .properties(width="container", height=height, description=description, background="transparent")
        .configure(font=FONT, padding=4)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=MUTED,
            titleColor=MUTED,
            gridColor=GRID,
            tickColor=GRID,
            domainColor=GRID,
            titleFontWeight="normal",
            labelFontSize=11,
            titleFontSize=11,
        )
        .configure_text(fontSize=11)
    )
    return chart


def inline(rows: Sequence[Row]) -> alt.Chart:
    """Return a chart whose data stand in its specification."""
    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def rounded(value: float) -> float:
    """Return six digits of a value: more than a screen shows, and a small page."""
    return float(f"{value:.6g}")


def time_axis(field: str, *, scale: Scale, longest_s: float) -> alt.X:
    """Return a time axis from zero to ``longest_s``."""
    return alt.X(
        f"{field}:Q",
        axis=alt.Axis(title=f"time ({scale.unit})", grid=False, tickCount=6),
        scale=alt.Scale(domain=[0, rounded(longest_s / scale.size)], nice=False),
    )


def rate_axis(field: str, *, scale: Scale, top_bps: float) -> alt.Y:
    """Return a rate axis from zero to ``top_bps``."""
    return alt.Y(
        f"{field}:Q",
        axis=alt.Axis(title=scale.unit, tickCount=4, domain=False, ticks=False),
        scale=alt.Scale(domain=[0, rounded(top_bps / scale.size)], nice=False),
    )


def job_colour(colours: Mapping[str, str]) -> alt.Color:
    """Return the colour of the row's job; the legend stands in the page, next to the title."""
    return alt.Color("job:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)
