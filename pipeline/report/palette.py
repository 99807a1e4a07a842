"""Colours: one a job everywhere. Their values stand in ``templates/report.css``, once for light and once for dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.analysis import Analysis

__all__ = ["ALERT", "GRID", "INK", "MUTED", "N_JOB_COLOURS", "SURFACE", "TRACK", "job_colours"]

INK: Final = "var(--ink)"
MUTED: Final = "var(--muted)"
GRID: Final = "var(--grid)"
TRACK: Final = "var(--track)"
SURFACE: Final = "var(--surface)"
ALERT: Final = "var(--alert)"

N_JOB_COLOURS: Final = 8
"""Told apart by people with any common colour vision (Okabe & Ito's set, red kept for excess demand)."""


def job_colours(analysis: Analysis) -> Mapping[str, str]:
    """Return each job's colour; jobs that meet on contended links get theirs first, so that those differ."""
    contended = [link for link in analysis.links if link.compatibility.verdict != "uncontended"]
    names = [*_jobs_of(link.demands for link in contended), *_jobs_of(link.demands for link in analysis.links)]
    ordered = dict.fromkeys([*names, *sorted(analysis.jobs), *sorted(shift.job for shift in analysis.plan.shifts)])
    return {job: f"var(--job-{i % N_JOB_COLOURS})" for i, job in enumerate(ordered)}


def _jobs_of(groups: Iterable[Iterable[str]]) -> list[str]:
    return [job for group in groups for job in sorted(group)]
