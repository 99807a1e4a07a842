"""Whether an estimate can be of a series, and does not contradict itself: one may be made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.errors import UsageError
from profiler.period.medians import median

if TYPE_CHECKING:
    from profiler.period.estimate import PeriodEstimate
    from profiler.signals import RateSeries

__all__ = ["check_estimate"]

MIN_WINDOWS: Final = 2.0
"""A period of fewer windows shows neither Up nor Down."""
LEAST_STEP_FRAC: Final = 0.4
"""Starts closer together than this fraction of a period, most of them, are of something else than its iterations."""


def check_estimate(series: RateSeries, estimate: PeriodEstimate, *, period_s: float) -> None:
    """Refuse an estimate with a period that contradicts itself or cannot be of this series.

    Raises
    ------
    UsageError
        If so, naming the value.
    """
    _check_numbers(estimate, period_s=period_s)
    if series.n_samples == 0:
        raise UsageError("extract_phases: the series is empty; give the one that the period was estimated from")
    if not MIN_WINDOWS * series.dt_s <= period_s <= series.duration_s:
        raise UsageError(
            f"extract_phases: period_s {period_s:g} for a series of {series.duration_s:g} s, read every "
            f"{series.dt_s:g} s; give the series that the period was estimated from"
        )
    _check_starts(series, estimate, period_s=period_s)


def _check_numbers(estimate: PeriodEstimate, *, period_s: float) -> None:
    if estimate.status != "periodic":
        raise UsageError(
            f"extract_phases: status {estimate.status} with period_s {period_s:g}; only a periodic one has a period"
        )
    for name, value in (("confidence", estimate.confidence), ("jitter_frac", estimate.jitter_frac)):
        if value is not None and not 0 <= value < float("inf"):
            raise UsageError(f"extract_phases: {name} {value:g}; give a number of at least 0, or None if not known")


def _check_starts(series: RateSeries, estimate: PeriodEstimate, *, period_s: float) -> None:
    starts_s = estimate.starts_s
    steps_s = np.diff(starts_s)
    if not (starts_s.size and np.isfinite(starts_s).all() and (steps_s > 0).all()):
        raise UsageError("extract_phases: starts_s must hold at least one start, finite and increasing")
    if steps_s.size and median(steps_s) < LEAST_STEP_FRAC * period_s:
        raise UsageError(
            f"extract_phases: iterations {median(steps_s):g} s apart for period_s {period_s:g}; "
            "starts_s must be those of whole iterations"
        )
    if starts_s[0] < -period_s or starts_s[-1] > series.duration_s + period_s:
        raise UsageError(
            f"extract_phases: iterations from {starts_s[0]:g} to {starts_s[-1]:g} s in a series of "
            f"{series.duration_s:g} s; give the series that the period was estimated from"
        )
