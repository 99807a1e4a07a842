"""Many series as a fabric's ports give them, one in ten periodic, and what profiling them all takes."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.batch import profile_many
from profiler.synth import IDLE, NON_PERIODIC, Burst, training_job
from tests.bench.scoring import RIGHT_FRAC
from tests.bench.watch import FamilyWatch

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["N_SAMPLES", "N_WANTED", "BatchRun", "draw_series", "run_batch"]

N_SAMPLES: Final = 4096
N_WANTED: Final = 100_000
ONE_IN: Final = 10
N_DISTINCT: Final = 500
"""Series are drawn beforehand and given again and again: drawing is not what is measured."""
PERIOD_SAMPLES: Final = (40.0, 400.0)
RATE_BPS: Final = 10e9
SEED: Final = 9100
DT_S: Final = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRun:
    """What a batch took, all processes together, and what came of it; memory without what processes share."""

    n_series: int
    n_periodic: int
    n_right: int
    n_invented: int
    spent_s: float
    peak_bytes: int

    @property
    def s_for_wanted(self) -> float:
        """Seconds that `N_WANTED` series would take, at the same pace."""
        return self.spent_s * N_WANTED / self.n_series


def draw_series(rng: np.random.Generator, *, n_series: int = N_DISTINCT) -> list[tuple[RateSeries, float | None]]:
    """Draw series of `N_SAMPLES` windows and their periods: every tenth a job, the others of each family in turn."""
    others = itertools.cycle([*NON_PERIODIC.values(), *IDLE.values()])
    return [
        _draw_job(rng) if i % ONE_IN == 0 else (next(others)(rng, duration_s=N_SAMPLES * DT_S, dt_s=DT_S).series, None)
        for i in range(n_series)
    ]


def run_batch(*, n_series: int, n_workers: int) -> BatchRun:
    """Profile series on processes, and watch the memory of them all."""
    drawn = draw_series(np.random.default_rng(SEED))
    truths = [drawn[i % N_DISTINCT][1] for i in range(n_series)]
    with FamilyWatch(os.getpid()) as memory:
        start_s = time.monotonic()
        found_s = [
            profile.period_s
            for profile in profile_many((drawn[i % N_DISTINCT][0] for i in range(n_series)), n_workers=n_workers)
        ]
        spent_s = time.monotonic() - start_s
    pairs = list(zip(found_s, truths, strict=True))
    return BatchRun(
        n_series=n_series,
        n_periodic=sum(truth_s is not None for truth_s in truths),
        n_right=sum(bool(found and true and abs(found / true - 1) < RIGHT_FRAC) for found, true in pairs),
        n_invented=sum(found is not None and true is None for found, true in pairs),
        spent_s=spent_s,
        peak_bytes=memory.peak_bytes,
    )


def _draw_job(rng: np.random.Generator) -> tuple[RateSeries, float | None]:
    n_bursts = int(rng.integers(1, 4))
    bursts = [Burst(0.1 + 0.8 * i / n_bursts, rng.uniform(0.2, 0.6) / n_bursts, RATE_BPS) for i in range(n_bursts)]
    job = training_job(
        rng,
        period_s=DT_S * float(np.exp(rng.uniform(*np.log(PERIOD_SAMPLES)))),
        bursts=[replace(burst, rate_bps=rng.uniform(0.5, 1.0) * RATE_BPS) for burst in bursts],
        duration_s=N_SAMPLES * DT_S,
        dt_s=DT_S,
        jitter_frac=rng.uniform(0.0, 0.05),
    )
    return job.series, job.period_s
