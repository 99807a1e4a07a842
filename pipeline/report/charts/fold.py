"""A job's folded profile: the rate over one iteration, with its phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import altair as alt

from pipeline.report.charts.look import Row, finish, inline, rate_axis, rounded, time_axis
from pipeline.report.palette import INK
from pipeline.report.scales import Scale, rate_scale, time_scale
from profiler.units import format_duration

if TYPE_CHECKING:
    from pipeline.report.series import Fold
    from profiler.phases import Phase, TrafficProfile

__all__ = ["draw_fold"]

_HEIGHT_PX: Final = 130
_HEADROOM: Final = 1.18
_NARROW_FRAC: Final = 0.13
"""An Up phase shorter than this part of the period has no room for its label."""


def draw_fold(folded: Fold, *, profile: TrafficProfile, colour: str, description: str) -> alt.LayerChart:
    """Draw the rate over one iteration, each Up phase shaded and named, each phase's mean rate a line."""
    period_s = float(folded.edges_s[-1])
    top_bps = _HEADROOM * max(float(folded.rates_bps.max(initial=0.0)), 1.0)
    rate, time = rate_scale(top_bps), time_scale(period_s)
    x = time_axis("t", scale=time, longest_s=period_s)
    y = rate_axis("rate", scale=rate, top_bps=top_bps)
    phases = [_phase_row(phase, period_s=period_s, rate=rate, time=time) for phase in profile.phases]
    ups = inline([row for row in phases if row["kind"] == "up"])
    return finish(
        ups.mark_rect(aria=False, fill=colour, fillOpacity=0.1).encode(x=x, x2="end:Q"),
        inline(_fold_rows(folded, rate=rate, time=time))
        .mark_area(interpolate="step-after", aria=False, fill=colour, fillOpacity=0.75)
        .encode(x=x, y=y),
        inline(phases).mark_rule(aria=False, color=INK, strokeWidth=1.4).encode(x=x, x2="end:Q", y=y),
        ups.mark_text(aria=False, color=INK, baseline="top", dy=4).encode(
            x=alt.X("middle:Q"), y=alt.value(0), text="label:N"
        ),
        height=_HEIGHT_PX,
        description=description,
    )


def _fold_rows(folded: Fold, *, rate: Scale, time: Scale) -> list[Row]:
    """Return the bins as steps; the last rate is repeated at the end, where a step chart stops."""
    rates_bps = [*folded.rates_bps, folded.rates_bps[-1]]
    return [
        {"t": rounded(t / time.size), "rate": rounded(bps / rate.size)}
        for t, bps in zip(folded.edges_s, rates_bps, strict=True)
    ]


def _phase_row(phase: Phase, *, period_s: float, rate: Scale, time: Scale) -> Row:
    end_s = min(phase.start_s + phase.width_s, period_s)
    wide = phase.width_s >= _NARROW_FRAC * period_s
    return {
        "kind": phase.kind,
        "t": rounded(phase.start_s / time.size),
        "middle": rounded((phase.start_s + end_s) / 2 / time.size),
        "end": rounded(end_s / time.size),
        "rate": rounded(phase.rate_bps / rate.size),
        "label": f"Up {format_duration(phase.width_s)}" if wide else "",
    }
