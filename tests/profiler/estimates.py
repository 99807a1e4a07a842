"""Estimates made from the truth of generated traffic, so that phases are tested apart from how periods are found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from profiler.period import PeriodEstimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.synth import Labelled

__all__ = ["true_estimate"]


def true_estimate(labelled: Labelled, *, stray_frac: float = 0.0) -> PeriodEstimate:
    """Return the periods and iterations of a trace's jobs, each start off by a normal deviate of this part of a period.

    The starts of a job are those of every n-th burst, n the bursts that it has in an iteration, after the gap that
    varies most: there the job computes.
    """
    rng = np.random.default_rng(0)
    first, *others = (
        _estimate(period_s, up_s, rng=rng, stray_frac=stray_frac, duration_s=labelled.series.duration_s)
        for period_s, up_s in zip(labelled.periods_s, labelled.up_by_job_s, strict=True)
    )
    return replace(first, others=tuple(others))


def _estimate(
    period_s: float, up_s: NDArray[np.float64], *, rng: np.random.Generator, stray_frac: float, duration_s: float
) -> PeriodEstimate:
    n_bursts = max(1, round(len(up_s) / (duration_s / period_s)))
    gaps_s = up_s[1:, 0] - up_s[:-1, 1]
    first = max(range(n_bursts), key=lambda i: float(np.std(gaps_s[i::n_bursts])))
    starts_s = up_s[1 + first :: n_bursts, 0]
    starts_s = np.unique(np.abs(starts_s + rng.normal(0.0, stray_frac * period_s, starts_s.size)))
    return PeriodEstimate(
        status="periodic",
        reason="made from the truth",
        period_s=period_s,
        n_cycles=float(starts_s.size - 1),
        jitter_frac=float(np.std(np.diff(starts_s))) / period_s,
        starts_s=starts_s,
        method="truth",
    )
