"""`extract_phases`: from a rate series and its period to the Up and Down phases of an iteration."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.detect import detect_period
from profiler.phases.cautions import bounded_confidence, cautions
from profiler.phases.consistency import check_estimate
from profiler.phases.distribution import level_groups
from profiler.phases.iteration import Iteration, find_iteration
from profiler.phases.jobs import part_jobs
from profiler.phases.profile import TrafficProfile
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.period.estimate import PeriodEstimate
    from profiler.period.timekeeping import Clock
    from profiler.signals import RateSeries

__all__ = ["extract_phases", "profile"]

Z95: Final = 1.96
"""Standard errors to both sides of an interval that holds the truth in 95 of 100 cases."""
PEAK_QUANTILE: Final = 0.99
"""What a series without phases exceeds in one window of a hundred only is its peak."""
VARYING: Final = frozenset({"aperiodic", "undersampled", "insufficient"})
"""Statuses with which traffic has no phases but more than one rate."""
SAME_PERIOD_FRAC: Final = 0.02
"""Periods that differ by less are one period: that of one job whose iterations vary, or of two that nothing parts."""


def profile(series: RateSeries) -> TrafficProfile:
    """Return what a traffic series does in an iteration, or why that cannot be said.

    Examples
    --------
    >>> from profiler.synth import Burst, training_job
    >>> job = training_job(
    ...     np.random.default_rng(7), period_s=0.25, bursts=[Burst(0.5, 0.4, 400e6)], duration_s=20.0, dt_s=0.001
    ... )
    >>> found = profile(job.series)
    >>> found.status, round(found.period_s, 3), round(found.up_s, 3)
    ('periodic', 0.25, 0.1)
    """
    return extract_phases(series, detect_period(series))


def extract_phases(series: RateSeries, estimate: PeriodEstimate) -> TrafficProfile:
    """Return the profile of a series whose period was looked for.

    Parameters
    ----------
    series
        The series that the estimate was made from.
    estimate
        Its period and iterations. If it is not periodic the profile says so, and has no phases. If it has others, each
        job's profile is of its own traffic alone.

    Raises
    ------
    UsageError
        If the estimate has a period but cannot be of this series: that is empty or shorter than the period, or
        iterations lie outside of it; or if it contradicts itself.
    """
    if estimate.period_s is None:
        return _described(series, estimate, iteration=None)
    for one in (estimate, *estimate.others):
        if one.period_s is not None:
            check_estimate(series, one, period_s=one.period_s)
    others = list(compress(estimate.others, _have_own([estimate, *estimate.others])))
    if not others:
        iteration = find_iteration(series, estimate, period_s=estimate.period_s)
        return _described(series, _timed(estimate, iteration.clock), iteration=iteration)
    first, *rest = (extract_phases(part, one) for part, one in part_jobs(series, [estimate, *others]))
    have_own = _have_own([first, *rest])
    if not all(have_own):
        # Followed in what the others leave, two guesses at a period became one.
        return extract_phases(series, replace(estimate, others=tuple(compress(others, have_own))))
    return replace(first, others=tuple(rest), other_periods_s=tuple(one.period_s for one in rest if one.period_s))


def _have_own(jobs: Sequence[PeriodEstimate | TrafficProfile]) -> list[bool]:
    """Return whether each job but the first has a period unlike those before it: nothing parts jobs of one period."""
    taken_s = [jobs[0].period_s or 0.0]
    have_own = []
    for job in jobs[1:]:
        period_s = job.period_s or 0.0
        have_own.append(
            period_s > 0 and all(abs(period_s - one_s) > SAME_PERIOD_FRAC * max(period_s, one_s) for one_s in taken_s)
        )
        if have_own[-1]:
            taken_s.append(period_s)
    return have_own


def _timed(estimate: PeriodEstimate, clock: Clock | None) -> PeriodEstimate:
    """Return the estimate with the period of the clock that bursts keep, which all of their edges tell, if they do."""
    if clock is None:
        return estimate
    return replace(
        estimate,
        period_s=clock.period_s,
        period_low_s=clock.period_s - Z95 * clock.error_s,
        period_high_s=clock.period_s + Z95 * clock.error_s,
        period_error_s=clock.error_s,
    )


def _at(series: RateSeries, t_s: float) -> int:
    return int(series.edges_ns[0]) + round(t_s * NS_PER_S)


def _described(series: RateSeries, estimate: PeriodEstimate, *, iteration: Iteration | None) -> TrafficProfile:
    phases = iteration.phases if iteration else ()
    ups = [phase for phase in phases if phase.kind == "up"]
    told_frac = iteration.told_frac if iteration else 1.0
    duty_frac = sum(up.width_s for up in ups) / estimate.period_s if estimate.period_s else None
    return TrafficProfile(
        status=estimate.status,
        reason=estimate.reason,
        host=series.host,
        device=series.device,
        port=series.port,
        direction=series.direction,
        layer=series.layer,
        period_s=estimate.period_s,
        period_low_s=estimate.period_low_s,
        period_high_s=estimate.period_high_s,
        period_error_s=estimate.period_error_s,
        p90_period_s=estimate.p90_period_s,
        confidence=bounded_confidence(estimate, duty_frac=duty_frac, told_frac=told_frac),
        n_cycles=estimate.n_cycles,
        jitter_frac=estimate.jitter_frac,
        alias_periods_s=estimate.alias_periods_s,
        need_more_s=estimate.need_more_s,
        mean_bps=series.mean_bps,
        peak_bps=max(up.rate_bps for up in ups) if ups else _peak(series),
        duty_frac=duty_frac,
        repeated_frac=None if estimate.status == "idle" else series.repeated_frac or None,
        anchor_ns=_at(series, iteration.anchor_s) if iteration and iteration.anchor_s is not None else None,
        levels_bps=level_groups(series) if estimate.status in VARYING else (),
        phases=phases,
        outliers=iteration.outliers if iteration else (),
        warnings=cautions(
            series,
            estimate,
            duty_frac=duty_frac,
            narrowest_s=min((up.width_s for up in ups), default=None),
            told_frac=told_frac,
        ),
        fold_bps=iteration.fold_bps if iteration else np.zeros(0),
        method=estimate.method,
    )


def _peak(series: RateSeries) -> float | None:
    if not series.n_samples:
        return None
    i = int(PEAK_QUANTILE * (series.n_samples - 1))
    return float(np.partition(series.rate_bps, i)[i])
