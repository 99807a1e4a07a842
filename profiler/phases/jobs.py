"""The jobs of one counter, each with its own traffic and its own iterations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.phases.bursts import find_bursts
from profiler.phases.fold import cycle_bounds, fold_cycles
from profiler.phases.follow import realign
from profiler.phases.separation import Beat, separate
from profiler.phases.traffic import Traffic

if TYPE_CHECKING:
    from profiler.period.estimate import PeriodEstimate
    from profiler.signals import RateSeries

__all__ = ["part_jobs"]

N_ROUNDS: Final = 3
"""Starts found while two jobs were mixed are found again in what each moves alone; thrice is enough."""


def part_jobs(series: RateSeries, estimates: list[PeriodEstimate]) -> list[tuple[RateSeries, PeriodEstimate]]:
    """Return the traffic of each job alone, with its estimate, its iterations found again in it.

    Parameters
    ----------
    series
        Traffic of one counter.
    estimates
        One a job, each periodic.
    """
    beats = [Beat(starts_s=one.starts_s, period_s=one.period_s or 1.0) for one in estimates]
    parts = separate(series, beats)
    for _ in range(N_ROUNDS):
        before, beats = beats, [_found_again(part, beat) for part, beat in zip(parts, beats, strict=True)]
        parts = separate(series, beats)
        if all(_is_same(*pair, dt_s=series.dt_s) for pair in zip(before, beats, strict=True)):
            break
    return [
        (part, replace(one, starts_s=beat.starts_s, others=()))
        for one, part, beat in zip(estimates, parts, beats, strict=True)
    ]


def _is_same(before: Beat, after: Beat, *, dt_s: float) -> bool:
    """Return whether all starts are where they were, within a window."""
    starts_s = before.starts_s
    return starts_s.size == after.starts_s.size and bool((np.abs(starts_s - after.starts_s) <= dt_s).all())


def _found_again(part: RateSeries, beat: Beat) -> Beat:
    """Return when a job's iterations begin, by its own traffic."""
    traffic = Traffic.of(part.resample(part.dt_s))
    bounds_s = cycle_bounds(beat.starts_s, period_s=beat.period_s)
    if not len(bounds_s):
        return beat
    shape = find_bursts(fold_cycles(traffic, bounds_s, period_s=beat.period_s))
    if shape is None:
        return beat
    return replace(beat, starts_s=realign(traffic, shape, starts_s=beat.starts_s, period_s=beat.period_s))
