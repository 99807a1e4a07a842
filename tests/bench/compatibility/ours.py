"""Our solver, asked as `pipeline.solve` asks it: exact periods, for ever or over the case's horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.demand import Demand
from pipeline.compat.horizon import best_shifts
from pipeline.compat.levels import Excess
from pipeline.compat.relations import Beat
from tests.bench.compatibility.answer import Answer
from tests.bench.compatibility.exact import NS_PER_MS

if TYPE_CHECKING:
    from tests.bench.compatibility.cases import Case, Job

__all__ = ["demand_of_job", "ours"]

BPS_PER_MBPS: Final = 1e6
MS_PER_S: Final = 1e3


def ours(case: Case) -> Answer:
    """Return our shifts with their certified gap."""
    capacity_bps = case.capacity_mbps * BPS_PER_MBPS
    found = best_shifts(
        [demand_of_job(job) for job in case.jobs],
        beats=[Beat(period_s=job.period_ms / MS_PER_S, error_s=0.0, jitter_s=0.0) for job in case.jobs],
        excess=Excess.over(capacity_bps),
        horizon_s=None if case.horizon_ms is None else case.horizon_ms / MS_PER_S,
        rng=np.random.default_rng(0),
    )
    return Answer(
        score=1 - found.excess_bps / capacity_bps,
        shifts_ns=tuple(found.shifts_ns),
        gap=(found.excess_bps - found.bound_bps) / capacity_bps,
    )


def demand_of_job(job: Job) -> Demand:
    """Return a job of a case as our solver takes it."""
    return Demand(
        period_ns=job.period_ms * NS_PER_MS,
        edges_ns=np.array(job.edges_ms, dtype=np.int64) * NS_PER_MS,
        rate_bps=np.array(job.rates_mbps, dtype=np.float64) * BPS_PER_MBPS,
    )
