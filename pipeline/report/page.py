"""One self-contained HTML page: no network, no second file, and no name in the data that could run as code.

Jinja escapes every name, chart specifications are JSON in which ``<`` cannot stand, and the page's own content security
policy lets no script run but the two that were put in, by their hashes, and no request leave.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import jinja2
import vl_convert

from pipeline.report.advice import advise
from pipeline.report.headline import caveats, expect, headline, lead
from pipeline.report.job_card import JobCard, make_job_card, make_series_row
from pipeline.report.link_card import LinkCard, make_link_card
from pipeline.report.palette import job_colours
from pipeline.report.twins import group_twins
from pipeline.report.verdicts import needs_change, severity, words_of
from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from datetime import datetime

    from pipeline.analysis import Analysis, LinkAnalysis
    from pipeline.shifts import ShiftPlan
    from profiler.phases import TrafficProfile

__all__ = ["Origin", "render"]

MAX_LINKS_DRAWN: Final = 12
MAX_JOBS_DRAWN: Final = 24
MAX_SERIES_LISTED: Final = 500
"""What goes beyond is counted, and listed without charts where it can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """How a report was made: from which lake and cluster file, and when."""

    lake: str
    made_at: datetime
    cluster: str = ""


def render(analysis: Analysis, *, origin: Origin) -> str:
    """Return the report of an analysis as an HTML document."""
    bundle, boot = _bundle(), _template_text("report.js")
    return (
        _environment()
        .get_template("report.html")
        .render(
            **_context(analysis),
            origin=origin,
            version=version("offbeat"),
            style=_template_text("report.css"),
            scripts=[bundle, boot],
            script_hashes=" ".join(f"'{_csp_hash(script)}'" for script in (bundle, boot)),
        )
    )


def _context(analysis: Analysis) -> dict[str, Any]:
    colours = job_colours(analysis)
    links = sorted(analysis.links, key=lambda link: severity(link.compatibility))
    contended = [link for link in links if link.compatibility.verdict != "uncontended"]
    twins = group_twins(contended)
    drawn = [group[0] for group in twins[:MAX_LINKS_DRAWN]]
    told = [link for group in twins[:MAX_LINKS_DRAWN] for link in group]
    advice = advise(analysis)
    jobs = _jobs_in_order(analysis, drawn)
    return {
        "headline": headline(analysis),
        "lead": lead(analysis, advice=advice),
        "caveats": caveats(analysis),
        "tiles": _tiles(analysis, contended),
        "advice": advice,
        "colours": colours,
        "links": [_link_card(group, analysis.plan, colours=colours) for group in twins[:MAX_LINKS_DRAWN]],
        "other_links": [_other_row(link) for link in links if link not in told],
        "jobs": [_job_card(job, analysis, colour=colours[job]) for job in jobs[:MAX_JOBS_DRAWN]],
        "n_jobs_more": max(0, len(jobs) - MAX_JOBS_DRAWN),
        "series": [make_series_row(*item) for item in list(analysis.profiles.items())[:MAX_SERIES_LISTED]],
        "n_series": len(analysis.profiles),
        "skipped": analysis.skipped,
        "plan": analysis.plan,
    }


def _link_card(group: Sequence[LinkAnalysis], plan: ShiftPlan, *, colours: Mapping[str, str]) -> LinkCard:
    return make_link_card(group[0], plan=plan, colours=colours, alike=[link.direction for link in group[1:]])


def _job_card(job: str, analysis: Analysis, *, colour: str) -> JobCard:
    return make_job_card(job, analysis.jobs[job], measured=analysis.measured(job), colour=colour)


def _tiles(analysis: Analysis, contended: list[LinkAnalysis]) -> list[tuple[str, str]]:
    """Return the key figures as (figure, what it counts)."""
    tiles = [
        (f"{_n_links(contended)} of {_n_links(analysis.links)}", "shared links contended"),
        (str(len(analysis.jobs)), "jobs with a beat" if len(analysis.jobs) != 1 else "job with a beat"),
    ]
    helped = [link.compatibility for link in contended if needs_change(link)]
    slots_s = sorted({s.pace_period_s for s in analysis.plan.shifts if s.pace_period_s is not None})
    if helped and slots_s:
        tiles.append((" / ".join(format_duration(slot_s) for slot_s in slots_s[:2]), "slot to hold"))
    expectation = next((e for e in (expect(compatibility.predicted) for compatibility in helped) if e), None)
    if expectation is not None:
        change = f"{format_duration(expectation.now_s)} → {format_duration(expectation.then_s)}"
        tiles.append((change, f"{expectation.statistic} iteration, both simulated"))
    return tiles


def _n_links(links: Sequence[LinkAnalysis]) -> int:
    return len({link.link for link in links})


def _jobs_in_order(analysis: Analysis, drawn: list[LinkAnalysis]) -> list[str]:
    """Return the jobs, those on the links that are drawn first."""
    meeting = dict.fromkeys(job for link in drawn for job in link.demands if job in analysis.jobs)
    return list(dict.fromkeys([*meeting, *sorted(analysis.jobs)]))


def _other_row(link: LinkAnalysis) -> dict[str, str]:
    return {
        "name": link.link,
        "direction": link.direction,
        "capacity": format_rate(link.capacity_bps),
        "peak": format_rate(sum(_peak_bps(profile) for profile in link.demands.values())),
        "jobs": ", ".join(link.demands),
        "verdict": words_of(link).badge,
    }


def _peak_bps(profile: TrafficProfile) -> float:
    """Return the highest rate that is drawn of a profile."""
    return max((phase.rate_bps for phase in profile.phases), default=profile.peak_bps or profile.mean_bps or 0.0)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template_text),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    json_options: Mapping[str, Any] = {"sort_keys": True, "allow_nan": False, "separators": (",", ":")}
    environment.policies["json.dumps_kwargs"] = dict(json_options)
    environment.filters["duration"] = _duration
    return environment


def _duration(duration_s: float | None) -> str:
    return "0" if duration_s == 0 else format_duration(duration_s)


def _template_text(name: str) -> str:
    return files("pipeline.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that can stand in a page."""
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", r"<\/script")


def _csp_hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
