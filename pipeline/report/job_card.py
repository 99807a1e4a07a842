"""`JobCard`: what was measured of one job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline.report.charts.fold import draw_fold
from pipeline.report.link_card import Figure
from pipeline.report.series import fold
from profiler.units import NS_PER_S, format_duration, format_rate

if TYPE_CHECKING:
    from profiler.phases import Outlier, TrafficProfile

__all__ = ["JobCard", "SeriesRow", "make_job_card", "make_series_row"]

_MAX_OUTLIERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCard:
    """One job: facts as (name, value) pairs, its folded profile, and what to be careful about."""

    job: str
    summary: str
    facts: tuple[tuple[str, str], ...]
    figure: Figure | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRow:
    """One measured series in the table of all of them."""

    label: str
    status: str
    period: str
    interval: str
    confidence: str
    cycles: str
    mean: str


def make_job_card(job: str, own: TrafficProfile, *, measured: TrafficProfile, colour: str) -> JobCard:
    """Return what the page shows about a job; a job without a period has no chart, but the reason.

    ``own`` is the job's profile as it would be alone, ``measured`` as it was seen: the same where nothing hindered it.
    """
    if measured.period_s is None or not measured.phases:
        reason = measured.reason or "no period was found"
        return JobCard(job=job, summary=f"{measured.status}: {reason}", facts=(), figure=None, notes=own.warnings)
    summary = _summary(measured)
    chart = draw_fold(fold(measured), profile=measured, colour=colour, description=f"{job}: {summary}")
    return JobCard(
        job=job,
        summary=f"{summary} {_alone(own, measured)}".strip(),
        facts=tuple(_facts(measured)),
        figure=Figure(caption="", spec=chart.to_dict()),
        notes=(*_notes(measured), *measured.warnings),
    )


def make_series_row(label: str, profile: TrafficProfile) -> SeriesRow:
    """Return a series' row of the table."""
    return SeriesRow(
        label=label,
        status=profile.status,
        period=format_duration(profile.period_s),
        interval=_interval(profile),
        confidence=_confidence(profile.confidence),
        cycles=_number(profile.n_cycles),
        mean=format_rate(profile.mean_bps),
    )


def _summary(profile: TrafficProfile) -> str:
    n_ups = sum(phase.kind == "up" for phase in profile.phases)
    bursts = "one burst" if n_ups == 1 else f"{n_ups} bursts"
    duty = "" if profile.duty_frac is None else f", {_percent(profile.duty_frac)} of it"
    return (
        f"An iteration every {format_duration(profile.period_s)}, with {bursts} of traffic "
        f"({format_duration(profile.up_s)} in all{duty})."
    )


def _alone(own: TrafficProfile, measured: TrafficProfile) -> str:
    if own.period_s is None or (own.period_s == measured.period_s and own.up_s == measured.up_s):
        return ""
    return (
        f"Through its tightest link, alone, an iteration would take {format_duration(own.period_s)}, "
        f"{format_duration(own.up_s)} of it traffic."
    )


def _facts(profile: TrafficProfile) -> list[tuple[str, str]]:
    return [
        ("Period", format_duration(profile.period_s)),
        ("Interval", _interval(profile)),
        ("90 % take at most", format_duration(profile.p90_period_s)),
        ("Confidence", _confidence(profile.confidence)),
        ("Iterations seen", _number(profile.n_cycles)),
        ("Jitter", _percent(profile.jitter_frac, digits=1)),
        ("Up per iteration", format_duration(profile.up_s)),
        ("Mean rate", format_rate(profile.mean_bps)),
        ("Rate while Up", format_rate(profile.peak_bps)),
        ("Measured at", profile.label or "-"),
    ]


def _notes(profile: TrafficProfile) -> list[str]:
    notes = []
    if profile.outliers:
        shown = ", ".join(_outlier(outlier) for outlier in profile.outliers[:_MAX_OUTLIERS])
        more = len(profile.outliers) - _MAX_OUTLIERS
        notes.append(f"Unlike the other iterations: {shown}{f' and {more} more' if more > 0 else ''}.")
    if profile.other_periods_s:
        others = ", ".join(format_duration(period_s) for period_s in profile.other_periods_s)
        notes.append(f"Another beat in the same traffic: {others}.")
    if profile.alias_periods_s:
        aliases = ", ".join(format_duration(period_s) for period_s in profile.alias_periods_s)
        notes.append(f"Sampled too slowly to tell this period from {aliases}.")
    return notes


def _outlier(outlier: Outlier) -> str:
    at = datetime.fromtimestamp(outlier.t_ns // NS_PER_S, tz=UTC)
    return f"{format_duration(outlier.duration_s)} at {at:%H:%M:%S} UTC"


def _interval(profile: TrafficProfile) -> str:
    if profile.period_low_s is None or profile.period_high_s is None:
        return "-"
    if profile.period_low_s == profile.period_high_s:
        return "exact"
    return f"{format_duration(profile.period_low_s)} to {format_duration(profile.period_high_s)}"


def _confidence(share: float | None) -> str:
    """Return a confidence without ever claiming certainty, unless the profile was given as exact."""
    return "over 99 %" if share is not None and 0.995 <= share < 1 else _percent(share)


def _percent(share: float | None, *, digits: int = 0) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
