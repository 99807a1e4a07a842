"""The 5-degree grid against trying all rotations one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from pipeline.compat.cassini import cassini_score
from pipeline.compat.demand import Demand, demand_of
from pipeline.compat.levels import Excess, Levels
from tests.pipeline.jobs import CAPACITY_BPS, vgg

MS = 1_000_000
ANGLES = np.arange(72)
CAPACITY = 10.0


def drawn(rng: np.random.Generator, *, period_ms: int) -> Demand:
    edges_ns = np.sort(rng.choice(period_ms, 4, replace=False)).astype(np.int64) * MS
    return Demand(period_ns=period_ms * MS, edges_ns=edges_ns, rate_bps=rng.integers(0, 8, 4).astype(np.float64))


def naive_score(demands: Sequence[Demand], *, excess: Excess) -> float:
    """The best score of all rotations, each laid out and costed, the first job standing still."""
    circle_ns = math.lcm(*(demand.period_ns for demand in demands))
    circles = [demand.at(ANGLES * circle_ns // 72) for demand in demands]
    n_rotations = [math.ceil(72 * demand.period_ns / circle_ns) for demand in demands]
    turned = [np.stack([np.roll(circle, k) for k in range(n)]) for circle, n in zip(circles, n_rotations, strict=True)]
    least_bps = min(
        float(excess(np.sum([turned[i][k] for i, k in enumerate((0, *turns))], axis=0) + turned[-1]).mean(axis=1).min())
        for turns in product(*(range(n) for n in n_rotations[1:-1]))
    )
    return 1 - least_bps / excess.capacity_bps


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("periods_ms", [(72, 72, 72), (144, 72, 36), (24, 36, 36, 72), (72, 18, 24, 36)])
def test_of_up_to_four_jobs_all_rotations_are_tried(periods_ms: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    demands = [drawn(rng, period_ms=period_ms) for period_ms in periods_ms]
    for others in (Levels.certain(0.0), Levels(rate_bps=np.array([0.0, 3.0]), weight=np.array([0.75, 0.25]))):
        excess = Excess(capacity_bps=CAPACITY, others=others)
        assert cassini_score(demands, excess=excess) == pytest.approx(naive_score(demands, excess=excess), abs=1e-12)


def test_more_jobs_reach_what_fits() -> None:
    # Six bursts of 12 angles fill the circle; placed in any order they find their gaps.
    demands = [demand_of(vgg(period_s=0.072, up_s=0.012 - 0.001 * (i % 2))) for i in range(6)]
    assert cassini_score(demands, excess=Excess.over(CAPACITY_BPS)) == 1


def test_seven_jobs_score_no_better_than_their_mean_allows_and_the_same_every_time() -> None:
    demands = [demand_of(vgg(period_s=0.1, up_s=0.02)) for _ in range(7)]
    first = cassini_score(demands, excess=Excess.over(CAPACITY_BPS))
    assert first is not None
    # 15 of 72 angles each, the grid's 20 %: 105 of 72 angles, so 33 are over.
    assert first == pytest.approx(1 - 33 / 72, abs=1 / 72)
    assert cassini_score(demands, excess=Excess.over(CAPACITY_BPS)) == first


def test_single_job_scores_what_it_lacks_alone() -> None:
    demands = [demand_of(vgg(period_s=0.072, up_s=0.018, rate_bps=2 * CAPACITY_BPS))]
    assert cassini_score(demands, excess=Excess.over(CAPACITY_BPS)) == pytest.approx(0.75)
