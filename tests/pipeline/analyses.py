"""Analyses made by hand, for the tests of the report: their truth is arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pipeline.analysis import Analysis, LinkAnalysis, Skipped
from pipeline.compat.result import Compatibility, JobShift, Verdict
from pipeline.shifts import ShiftPlan
from profiler.phases import Outlier, TrafficProfile

CAPACITY_BPS = 400e6
PERIOD_S = 0.255
UP_S = 0.114
RATE_BPS = 372e6
SLOT_S = 0.266
SHIFT_S = 0.133
SEEN_NS = 1_764_470_000_000_000_000
LEAD_NS = 45_000_000
"""Job B was seen to burst this long after job A."""


def vgg(job: str, *, anchor_ns: int | None = None, period_s: float = PERIOD_S) -> TrafficProfile:
    """Return one burst of 114 ms at 372 Mbit/s an iteration, as measured."""
    profile = TrafficProfile.from_phases(period_s=period_s, phases=[(0.0, UP_S, RATE_BPS)])
    return replace(
        profile,
        p90_period_s=1.2 * period_s,
        host=f"host-{job}",
        device="eth0",
        direction="transmit",
        anchor_ns=anchor_ns,
        period_low_s=period_s - 0.001,
        period_high_s=period_s + 0.001,
        confidence=0.97,
        n_cycles=232.0,
        jitter_frac=0.031,
        outliers=(Outlier(t_ns=SEEN_NS, duration_s=1.2),),
        fold_bps=np.where(np.arange(255) < 114, RATE_BPS, 0.0),
    )


def paced_link(
    *, a: str = "A", b: str = "B", score_now: float | None = 0.756, shared_frac: float | None = 0.18
) -> LinkAnalysis:
    """Return two jobs that collide on trunk t1 and would not if held to slots of 266 ms, 133 ms apart."""
    compatibility = Compatibility(
        capacity_bps=CAPACITY_BPS,
        verdict="paced",
        jobs=(a, b),
        shifts=(
            JobShift(job=a, shift_s=0.0, pace_period_s=SLOT_S, stretch_frac=SLOT_S / PERIOD_S - 1),
            JobShift(job=b, shift_s=SHIFT_S, pace_period_s=SLOT_S, stretch_frac=SLOT_S / PERIOD_S - 1),
        ),
        score_now=score_now,
        score_best=1.0,
        score_random=0.83,
        score_paced=1.0,
        score_robust=0.981,
        gap=0.0,
        horizon_s=60.0,
        hold_s=12.0,
        predicted={"p90_now_s": 0.353, "p90_paced_s": 0.279},
    )
    demands = {a: vgg("a", anchor_ns=SEEN_NS), b: vgg("b", anchor_ns=SEEN_NS + LEAD_NS)}
    return replace(link("t1", demands=demands, compatibility=compatibility), shared_frac=shared_frac)


def link(name: str, *, demands: Mapping[str, TrafficProfile], compatibility: Compatibility) -> LinkAnalysis:
    """Return one direction of a link."""
    return LinkAnalysis(
        link=name,
        direction="a-b",
        capacity_bps=compatibility.capacity_bps,
        demands=demands,
        compatibility=compatibility,
    )


def judged(verdict: Verdict, *jobs: str, capacity_bps: float = CAPACITY_BPS, reason: str = "") -> Compatibility:
    """Return a verdict that recommends nothing."""
    return Compatibility(
        capacity_bps=capacity_bps,
        verdict=verdict,
        jobs=jobs,
        shifts=(),
        score_best=0.93,
        score_random=0.92,
        reason=reason,
    )


def analysis(*links: LinkAnalysis, skipped: tuple[Skipped, ...] = (), warnings: tuple[str, ...] = ()) -> Analysis:
    """Return an analysis of links; the plan is what each link asks for."""
    jobs = {job: profile for found in links for job, profile in found.demands.items()}
    shifts = {shift.job: shift for found in links for shift in found.compatibility.shifts}
    return Analysis(
        profiles={profile.label: profile for profile in jobs.values()},
        jobs=jobs,
        links=links,
        plan=ShiftPlan(shifts=tuple(shifts.values()), gap=0.0, warnings=warnings),
        skipped=skipped,
    )


def colliding_pair(*, a: str = "A", b: str = "B") -> Analysis:
    """Return the two jobs on the trunk, and a link with room to spare that A has for itself."""
    quiet = judged("uncontended", a, capacity_bps=2 * CAPACITY_BPS)
    trunk = paced_link(a=a, b=b)
    return analysis(link("h1-s1", demands={a: trunk.demands[a]}, compatibility=quiet), trunk)
