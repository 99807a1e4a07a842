"""The answers of the detector: each way out has a status and a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.estimate import PeriodEstimate
from profiler.period.spectrum import alias_periods
from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from profiler.period.status import Status

__all__ = ["FEW_CYCLES", "METHOD", "constant", "doubtful", "insufficient", "moot", "undersampled", "without"]

METHOD: Final = "comb of spectral lines and multi-scale autocorrelation, iterations followed by template"


FEW_CYCLES: Final = 12
"""Fewer iterations than this may be too few to be sure of."""
SAMPLES_A_PERIOD: Final = 8


def without(
    status: Status, reason: str, *, need_more_s: float | None = None, alias_periods_s: Iterable[float] = ()
) -> PeriodEstimate:
    """Return an answer that has no period, and why."""
    return PeriodEstimate(
        status=status,
        reason=reason,
        need_more_s=need_more_s,
        alias_periods_s=tuple(alias_periods_s),
        starts_s=np.zeros(0),
        method=METHOD,
    )


def constant(mean_bps: float) -> PeriodEstimate:
    """Return the answer for traffic without Up and Down phases."""
    return without("constant", f"a steady {format_rate(mean_bps)}, without Up and Down phases")


def moot(answer: PeriodEstimate, *, refresh_s: float) -> PeriodEstimate:
    """Return the answer to a series whose windows are ticks of what may be its counter's clock, or a job's beat.

    Steady ticks are a stream or a job, so that neither is said; of other answers the reason tells it.
    """
    beat = (
        f"each {format_duration(refresh_s)} it moves at once, by a refresh of its own or by a burst of a job that fits"
        " between two reads; read it more often, or the job's sockets by --pid, which have no refresh"
    )
    if answer.status == "constant":
        return without("undersampled", f"steady or not, the reads do not tell: {beat}")
    return replace(answer, reason=f"{answer.reason}; {beat}") if answer.status == "aperiodic" else answer


def doubtful(answer: PeriodEstimate) -> PeriodEstimate:
    """Return the refusal to give a period that has too little for it."""
    reason = (
        f"perhaps a period of {format_duration(answer.period_s)}, with a chance of {answer.confidence or 0:.0%} only"
    )
    n_cycles = answer.n_cycles or 0.0
    if n_cycles < FEW_CYCLES:
        need_s = (answer.period_s or 0.0) * (FEW_CYCLES - n_cycles)
        return without("insufficient", f"{reason}; record {format_duration(need_s)} more", need_more_s=need_s)
    return without("aperiodic", reason)


def insufficient(period_s: float, *, n_seen: int, n_needed: int) -> PeriodEstimate:
    """Return the answer for a period that was seen too few times."""
    need_s = period_s * max(1, n_needed - n_seen)
    reason = (
        f"perhaps a period of {format_duration(period_s)}, but only {n_seen} whole iterations seen; "
        f"record {format_duration(need_s)} more"
    )
    return without("insufficient", reason, need_more_s=need_s)


def undersampled(period_s: float, *, dt_s: float) -> PeriodEstimate:
    """Return the answer for a line whose aliases explain the samples as well as its own period does."""
    reason = (
        f"a period of {format_duration(period_s)} cannot be told from its aliases with samples every "
        f"{format_duration(dt_s)}; sample at least {SAMPLES_A_PERIOD} times an iteration, or at irregular times"
    )
    return without("undersampled", reason, alias_periods_s=alias_periods(1 / period_s, dt_s=dt_s))
