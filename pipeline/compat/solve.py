"""`solve`: everything that is said about the jobs of one direction of a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.advice import advise, advise_unshiftable
from pipeline.compat.congestion import cautions
from pipeline.compat.explanation.scenes import scenes_of, scenes_without_beat
from pipeline.compat.findings import find
from pipeline.compat.hold import slip_of
from pipeline.compat.levels import Excess
from pipeline.compat.members import members_of
from pipeline.compat.plateaus import TOLERANCE_FRAC
from pipeline.compat.result import Compatibility
from pipeline.compat.robust import JITTER_FRAC
from pipeline.compat.terms import Terms
from pipeline.deadline import Deadline
from profiler.errors import UsageError

if TYPE_CHECKING:
    from pipeline.compat.findings import Findings
    from pipeline.compat.members import Members
    from profiler.phases import TrafficProfile

__all__ = ["solve"]

PERIODS_S: Final = (1e-6, 1e6)
"""Shortest and longest that can be answered on a clock of whole nanoseconds."""

PROVED_GAP: Final = 1e-9
"""A gap of this is rounding: rates are summed over thousands of edges."""


def solve(  # noqa: PLR0913 - the one call that users make, and all but two have a default
    profiles: Mapping[str, TrafficProfile],
    *,
    capacity_bps: float,
    link: str | None = None,
    direction: str | None = None,
    horizon_s: float | None = None,
    jitter_frac: float = JITTER_FRAC,
    tolerance_frac: float = TOLERANCE_FRAC,
    budget_s: float | None = None,
    rng: np.random.Generator | None = None,
) -> Compatibility:
    """Say how well jobs fit on a link, and which shifts make them fit.

    Parameters
    ----------
    profiles
        What each job sends over the link: its own demand, not one measured under contention (see `own_profile`; one
        that looks so is warned of). Jobs without a period take capacity, by the distribution of their rates or, where
        that is not known, their mean, and get no shift.
    capacity_bps
        Of the link, in bit/s.
    link, direction
        Names for the answer.
    horizon_s
        Time over which shifts are to be the best. By default for ever, or as long as measured periods keep their
        relation.
    jitter_frac
        By how much of its period each job may be off its shift, for ``score_robust`` and ``score_worst``.
    tolerance_frac
        Share of the capacity by which the shifts in ``good_shifts_s`` may score lower than the best.
    budget_s
        Time that the search for shifts may take; when it is over, the best so far is returned with its gap. By default
        so much work as takes a fraction of a second for a few jobs.
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
    >>> answer.shifts[1].plateau_s
    (0.114, 0.141)
    """
    rng = rng or np.random.default_rng(0)
    deadline = Deadline.after(budget_s)
    terms = Terms(
        capacity_bps=capacity_bps, horizon_s=horizon_s, jitter_frac=jitter_frac, tolerance_frac=tolerance_frac
    )
    _check(profiles)
    members = members_of(profiles)
    if members.demands:
        findings = find(members, terms=terms, rng=rng, deadline=deadline)
        answer = _with_beat(findings, rng=rng)
    else:
        answer = _without_beat(members, capacity_bps=capacity_bps)
    if members.unseen:
        answer = _unscored(answer)
    return replace(
        answer,
        link=link,
        direction=direction,
        jobs=tuple(sorted(profiles)),
        warnings=(*answer.warnings, *cautions(members.profiles, capacity_bps=capacity_bps)),
        elapsed_s=deadline.elapsed_s(),
    )


def _with_beat(findings: Findings, *, rng: np.random.Generator) -> Compatibility:
    advice = advise(findings, rng=rng)
    best, robust = findings.best, findings.robust
    several = len(findings.members.demands) > 1
    slip = slip_of(findings.beats)
    gap = (best.excess_bps - best.bound_bps) / findings.terms.capacity_bps
    return Compatibility(
        capacity_bps=findings.terms.capacity_bps,
        verdict=advice.verdict,
        reason=advice.reason,
        jobs=(),
        shifts=advice.shifts,
        score_now=findings.score(findings.now_bps),
        score_best=findings.score(best.excess_bps),
        score_random=findings.score(findings.random_bps),
        score_cassini=findings.cassini if several else None,
        score_paced=findings.score(findings.paced.excess_bps) if several else None,
        score_robust=findings.score(robust.expected_bps),
        score_worst=findings.score(robust.worst_bps),
        jitter_frac=findings.terms.jitter_frac,
        gap=gap,
        is_proved=gap <= PROVED_GAP,
        horizon_s=best.horizon_s,
        hold_s=best.hold_s,
        drift_s=slip.drift_s if several else None,
        wander_s=slip.wander_s if several else None,
        predicted=advice.predicted,
        warnings=(*_warnings(findings.members, findings=findings), *advice.warnings),
        method=best.method,
        scenes=scenes_of(findings, advised=advice.shifts),
    )


def _without_beat(members: Members, *, capacity_bps: float) -> Compatibility:
    """Answer for a link on which no job can be shifted."""
    advice = advise_unshiftable(members, capacity_bps=capacity_bps)
    excess = Excess(capacity_bps=capacity_bps, others=members.background)
    score = 1 - float(excess(np.zeros(1))[0]) / capacity_bps
    return Compatibility(
        capacity_bps=capacity_bps,
        verdict=advice.verdict,
        reason=advice.reason,
        jobs=(),
        shifts=(),
        score_best=score,
        score_random=score,
        gap=0.0,
        is_proved=True,
        warnings=_warnings(members, findings=None),
        method="distribution of rates",
        scenes=scenes_without_beat(members, capacity_bps=capacity_bps, score=score),
    )


def _unscored(answer: Compatibility) -> Compatibility:
    """Return the answer for a link of which some of the traffic is not known at all."""
    return replace(
        answer,
        score_now=None,
        score_best=None,
        score_random=None,
        score_cassini=None,
        score_paced=None,
        score_robust=None,
        score_worst=None,
        gap=None,
        is_proved=False,
    )


def _warnings(members: Members, *, findings: Findings | None) -> tuple[str, ...]:
    how = dict.fromkeys(members.unknown, "by how much of the time it takes which rate")
    how |= dict.fromkeys(members.flattened, "at its mean rate, the only one that is known")
    warnings = [
        f"job {name}: nothing is known of how much it sends, so there are no scores"
        if name in members.unseen
        else f"job {name} has no period: counted {how[name]}, and it gets no shift"
        for name in members.unknown
    ]
    if findings and findings.bursts_bps is not None:
        warnings.append(
            f"if job {', '.join(members.flattened)} sends at its peak rate or not at all, the best score is "
            f"{findings.score(findings.bursts_bps):.3f}: profile it from its counters"
        )
    return tuple(warnings)


def _check(profiles: Mapping[str, TrafficProfile]) -> None:
    if not profiles:
        raise UsageError("compat: no job given; give at least one profile")
    for name, profile in profiles.items():
        if profile.period_s is not None and not PERIODS_S[0] <= profile.period_s <= PERIODS_S[1]:
            raise UsageError(
                f"job {name}: period_s {profile.period_s!r}: must lie in 1 µs to 1e6 s; give times in seconds"
            )
