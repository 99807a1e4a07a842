"""Shifts of several jobs and their bounds against trying every shift."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.compat.bounds import coupling_bound, jensen_bound, lower_bound, tree_bound
from pipeline.compat.classes import seen_by
from pipeline.compat.demand import demand_of
from pipeline.compat.levels import Excess, levels_of
from pipeline.compat.solver import place_jobs
from pipeline.compat.timeline import Circle, excess_at
from tests.pipeline.jobs import CAPACITY_BPS, demand_from, ticked_jobs, vgg
from tests.reference import TickedJob, best_excess, mean_excess, on_off_optimum

EQUAL = st.shared(st.integers(2, 8), key="period")
ON_CLOCK = ticked_jobs(periods=EQUAL, max_phases=2)
SAME_CLOCK = st.lists(ON_CLOCK, min_size=2, max_size=3)
FOUR = st.lists(ON_CLOCK, min_size=4, max_size=4)
HARMONIC = st.tuples(ticked_jobs(periods=st.just(4)), ticked_jobs(periods=st.just(8)), ticked_jobs(periods=st.just(12)))
CAPACITIES = st.integers(1, 20)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def solved(jobs: list[TickedJob], capacity: int) -> tuple[float, tuple[int, ...], float]:
    excess = Excess.over(capacity)
    demands = [demand_from(job) for job in jobs]
    bound = lower_bound(demands, excess=excess)
    found = place_jobs(Circle(demands=demands, excess=excess), bound_bps=bound, rng=rng())
    return found.excess_bps, found.shifts_ns, bound


@settings(max_examples=60, deadline=None)
@given(SAME_CLOCK, CAPACITIES)
def test_shifts_of_equal_periods_reach_the_optimum_and_the_bound_is_never_crossed(
    jobs: list[TickedJob], capacity: int
) -> None:
    reached, shifts, bound = solved(jobs, capacity)
    optimum = float(best_excess(jobs, capacity))
    assert reached == pytest.approx(float(mean_excess(jobs, shifts, capacity)), abs=1e-11)
    assert reached == pytest.approx(optimum, abs=1e-11)
    assert bound <= optimum + 1e-11
    assert shifts[0] == 0


@settings(max_examples=25, deadline=None)
@given(FOUR, CAPACITIES)
def test_three_jobs_of_any_clock_are_proved_optimal(jobs: list[TickedJob], capacity: int) -> None:
    # A million ns a tick: middles and random starts fall between the ticks.
    excess = Excess.over(capacity)
    demands = [demand_from(job).scaled(job.period * 1_000_000) for job in jobs[:3]]
    found = place_jobs(Circle(demands=demands, excess=excess), bound_bps=0.0, rng=rng())
    assert found.is_proved
    assert found.excess_bps == pytest.approx(float(best_excess(jobs[:3], capacity)), abs=1e-11)


@settings(max_examples=25, deadline=None)
@given(FOUR, CAPACITIES)
def test_four_jobs_lie_between_the_bound_and_no_shift_at_all(jobs: list[TickedJob], capacity: int) -> None:
    reached, shifts, bound = solved(jobs, capacity)
    optimum = float(best_excess(jobs, capacity))
    assert bound <= optimum + 1e-11
    assert optimum - 1e-11 <= reached <= float(mean_excess(jobs, [0] * 4, capacity)) + 1e-11
    assert reached == pytest.approx(float(mean_excess(jobs, shifts, capacity)), abs=1e-11)


@settings(max_examples=25, deadline=None)
@given(HARMONIC, CAPACITIES)
def test_shifts_of_harmonic_periods_reach_the_optimum(
    jobs: tuple[TickedJob, TickedJob, TickedJob], capacity: int
) -> None:
    reached, _, bound = solved(list(jobs), capacity)
    optimum = float(best_excess(jobs, capacity))
    assert reached == pytest.approx(optimum, abs=1e-11)
    assert bound <= optimum + 1e-11


@given(SAME_CLOCK, CAPACITIES)
def test_each_bound_alone_is_one(jobs: list[TickedJob], capacity: int) -> None:
    excess, demands = Excess.over(capacity), [demand_from(job) for job in jobs]
    levels = [levels_of(demand) for demand in demands]
    # Any shifts will do: a bound lies below them all.
    reached = float(mean_excess(jobs, [job.period // 2 for job in jobs], capacity))
    for bound in (
        jensen_bound(levels, excess=excess),
        coupling_bound(levels, excess=excess),
        tree_bound(demands, excess=excess),
    ):
        assert 0 <= bound <= reached + 1e-11


@pytest.mark.parametrize(("n_jobs", "duty"), [(2, 30), (2, 60), (3, 25), (3, 40), (4, 35), (5, 50), (6, 45)])
def test_on_off_jobs_of_equal_demand_reach_their_closed_form(n_jobs: int, duty: int) -> None:
    rate, capacity = 7, 10
    jobs = [TickedJob((rate,) * duty + (0,) * (100 - duty))] * n_jobs
    reached, _, bound = solved(jobs, capacity)
    truth = float(on_off_optimum([Fraction(duty, 100)] * n_jobs, Fraction(rate), Fraction(capacity)))
    assert reached == pytest.approx(truth, abs=1e-10)
    assert bound == pytest.approx(truth, abs=1e-6)


def test_three_jobs_with_room_share_the_slack_evenly() -> None:
    demand = demand_of(vgg(period_s=0.3, up_s=0.06))
    circle = Circle(demands=[demand] * 3, excess=Excess.over(CAPACITY_BPS))
    found = place_jobs(circle, bound_bps=0.0, rng=rng())
    starts = sorted(found.shifts_ns)
    gaps_ms = np.diff([*starts, 300_000_000]) / 1e6 - 60
    assert found.excess_bps == 0
    np.testing.assert_allclose(gaps_ms, 40, atol=1)


def test_two_jobs_whose_circle_is_too_long_to_lay_out_count_at_any_phase_for_a_third() -> None:
    # Their circle has nine million edges.
    long = [demand_of(vgg(period_s=0.2550001)), demand_of(vgg(period_s=0.1900003, up_s=0.08))]
    demands = [*long, demand_of(vgg(period_s=0.3))]
    tracemalloc.start()
    seen = seen_by(1, [(0, 1), (2,)], demands=demands, shifts=[0, 0, 0], excess=Excess.over(2 * CAPACITY_BPS))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1e6
    on = [0.114 / 0.2550001, 0.08 / 0.1900003]
    assert seen.others.weight.tolist() == pytest.approx(
        [(1 - on[0]) * (1 - on[1]), on[0] * (1 - on[1]) + on[1] * (1 - on[0]), on[0] * on[1]]
    )


@given(ticked_jobs(periods=EQUAL), ticked_jobs(periods=EQUAL), CAPACITIES)
def test_excess_at_given_shifts_is_exact(a: TickedJob, b: TickedJob, capacity: int) -> None:
    circle = Circle(demands=[demand_from(a), demand_from(b)], excess=Excess.over(capacity))
    truth = float(mean_excess([a, b], [1, 0], capacity))
    assert excess_at(circle, [1, 0]) == pytest.approx(truth, abs=1e-11)
