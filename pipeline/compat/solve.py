"""`solve`: everything that is said about the jobs of one direction of a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.advice import advise, advise_unshiftable
from pipeline.compat.findings import find
from pipeline.compat.members import members_of
from pipeline.compat.result import Compatibility
from profiler.errors import UsageError

if TYPE_CHECKING:
    from pipeline.compat.members import Members
    from profiler.phases import TrafficProfile

__all__ = ["solve"]

PERIODS_S: Final = (1e-6, 1e6)
HORIZONS_S: Final = (1e-6, 1e9)
"""Shortest and longest that can be answered on a clock of whole nanoseconds."""


def solve(
    profiles: Mapping[str, TrafficProfile],
    *,
    capacity_bps: float,
    link: str | None = None,
    direction: str | None = None,
    horizon_s: float | None = None,
    rng: np.random.Generator | None = None,
) -> Compatibility:
    """Say how well jobs fit on a link, and which shifts make them fit.

    Parameters
    ----------
    profiles
        What each job sends over the link: its own demand, not one measured under contention (see `own_profile`). Jobs
        without a period take their mean rate of the capacity and get no shift.
    capacity_bps
        Of the link, in bit/s.
    link, direction
        Names for the answer.
    horizon_s
        Time over which shifts are to be the best. By default for ever, or as long as measured periods keep their
        relation.
    rng
        Source of random starts and of the simulator's jitter; by default always the same.

    Raises
    ------
    UsageError
        If the capacity is not positive, a period or the horizon is out of range, the horizon holds too many
        iterations, there is no profile, or a profile's phases make no sense.

    Examples
    --------
    >>> from profiler.phases import TrafficProfile
    >>> vgg = TrafficProfile.from_phases(period_s=0.255, phases=[(0.0, 0.114, 400e6)])
    >>> answer = solve({"A": vgg, "B": vgg}, capacity_bps=400e6)
    >>> answer.verdict, round(answer.score_best, 9), answer.shifts_s
    ('compatible', 1.0, {'A': 0.0, 'B': 0.1275})
    """
    _check(profiles, capacity_bps=capacity_bps, horizon_s=horizon_s)
    rng = rng or np.random.default_rng(0)
    members = members_of(profiles)
    if members.demands:
        answer = _with_beat(members, capacity_bps=capacity_bps, horizon_s=horizon_s, rng=rng)
    else:
        answer = _without_beat(members, capacity_bps=capacity_bps)
    return replace(answer, link=link, direction=direction, jobs=tuple(sorted(profiles)))


def _with_beat(
    members: Members, *, capacity_bps: float, horizon_s: float | None, rng: np.random.Generator
) -> Compatibility:
    findings = find(members, capacity_bps=capacity_bps, horizon_s=horizon_s, rng=rng)
    advice = advise(findings, rng=rng)
    several = len(members.demands) > 1
    return Compatibility(
        capacity_bps=capacity_bps,
        verdict=advice.verdict,
        reason=advice.reason,
        jobs=(),
        shifts=advice.shifts,
        score_now=findings.score(findings.now_bps),
        score_best=findings.score(findings.best.excess_bps),
        score_random=findings.score(findings.random_bps),
        score_cassini=findings.cassini if several else None,
        score_paced=findings.score(findings.paced.excess_bps) if several else None,
        score_robust=findings.score(findings.robust_bps),
        gap=(findings.best.excess_bps - findings.best.bound_bps) / capacity_bps,
        horizon_s=findings.best.horizon_s,
        hold_s=findings.best.hold_s,
        predicted=advice.predicted,
        warnings=(*_warnings(members), *advice.warnings),
        method=findings.best.method,
    )


def _without_beat(members: Members, *, capacity_bps: float) -> Compatibility:
    """Answer for a link on which no job can be shifted."""
    advice = advise_unshiftable(members, capacity_bps=capacity_bps)
    score = 1 - max(0.0, members.background_bps - capacity_bps) / capacity_bps
    return Compatibility(
        capacity_bps=capacity_bps,
        verdict=advice.verdict,
        reason=advice.reason,
        jobs=(),
        shifts=(),
        score_best=score,
        score_random=score,
        method="mean rates",
    )


def _warnings(members: Members) -> tuple[str, ...]:
    return tuple(
        f"job {name} has no counter: nothing was counted for it"
        if name in members.unseen
        else f"job {name} has no period: counted at its mean rate, and it gets no shift"
        for name in members.unknown
    )


def _check(profiles: Mapping[str, TrafficProfile], *, capacity_bps: float, horizon_s: float | None) -> None:
    if not profiles:
        raise UsageError("compat: no job given; give at least one profile")
    if not 0 < capacity_bps < float("inf"):
        raise UsageError(f"compat: capacity_bps {capacity_bps!r}: must be positive and finite")
    if horizon_s is not None and not HORIZONS_S[0] <= horizon_s <= HORIZONS_S[1]:
        raise UsageError(f"compat: horizon_s {horizon_s!r}: must lie in 1 µs to 1e9 s; for ever needs no horizon")
    for name, profile in profiles.items():
        if profile.period_s is not None and not PERIODS_S[0] <= profile.period_s <= PERIODS_S[1]:
            raise UsageError(
                f"job {name}: period_s {profile.period_s!r}: must lie in 1 µs to 1e6 s; give times in seconds"
            )
