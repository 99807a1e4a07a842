"""All pairs of a cluster's jobs: how many a second on one core, beside the two-job kernel called pair by pair."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import pytest

from pipeline.compat.demand import Demand
from pipeline.compat.kernel import shift_curve
from pipeline.compat.levels import Excess
from pipeline.compat.pairs import score_pairs

CAPACITY_BPS: Final = 1e10
N_JOBS: Final = 1000
N_ROUNDS: Final = 3
N_CALLED: Final = 2000
"""Pairs for which the kernel is called from Python."""

WANTED_PER_S: Final = {2: 1e6, 6: 0.4e6}
"""TARGETS: pairs a second on one core, by the phases of a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Pairs a second in one batch, and one by one."""

    batch_per_s: float
    called_per_s: float


def jobs(n_phases: int, *, share_period: bool) -> dict[str, Demand]:
    """Jobs that are Up and Down by turns, at 255 ms all, or at periods of their own."""
    rng = np.random.default_rng([n_phases, share_period])
    drawn: dict[str, Demand] = {}
    for i in range(N_JOBS):
        period_ns = 255_000_000 if share_period else int(rng.integers(150_000_000, 350_000_000))
        up_bps = rng.uniform(0.4, 1.0, n_phases // 2) * CAPACITY_BPS
        down_bps = np.zeros(1) if n_phases == 2 else rng.uniform(0, 0.15, n_phases // 2) * CAPACITY_BPS
        drawn[f"job{i:04}"] = Demand(
            period_ns=period_ns,
            edges_ns=np.sort(rng.choice(period_ns, n_phases, replace=False)).astype(np.int64),
            rate_bps=np.ravel(np.column_stack([up_bps, down_bps])),
        )
    return drawn


@pytest.fixture(scope="module", params=[(2, True), (2, False), (6, True), (6, False)], ids=str)
def measured(request: pytest.FixtureRequest) -> tuple[int, Rates]:
    n_phases, share_period = request.param
    drawn = jobs(n_phases, share_period=share_period)
    score_pairs(dict(list(drawn.items())[:2]), capacity_bps=CAPACITY_BPS)  # compiles
    batch_s = min(_batch_s(drawn) for _ in range(N_ROUNDS))
    rates = Rates(batch_per_s=N_JOBS * (N_JOBS - 1) / 2 / batch_s, called_per_s=N_CALLED / _called_s(drawn))
    print(  # noqa: T201
        f"\npairs of {n_phases} phases, {'one period' if share_period else 'unequal periods'}: "
        f"{rates.batch_per_s / 1e6:.2f} M pairs/s in a batch, {WANTED_PER_S[n_phases] / 1e6:.1f} wanted; "
        f"{rates.called_per_s / 1e6:.3f} M pairs/s one by one"
    )
    return n_phases, rates


def _batch_s(drawn: dict[str, Demand]) -> float:
    begun_s = time.process_time()
    score_pairs(drawn, capacity_bps=CAPACITY_BPS)
    return time.process_time() - begun_s


def _called_s(drawn: dict[str, Demand]) -> float:
    begun_s = time.process_time()
    for _, (a, b) in zip(range(N_CALLED), combinations(drawn.values(), 2), strict=False):
        curve = shift_curve(a, b, excess=Excess.over(CAPACITY_BPS))
        curve.best_shift_ns()
    return time.process_time() - begun_s


def test_a_batch_of_pairs_is_as_fast_as_is_wanted_on_one_core(measured: tuple[int, Rates]) -> None:
    n_phases, rates = measured
    assert rates.batch_per_s >= WANTED_PER_S[n_phases]


def test_a_batch_is_many_times_faster_than_pair_by_pair(measured: tuple[int, Rates]) -> None:
    _, rates = measured
    assert rates.batch_per_s >= 20 * rates.called_per_s
