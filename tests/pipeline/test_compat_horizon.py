"""Shifts over a horizon, and bounds of what any shifts can reach in it, against every nanosecond of it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.compat.demand import Demand, demand_of
from pipeline.compat.horizon import BestShifts, best_shifts, independent_excess
from pipeline.compat.levels import Excess
from pipeline.compat.relations import Beat
from pipeline.compat.timeline import Window, excess_at
from pipeline.compat.turns import Turns
from pipeline.compat.window_bound import window_bound
from pipeline.compat.window_search import WORTH_FRAC, place_in_window
from pipeline.deadline import Deadline
from profiler.errors import UsageError
from tests.pipeline.jobs import CAPACITY_BPS, demand_from, ticked_jobs, vgg
from tests.reference import TickedJob, window_excess
from tests.reference import independent_excess as excess_of_all_phases

PERIODS = st.integers(2, 7)
TWO = st.lists(ticked_jobs(periods=PERIODS, max_phases=2), min_size=2, max_size=2)
THREE = st.lists(ticked_jobs(periods=st.integers(2, 4), max_phases=1), min_size=3, max_size=3)
EQUAL = st.lists(ticked_jobs(periods=st.shared(PERIODS, key="T"), max_phases=2), min_size=2, max_size=2)
CAPACITIES = st.integers(2, 15)
LENGTHS = st.integers(3, 40)
EXACT = 1e-11


def over(jobs: list[TickedJob], capacity: float, *, length: int) -> BestShifts:
    """The best shifts of exact jobs over so many ticks of 1 ms."""
    demands = [demand_from(job).scaled(job.period * 1_000_000) for job in jobs]
    beats = [Beat(period_s=job.period * 1e-3, error_s=0.0, jitter_s=0.0) for job in jobs]
    rng = np.random.default_rng(0)
    return best_shifts(demands, beats=beats, excess=Excess.over(capacity), horizon_s=length * 1e-3, rng=rng)


def least(jobs: list[TickedJob], capacity: int, *, length: int) -> float:
    """The least excess over a window at any whole shifts of all jobs, the first one included."""
    shifts = product(*(range(job.period) for job in jobs))
    return min(float(window_excess(jobs, each, capacity, length=length)) for each in shifts)


def excess_by_halves(jobs: list[TickedJob], found: BestShifts, capacity: int, *, length: int) -> float:
    """The excess at the shifts that were found, which fall on half ticks at most when there are two jobs."""
    fine = [TickedJob(tuple(rate for rate in job.rates for _ in range(2))) for job in jobs]
    shifts = [round(shift / 500_000) for shift in found.shifts_ns]
    return float(window_excess(fine, shifts, capacity, length=2 * length))


@settings(max_examples=60, deadline=None)
@given(st.one_of(TWO, EQUAL), CAPACITIES, LENGTHS)
def test_score_of_two_jobs_is_that_of_the_horizon_and_no_shifts_cross_the_gap(
    jobs: list[TickedJob], capacity: int, length: int
) -> None:
    found = over(jobs, capacity, length=length)
    assert found.horizon_s == pytest.approx(length * 1e-3)
    assert found.excess_bps == pytest.approx(excess_by_halves(jobs, found, capacity, length=length), abs=EXACT)
    assert found.bound_bps <= least(jobs, capacity, length=length) + EXACT
    assert found.bound_bps <= found.excess_bps
    assert found.timeline is not None
    assert excess_at(found.timeline, found.shifts_ns) == pytest.approx(found.excess_bps, abs=EXACT)


@pytest.mark.parametrize("periods", [(120, 94), (61, 139), (97, 97), (83, 120)])
def test_all_begin_where_the_window_cuts_off_most_of_their_overlap(periods: tuple[int, int]) -> None:
    jobs = [TickedJob((1,) * round(0.4 * n) + (0,) * (n - round(0.4 * n))) for n in periods]
    found = over(jobs, 1, length=300)
    t = np.arange(300) + 0.5
    ups = [[((t - shift) % n < round(0.4 * n)) for shift in range(n)] for n in periods]
    best = min(float((a & b).mean()) for a in ups[0] for b in ups[1])
    assert found.excess_bps <= best + WORTH_FRAC
    assert found.bound_bps <= best + EXACT
    if not found.is_proved:
        assert found.method == "coordinate descent over the horizon"


@settings(max_examples=60, deadline=None)
@given(EQUAL, CAPACITIES, LENGTHS)
def test_best_begin_of_jobs_at_their_shifts_is_that_of_every_tick(
    jobs: list[TickedJob], capacity: int, length: int
) -> None:
    period = jobs[0].period
    demands, excess = [demand_from(job) for job in jobs], Excess.over(capacity)
    turns = Turns(demands=demands, excess=excess, length_ns=length, circle_ns=period)
    begin = turns.best_begin_ns((0, 1))
    least_bps = min(float(window_excess(jobs, [t, t + 1], capacity, length=length)) for t in range(period))
    assert turns.at([begin % period, (begin + 1) % period]) == pytest.approx(least_bps, abs=EXACT)


@settings(max_examples=40, deadline=None)
@given(THREE, CAPACITIES, LENGTHS)
def test_no_shifts_of_three_jobs_cross_the_gap(jobs: list[TickedJob], capacity: int, length: int) -> None:
    found = over(jobs, capacity, length=length)
    assert found.bound_bps <= least(jobs, capacity, length=length) + EXACT


@settings(max_examples=60, deadline=None)
@given(st.one_of(TWO, THREE), CAPACITIES, LENGTHS)
def test_bound_of_a_window_is_one_at_all_shifts(jobs: list[TickedJob], capacity: int, length: int) -> None:
    window = Window(demands=[demand_from(job) for job in jobs], excess=Excess.over(capacity), length_ns=length)
    assert window_bound(window) <= least(jobs, capacity, length=length) + EXACT


@settings(max_examples=40, deadline=None)
@given(THREE, CAPACITIES, LENGTHS, st.integers(1, 5))
def test_bound_for_which_there_is_no_time_is_looser_and_still_a_bound(
    jobs: list[TickedJob], capacity: int, length: int, n_looks: int
) -> None:
    window = Window(demands=[demand_from(job) for job in jobs], excess=Excess.over(capacity), length_ns=length)
    late = Deadline.after(1.0, clock_s=iter([*[0.0] * n_looks, *[2.0] * 100]).__next__)
    assert window_bound(window, deadline=late) <= window_bound(window) + EXACT
    assert window_bound(window) <= least(jobs, capacity, length=length) + EXACT


def test_tree_of_a_hundred_jobs_ends_when_the_time_is_up() -> None:
    periods = range(101, 201)
    demands = [
        Demand(period_ns=period, edges_ns=np.array([0, period // 2]), rate_bps=np.array([8.0, 0.0]))
        for period in periods
    ]
    window = Window(demands=demands, excess=Excess.over(10.0), length_ns=300)
    looks = iter([*[0.0] * 50, *[2.0] * 10])
    bound_bps = window_bound(window, deadline=Deadline.after(1.0, clock_s=looks.__next__))
    # One look tells that it is late, and nobody looks again: of the 4950 pairs some forty were looked at.
    assert len(list(looks)) == 9
    assert 0 < bound_bps <= window_bound(window)


def test_bound_of_many_jobs_in_a_window_is_what_a_tree_of_pairs_leaves_in_excess() -> None:
    # Ten jobs, each up half of the time at 8 of 10: too many states, but each two meet.
    periods = range(101, 111)
    demands = [
        Demand(period_ns=period, edges_ns=np.array([0, period // 2]), rate_bps=np.array([8.0, 0.0]))
        for period in periods
    ]
    window = Window(demands=demands, excess=Excess.over(10.0), length_ns=200_000)
    bound = window_bound(window)
    placed = place_in_window(window, bound_bps=bound, rng=np.random.default_rng(0))
    mean_bps = sum(demand.mean_bps for demand in demands)
    assert mean_bps - 10 <= bound + 0.1
    assert bound <= placed.excess_bps


@settings(max_examples=40, deadline=None)
@given(EQUAL, CAPACITIES, LENGTHS, st.data())
def test_circles_and_a_rest_are_a_window(
    jobs: list[TickedJob], capacity: int, length: int, data: st.DataObject
) -> None:
    demands, excess = [demand_from(job) for job in jobs], Excess.over(capacity)
    shifts = [data.draw(st.integers(0, job.period - 1)) for job in jobs]
    turns = Turns(demands=demands, excess=excess, length_ns=length, circle_ns=jobs[0].period)
    window = Window(demands=demands, excess=excess, length_ns=length)
    truth = float(window_excess(jobs, shifts, capacity, length=length))
    assert excess_at(turns, shifts) == pytest.approx(truth, abs=EXACT)
    assert turns.alone(0) == pytest.approx(window.alone(0), abs=EXACT)
    at_ns = np.arange(jobs[1].period)
    expected = window.curve(1, shifts_ns=shifts, beside=(0,)).at(at_ns)
    np.testing.assert_allclose(turns.curve(1, shifts_ns=shifts, beside=(0,)).at(at_ns), expected, rtol=0, atol=EXACT)


def random_excess(demands: list[Demand], *, length_ns: int, capacity_bps: float, seed: int) -> float:
    """The excess over a window at random shifts, by its edges."""
    rng = np.random.default_rng(seed)
    times, steps = [], []
    for demand in demands:
        shift = int(rng.integers(demand.period_ns))
        t_ns = (demand.edges_ns + shift - demand.period_ns)[None, :] + (
            np.arange(length_ns // demand.period_ns + 3)[:, None] * demand.period_ns
        )
        times.append(np.clip(t_ns.ravel(), 0, length_ns))
        steps.append(np.tile(demand.rate_bps - np.roll(demand.rate_bps, 1), t_ns.shape[0]))
    at_ns = np.concatenate(times)
    order = np.argsort(at_ns, kind="stable")
    # Each begins a period or more before the window, at the rate before its first edge.
    total = sum(demand.rate_bps[-1] for demand in demands) + np.cumsum(np.concatenate(steps)[order])
    widths = np.diff(at_ns[order], append=length_ns)
    return float(np.maximum(0.0, total - capacity_bps) @ widths) / length_ns


@pytest.mark.parametrize("periods_ms", [(192, 291, 168), (203, 283, 285)])
def test_five_minutes_of_three_strangers_are_not_bettered_beyond_the_gap_by_random_shifts(
    periods_ms: tuple[int, ...],
) -> None:
    profiles = [vgg(period_s=period_ms * 1e-3, up_s=0.085) for period_ms in periods_ms]
    demands = [demand_of(profile) for profile in profiles]
    beats = [Beat(period_s=period_ms * 1e-3, error_s=0.0, jitter_s=0.0) for period_ms in periods_ms]
    rng = np.random.default_rng(0)
    found = best_shifts(demands, beats=beats, excess=Excess.over(CAPACITY_BPS), horizon_s=300.0, rng=rng)
    tried = [random_excess(demands, length_ns=300 * 10**9, capacity_bps=CAPACITY_BPS, seed=k) for k in range(60)]
    assert found.bound_bps <= min(tried)
    assert found.excess_bps <= min(tried) + 1e-4 * CAPACITY_BPS
    assert found.excess_bps - found.bound_bps < 0.08 * CAPACITY_BPS
    assert not found.is_proved
    assert found.method == "coordinate descent over the horizon"


@settings(max_examples=40, deadline=None)
@given(st.lists(ticked_jobs(periods=st.integers(1, 9)), min_size=1, max_size=4), CAPACITIES)
def test_chance_is_the_mean_over_every_combination_of_phases(jobs: list[TickedJob], capacity: int) -> None:
    chance = independent_excess([demand_from(job) for job in jobs], excess=Excess.over(capacity))
    assert chance == pytest.approx(float(excess_of_all_phases(jobs, capacity)), abs=EXACT)


def test_whole_circles_are_as_good_as_for_ever() -> None:
    jobs = [TickedJob((5, 5, 0, 0)), TickedJob((5, 0, 0, 0))]
    found = over(jobs, 6, length=40)
    assert (found.excess_bps, found.bound_bps, found.is_proved) == (0, 0, True)
    assert found.method == "exact kernel"


def test_horizon_of_two_jobs_a_million_apart_is_rounded_to_whole_circles_and_says_so() -> None:
    periods_s = (1e-4, 100.0)
    demands = [demand_of(vgg(period_s=1e-4, up_s=5e-5)), demand_of(vgg(period_s=100.0, up_s=40.0))]
    beats = [Beat(period_s=period_s, error_s=0.0, jitter_s=0.0) for period_s in periods_s]
    rng = np.random.default_rng(0)
    found = best_shifts(demands, beats=beats, excess=Excess.over(CAPACITY_BPS), horizon_s=350.0, rng=rng)
    assert found.horizon_s == 300
    assert found.excess_bps == pytest.approx(0.5 * 0.4 * CAPACITY_BPS)
    assert found.is_proved


def test_window_with_too_many_edges_is_refused_with_what_may_be_asked() -> None:
    demands = [demand_of(vgg(period_s=1e-4, up_s=5e-5)), demand_of(vgg(period_s=1.01e-4, up_s=5e-5))]
    beats = [Beat(period_s=period_s, error_s=1e-15, jitter_s=0.0) for period_s in (1e-4, 1.01e-4)]
    rng = np.random.default_rng(0)
    with pytest.raises(UsageError, match="give at most"):
        best_shifts(demands, beats=beats, excess=Excess.over(CAPACITY_BPS), horizon_s=3000.0, rng=rng)


def test_time_that_is_up_leaves_shifts_with_their_excess_and_a_gap() -> None:
    is_late = Deadline.after(1.0, clock_s=iter([0.0, *[2.0] * 1000]).__next__)
    demands = [demand_of(vgg(period_s=period_s, up_s=0.085)) for period_s in (0.25513, 0.2614, 0.1902)]
    beats = [Beat(period_s=period_s, error_s=0.0, jitter_s=0.0) for period_s in (0.25513, 0.2614, 0.1902)]
    found = best_shifts(
        demands,
        beats=beats,
        excess=Excess.over(CAPACITY_BPS),
        horizon_s=10.0,
        rng=np.random.default_rng(0),
        deadline=is_late,
    )
    window = Window(demands=demands, excess=Excess.over(CAPACITY_BPS), length_ns=10**10)
    assert found.excess_bps == pytest.approx(excess_at(window, found.shifts_ns), rel=1e-9)
    assert found.bound_bps <= found.excess_bps
