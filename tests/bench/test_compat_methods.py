"""The bench's own judge and peers against counting millisecond by millisecond, and CASSINI's score against its twin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pipeline.compat.cassini import cassini_score
from pipeline.compat.levels import Excess
from tests.bench.compatibility.cases import FAMILIES, Case, Job, draw_case
from tests.bench.compatibility.cp_sat import cp_sat
from tests.bench.compatibility.exact import NS_PER_MS, exact_score
from tests.bench.compatibility.grid import N_ANGLES, greedy_on_grid, on_grid
from tests.bench.compatibility.longer_phases import longer_phases, stretched_circle
from tests.bench.compatibility.methods import METHODS
from tests.bench.compatibility.ours import demand_of_job
from tests.reference import TickedJob, best_excess, window_excess

MAX_COUNTED_MS = 3_000
QUICK = [name for name, family in FAMILIES.items() if family.n_jobs <= 4]


def ticked(case: Case) -> list[TickedJob]:
    return [TickedJob(tuple(job.rate_at(t) for t in range(job.period_ms))) for job in case.jobs]


def on_off(period_ms: int, up_ms: int, rate_mbps: int = 10_000) -> Job:
    return Job(period_ms=period_ms, edges_ms=(0, up_ms), rates_mbps=(rate_mbps, 0))


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_judge_agrees_with_counting_every_millisecond(name: str, seed: int) -> None:
    case = draw_case(name, seed)
    shifts_ms = np.random.default_rng(seed).integers([job.period_ms for job in case.jobs]).tolist()
    cut = Case(family=name, seed=seed, jobs=case.jobs, horizon_ms=min(case.span_ms, MAX_COUNTED_MS))
    counted = window_excess(ticked(cut), shifts_ms, cut.capacity_mbps, length=cut.span_ms)
    assert exact_score(cut, [ms * NS_PER_MS for ms in shifts_ms]) == 1 - counted / cut.capacity_mbps


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", range(1, 4))
def test_every_job_of_every_case_fits_alone_and_has_edges_in_order(name: str, seed: int) -> None:
    for job in draw_case(name, seed).jobs:
        assert max(job.rates_mbps) <= 10_000
        assert list(job.edges_ms) == sorted(set(job.edges_ms))
        assert 0 <= job.edges_ms[0] <= job.edges_ms[-1] < job.period_ms


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("seed", range(1, 5))
def test_cassinis_score_is_that_of_its_naive_twin_or_what_a_descent_reaches(name: str, seed: int) -> None:
    case = draw_case(name, seed)
    twin = on_grid(case)
    score = cassini_score([demand_of_job(job) for job in case.jobs], excess=Excess.over(case.capacity_mbps * 1e6))
    assert (twin is None) == (score is None)
    if twin is None or score is None:
        return
    assert score <= twin.score + 1e-12
    if len(case.jobs) == 2:
        assert score == pytest.approx(twin.score, abs=1e-12)


def test_grid_and_greedy_find_the_published_shift_of_40_and_60_ms_jobs() -> None:
    case = Case(family="published", seed=0, jobs=(on_off(40, 10), on_off(60, 10)))
    assert case.common_ms == 120
    for answer in (on_grid(case), greedy_on_grid(case)):
        assert answer is not None
        assert answer.score == exact_score(case, answer.shifts_ns) == 1


def test_the_rust_twins_phases_are_twice_as_long_on_a_circle_of_two_iterations() -> None:
    # 90 of 360 ms are 18 of 72 bins, and one more at the end; two iterations should take 9 bins each.
    assert int(np.count_nonzero(stretched_circle(on_off(360, 90), 360))) == 19
    assert int(np.count_nonzero(stretched_circle(on_off(360, 90), 720))) == 38


def test_the_rust_twin_claims_a_collision_where_two_harmonic_jobs_fit() -> None:
    case = Case(family="harmonic", seed=0, jobs=(on_off(100, 45), on_off(200, 40)))
    claimed, grid = longer_phases(case), on_grid(case)
    assert claimed is not None
    assert grid is not None
    assert grid.score == exact_score(case, grid.shifts_ns) == 1
    assert claimed.score < 0.9


def test_rotation_by_one_angle_is_a_shift_of_a_72nd_of_the_circle() -> None:
    # Ups of 35 and 37 of 72 ms fit only next to each other: on angles of one millisecond the grid is exact.
    case = Case(family="next", seed=0, jobs=(on_off(N_ANGLES, 35), on_off(N_ANGLES, 37)))
    answer = on_grid(case)
    assert answer is not None
    assert answer.shifts_ns == (0, 35 * NS_PER_MS)
    assert exact_score(case, answer.shifts_ns) == 1


def test_cp_sat_proves_the_optimum_of_brute_force() -> None:
    pytest.importorskip("ortools", reason="ortools is not installed; pip install -e '.[bench]'")
    jobs = (
        Job(period_ms=12, edges_ms=(1, 4, 7), rates_mbps=(7_000, 2_000, 0)),
        Job(period_ms=12, edges_ms=(0, 5), rates_mbps=(8_000, 1_000)),
        Job(period_ms=6, edges_ms=(2, 3), rates_mbps=(5_000, 0)),
    )
    case = Case(family="small", seed=0, jobs=jobs)
    answer = cp_sat(case)
    assert answer is not None
    best = 1 - best_excess(ticked(case), case.capacity_mbps) / case.capacity_mbps
    assert answer.gap == pytest.approx(0, abs=1e-12)
    assert exact_score(case, answer.shifts_ns) == best == Fraction(answer.score).limit_denominator(10**7)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.lacks is None])
def test_every_method_answers_with_one_shift_a_job(name: str) -> None:
    case = Case(family="two", seed=0, jobs=(on_off(40, 10), on_off(40, 15)))
    answer = METHODS[name].solve(case)
    assert answer is not None
    assert len(answer.shifts_ns) == 2
    assert exact_score(case, answer.shifts_ns) <= 1
