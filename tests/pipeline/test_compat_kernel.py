"""The exact kernel against a sum over every nanosecond."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.compat.demand import Demand, demand_of, superpose
from pipeline.compat.kernel import add_curves, excess_of, shift_curve, window_curve
from pipeline.compat.levels import Excess, Levels, independent_levels, levels_of
from tests.pipeline.jobs import CAPACITY_BPS, demand_from, ticked_jobs, vgg
from tests.reference import TickedJob, expected_excess, independent_excess, mean_excess, window_excess

PERIODS = st.integers(1, 24)
CAPACITIES = st.integers(1, 15)
EXACT = 1e-12


@given(ticked_jobs(periods=PERIODS), ticked_jobs(periods=PERIODS), CAPACITIES)
def test_curve_of_two_jobs_is_exact_at_every_shift(a: TickedJob, b: TickedJob, capacity: int) -> None:
    curve = shift_curve(demand_from(a), demand_from(b), excess=Excess.over(capacity))
    truth = [float(mean_excess([a, b], [0, s], capacity)) for s in range(b.period)]
    np.testing.assert_allclose(curve.at(np.arange(b.period)), truth, rtol=0, atol=EXACT * capacity)
    assert curve.minimum_bps == pytest.approx(min(truth), abs=EXACT * capacity)
    assert curve.mean_bps == pytest.approx(float(independent_excess([a, b], capacity)), abs=EXACT * capacity)


@given(ticked_jobs(periods=PERIODS), ticked_jobs(periods=PERIODS), CAPACITIES)
def test_curve_is_straight_between_whole_shifts_and_middles_are_as_good_as_the_best(
    a: TickedJob, b: TickedJob, capacity: int
) -> None:
    # Twice the clock: half shifts of the jobs become whole ones.
    fine_a, fine_b = (TickedJob(tuple(rate for rate in job.rates for _ in range(2))) for job in (a, b))
    curve = shift_curve(demand_from(fine_a), demand_from(fine_b), excess=Excess.over(capacity))
    halves = np.arange(1, 2 * b.period, 2)
    mean_of_neighbours = (curve.at(halves - 1) + curve.at(halves + 1)) / 2
    np.testing.assert_allclose(curve.at(halves), mean_of_neighbours, rtol=0, atol=EXACT * capacity)
    best = curve.best_shift_ns()
    truth = float(mean_excess([fine_a, fine_b], [0, best], capacity))
    assert truth == pytest.approx(curve.minimum_bps, abs=EXACT * capacity)


@given(ticked_jobs(periods=PERIODS), ticked_jobs(periods=PERIODS), CAPACITIES, st.integers(1, 80))
def test_window_curve_is_exact_over_any_stretch_of_time(a: TickedJob, b: TickedJob, capacity: int, length: int) -> None:
    fixed = superpose([demand_from(a)], shifts_ns=[0], length_ns=length)
    curve = window_curve(fixed, demand_from(b), excess=Excess.over(capacity))
    truth = [float(window_excess([a, b], [0, s], capacity, length=length)) for s in range(b.period)]
    np.testing.assert_allclose(curve.at(np.arange(b.period)), truth, rtol=0, atol=EXACT * capacity)


@given(ticked_jobs(periods=PERIODS), ticked_jobs(periods=st.integers(1, 6)), ticked_jobs(periods=st.integers(1, 6)))
def test_excess_over_what_others_leave_is_an_expectation(job: TickedJob, x: TickedJob, y: TickedJob) -> None:
    others = independent_levels([levels_of(demand_from(x)), levels_of(demand_from(y))])
    excess = Excess(capacity_bps=9.0, others=others)
    truth = expected_excess([job.rates, x.rates, y.rates], lambda rate: Fraction(max(0, rate - 9)))
    assert excess_of(demand_from(job), excess=excess) == pytest.approx(float(truth), abs=1e-11)


@given(st.lists(ticked_jobs(periods=st.integers(1, 12)), min_size=1, max_size=4), st.data())
def test_superposition_is_the_sum_at_every_instant(jobs: list[TickedJob], data: st.DataObject) -> None:
    shifts = [data.draw(st.integers(0, job.period - 1)) for job in jobs]
    length = data.draw(st.integers(1, 60))
    total = superpose([demand_from(job) for job in jobs], shifts_ns=shifts, length_ns=length)
    truth = [sum(job.at(t - s) for job, s in zip(jobs, shifts, strict=True)) for t in range(length)]
    np.testing.assert_array_equal(total.at(np.arange(length)), truth)


def test_curve_of_hundreds_of_edges_is_exact_between_thousands_of_kinks() -> None:
    rng = np.random.default_rng(7)
    periods_ns = (1_000_000, 1_500_000)
    a, b = (
        Demand(
            period_ns=period_ns,
            edges_ns=np.sort(rng.choice(period_ns, 150, replace=False)),
            rate_bps=rng.integers(0, 10, 150).astype(np.float64),
        )
        for period_ns in periods_ns
    )
    curve = shift_curve(a, b, excess=Excess.over(9.0))
    assert curve.kinks_ns.size > 10_000
    assert np.all(np.diff(curve.kinks_ns) > 0)
    for shift in rng.integers(periods_ns[1], size=50).tolist():
        both = superpose([a, b], shifts_ns=[0, shift], length_ns=3_000_000)
        assert curve.at(shift) == pytest.approx(excess_of(both, excess=Excess.over(9.0)), abs=1e-11)


def test_two_vgg_jobs_are_apart_from_114_to_141_ms_and_best_in_the_middle() -> None:
    job = demand_of(vgg())
    curve = shift_curve(job, job, excess=Excess.over(CAPACITY_BPS))
    (plateau,) = curve.plateaus()
    assert (plateau.start_ns, plateau.start_ns + plateau.width_ns) == (114_000_000, 141_000_000)
    assert curve.best_shift_ns() == 127_500_000
    assert curve.minimum_bps == 0


def test_mean_over_a_stretch_of_shifts_is_the_area_under_the_curve() -> None:
    job = demand_of(vgg())
    curve = shift_curve(job, job, excess=Excess.over(CAPACITY_BPS))
    # From 104 to 114 ms of shift the overlap falls from 10 ms to none, of 255 ms.
    assert curve.mean_over(104_000_000, width_ns=10_000_000) == pytest.approx(5 / 255 * CAPACITY_BPS)
    assert curve.mean_over(3, width_ns=2 * job.period_ns) == pytest.approx(curve.mean_bps)
    assert curve.mean_over(104_000_000, width_ns=0) == pytest.approx(10 / 255 * CAPACITY_BPS)


def test_plateau_within_a_tolerance_reaches_into_the_slopes() -> None:
    job = demand_of(vgg())
    curve = shift_curve(job, job, excess=Excess.over(CAPACITY_BPS))
    (plateau,) = curve.plateaus(within_bps=10 / 255 * CAPACITY_BPS)
    assert plateau.start_ns == pytest.approx(104_000_000, abs=2)
    assert plateau.width_ns == pytest.approx(47_000_000, abs=4)
    assert curve.slack_ns(127_500_000, within_bps=0) == 13_500_000


def test_jobs_that_never_fill_the_link_may_have_any_shift_and_get_none() -> None:
    job = demand_of(vgg(rate_bps=100e6))
    curve = shift_curve(job, job, excess=Excess.over(CAPACITY_BPS))
    assert curve.plateaus()[0].width_ns == job.period_ns
    assert curve.best_shift_ns() == 0


def test_cost_does_not_grow_with_the_least_common_period() -> None:
    a, b = demand_of(vgg(period_s=0.255000001)), demand_of(vgg(period_s=0.261000007))
    curve = shift_curve(a, b, excess=Excess.over(CAPACITY_BPS))
    independent = independent_levels([levels_of(a), levels_of(b)])
    truth = independent.weight @ np.maximum(0, independent.rate_bps - CAPACITY_BPS)
    assert curve.period_ns == 1
    assert curve.at(0) == pytest.approx(truth, rel=1e-12)


def test_sum_of_curves_is_the_sum_at_every_shift() -> None:
    a, b, c = demand_from(TickedJob((5, 5, 0, 0))), demand_from(TickedJob((5, 0))), demand_from(TickedJob((3, 0, 0, 4)))
    one, other = (shift_curve(fixed, c, excess=Excess.over(6.0)) for fixed in (a, b))
    total = add_curves([one, other], weights=[1.0, 0.5], period_ns=4)
    shifts = np.arange(4)
    np.testing.assert_allclose(total.at(shifts), one.at(shifts) + 0.5 * other.at(shifts))


def test_thinned_levels_keep_the_mean_and_all_but_keep_the_excess() -> None:
    rng = np.random.default_rng(1)
    parts = [Levels(rate_bps=np.sort(rng.uniform(0, 1, 20)), weight=rng.dirichlet(np.ones(20))) for _ in range(4)]
    total = independent_levels(parts)
    assert total.rate_bps.size <= 4096
    assert total.mean_bps == pytest.approx(sum(part.mean_bps for part in parts))
    sampled = sum(rng.choice(part.rate_bps, p=part.weight, size=200_000) for part in parts)
    truth = np.maximum(0, sampled - 2.2).mean()
    assert Excess.over(2.2)(total.rate_bps) @ total.weight == pytest.approx(truth, rel=0.03)
