"""What a reader of a profile must know before relying on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.phases.measure import UNRESOLVED_WINDOWS
from profiler.schema import Flag
from profiler.signals import FASTEST_BPS
from profiler.units import format_count, format_duration, format_rate

if TYPE_CHECKING:
    from profiler.period.estimate import PeriodEstimate
    from profiler.signals import RateSeries

__all__ = ["bounded_confidence", "cautions"]

BUSY_DUTY_FRAC: Final = 0.75
LOW_CONFIDENCE: Final = 0.5
MOST_UNTOLD_FRAC: Final = 0.25
"""Noise and stray bytes between bursts hide up to a fifth of an iteration's bytes from its phases, or feign it."""


def cautions(
    series: RateSeries,
    estimate: PeriodEstimate,
    *,
    duty_frac: float | None,
    narrowest_s: float | None,
    told_frac: float,
) -> tuple[str, ...]:
    """Return what is odd about a series, its period or its phases, in words.

    ``narrowest_s`` is the width of the shortest burst, and ``told_frac`` what phases move over what iterations do.
    """
    flags = series.flags[np.flatnonzero(series.flags)]
    n_resets = int(np.count_nonzero(flags & np.uint16(Flag.RESET)))
    n_impossible = int(np.count_nonzero(flags & np.uint16(Flag.IMPOSSIBLE)))
    said = [
        (
            _is_flat(duty_frac),
            "Up and Down do not stand apart in the folded iteration: all of it counts as Up",
        ),
        (
            _is_busy(duty_frac) and not _is_flat(duty_frac),
            "Up most of the time: several jobs on this counter would look the same, and their own periods may differ",
        ),
        (
            _is_amiss(told_frac),
            f"phases move {100 * told_frac:.0f} % of what an iteration does: its bursts do not come at the same times",
        ),
        (
            bool(estimate.alias_periods_s),
            "few samples an iteration: a faster one could look the same, but would need traffic below zero",
        ),
        (
            narrowest_s is not None and narrowest_s <= UNRESOLVED_WINDOWS * series.dt_s,
            "a burst no longer than a window or two: only its bytes are known, its width and rate are bounds",
        ),
        (series.mean_bps > FASTEST_BPS, f"{format_rate(series.mean_bps)} is faster than any port: is the unit right?"),
        (
            series.refresh_s is not None and series.is_refresh_moot,
            f"each {format_duration(series.refresh_s)} the counter is refreshed, or a job sends a burst that fits"
            " between two reads: looked at tick by tick",
        ),
        (
            series.refresh_s is not None and not series.is_refresh_moot,
            f"the counter is refreshed every {format_duration(series.refresh_s)}: looked at tick by tick",
        ),
        (
            series.repeated_frac > 0 and estimate.status != "idle",
            f"{100 * series.repeated_frac:.2g} % of the readings repeat the one before amid traffic, at no interval"
            " that was found: rates between single readings are nothing or too much",
        ),
        (n_resets > 0, f"{format_count(n_resets, 'reset')} of the counter"),
        (n_impossible > 0, f"counter went back without a reset: {format_count(n_impossible, 'time')}"),
        (series.n_glitches > 0, f"{format_count(series.n_glitches, 'low read')} left out"),
        (series.n_late > 0, f"{format_count(series.n_late, 'late read')} put in order"),
    ]
    return (*(text for applies, text in said if applies), *series.notes)


def bounded_confidence(estimate: PeriodEstimate, *, duty_frac: float | None, told_frac: float) -> float | None:
    """Return the confidence, no more than even where another explanation is as good.

    That is where several jobs in one another's pauses would look the same, or where phases are not what moves.
    """
    if estimate.confidence is None or not (_is_busy(duty_frac) or _is_amiss(told_frac)):
        return estimate.confidence
    return min(estimate.confidence, LOW_CONFIDENCE)


def _is_busy(duty_frac: float | None) -> bool:
    return duty_frac is not None and duty_frac >= BUSY_DUTY_FRAC


def _is_amiss(told_frac: float) -> bool:
    return abs(told_frac - 1) > MOST_UNTOLD_FRAC


def _is_flat(duty_frac: float | None) -> bool:
    return duty_frac is not None and duty_frac >= 1.0
