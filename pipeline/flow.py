"""The order of the steps, nothing else: read this first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.compat.result import Compatibility
from pipeline.shifts import ShiftPlan
from profiler.phases import TrafficProfile
from profiler.results import Tabular

__all__ = ["Analysis", "LinkAnalysis", "Skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that could not be analysed, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAnalysis:
    """One direction of one link: the demand that each job puts on it, and how they fit.

    ``demands`` maps a job to its demand on this link as it was solved: the job's own profile (corrected for
    congestion), times its weight on the link.
    """

    link: str
    direction: str
    capacity_bps: float
    demands: Mapping[str, TrafficProfile]
    compatibility: Compatibility


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis(Tabular):
    """What the network's jobs do to its links, and what to do about it.

    ``profiles`` maps a series' label (``host/device/direction``) to its measured profile, ``jobs`` a job to the
    profile of its own traffic.
    """

    profiles: Mapping[str, TrafficProfile]
    jobs: Mapping[str, TrafficProfile]
    links: tuple[LinkAnalysis, ...]
    plan: ShiftPlan
    skipped: tuple[Skipped, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the ``analysis`` document of DESIGN section 6."""
        raise NotImplementedError
