"""Jobs for tests: drawn at random, or like those that were measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from hypothesis import strategies as st

from pipeline.compat import Compatibility, solve
from pipeline.compat.demand import Demand
from profiler.phases import TrafficProfile
from tests.reference import TickedJob

__all__ = [
    "CAPACITY_BPS",
    "SolvedJobs",
    "demand_from",
    "measured",
    "profile_from",
    "solved_link",
    "ticked_jobs",
    "vgg",
]

CAPACITY_BPS: Final = 400e6


def vgg(*, period_s: float = 0.255, up_s: float = 0.114, rate_bps: float = CAPACITY_BPS) -> TrafficProfile:
    """An exact VGG19-like job: 114 ms of every 255 ms at full rate."""
    return TrafficProfile.from_phases(period_s=period_s, phases=[(0.0, up_s, rate_bps)])


def measured(
    profile: TrafficProfile, *, error_s: float, jitter_frac: float | None = None, anchor_ns: int | None = None
) -> TrafficProfile:
    """The same job as if its period had been measured."""
    return replace(profile, period_error_s=error_s, jitter_frac=jitter_frac, anchor_ns=anchor_ns)


@st.composite
def ticked_jobs(draw: st.DrawFn, *, periods: st.SearchStrategy[int], max_phases: int = 3) -> TickedJob:
    """A job of a few phases with whole rates up to 10."""
    period = draw(periods)
    cuts = draw(st.lists(st.integers(0, period - 1), min_size=1, max_size=2 * max_phases, unique=True))
    rates = [draw(st.integers(0, 10)) for _ in cuts]
    cuts.sort()
    place = [sum(cut <= t for cut in cuts) - 1 for t in range(period)]
    return TickedJob(tuple(rates[i] for i in place))


def demand_from(job: TickedJob) -> Demand:
    """The demand of a ticked job, one rate unit a bit/s."""
    rates = np.array(job.rates, dtype=np.float64)
    edges = np.flatnonzero(rates != np.roll(rates, 1))
    edges = edges if edges.size else np.zeros(1, dtype=np.int64)
    return Demand(period_ns=job.period, edges_ns=edges.astype(np.int64), rate_bps=rates[edges])


def profile_from(job: TickedJob) -> TrafficProfile:
    """The exact profile of a ticked job, a millisecond a tick."""
    phases = [(t * 1e-3, 1e-3, float(rate)) for t, rate in enumerate(job.rates) if rate]
    return TrafficProfile.from_phases(period_s=job.period * 1e-3, phases=phases)


@dataclass(frozen=True, kw_only=True)
class SolvedJobs:
    """A link with its jobs and their compatibility."""

    link: str
    direction: str
    capacity_bps: float
    demands: dict[str, TrafficProfile]
    compatibility: Compatibility


def solved_link(name: str, jobs: dict[str, TrafficProfile], *, capacity_bps: float = CAPACITY_BPS) -> SolvedJobs:
    """A solved link between the given jobs."""
    return SolvedJobs(
        link=name,
        direction="forward",
        capacity_bps=capacity_bps,
        demands=jobs,
        compatibility=solve(jobs, capacity_bps=capacity_bps, link=name, direction="forward"),
    )
