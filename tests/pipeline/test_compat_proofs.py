"""Shifts that are called proved, and bounds of those that are not, against every placement there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from pipeline.compat import branch
from pipeline.compat.bounds import equal_steps_bound, lower_bound, quick_bound
from pipeline.compat.branch import branch_and_bound
from pipeline.compat.levels import Excess, Levels, levels_of
from pipeline.compat.placement import Placement
from pipeline.compat.solver import place_jobs
from pipeline.compat.timeline import Circle, excess_at
from pipeline.deadline import Deadline
from profiler.errors import UsageError
from tests.pipeline.jobs import demand_from
from tests.reference import TickedJob, on_off_optimum

TICK_NS = 1_000_003
"""Between the ticks of the jobs there are shifts enough; an optimum on the ticks is one of them all."""


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn_job(draw: np.random.Generator, *, period: int, n_ups: int) -> TickedJob:
    cuts = np.sort(draw.choice(period, 2 * n_ups, replace=False))
    high, low = draw.integers(4, 10, n_ups), draw.integers(0, 3, n_ups) * (n_ups > 1)
    rates = np.ravel(np.column_stack([high, low]))
    return TickedJob(tuple(int(rates[np.searchsorted(cuts, t, side="right") - 1]) for t in range(period)))


def least_excess(jobs: Sequence[TickedJob], excess: Excess) -> float:
    """The least mean excess over all whole shifts: the first job stands, the others stand at each of theirs."""
    length = math.lcm(*(job.period for job in jobs))
    total = np.array([jobs[0].at(t) for t in range(length)])
    for job in jobs[1:]:
        turned = np.array([[job.at(t - shift) for t in range(length)] for shift in range(job.period)])
        total = (total[..., None, :] + turned).reshape(-1, length)
    cost = excess(np.arange(total.max() + 1, dtype=np.float64))
    return float(cost[total].mean(axis=-1).min())


def circle_of(jobs: Sequence[TickedJob], excess: Excess) -> Circle:
    return Circle(demands=[demand_from(job).scaled(job.period * TICK_NS) for job in jobs], excess=excess)


@pytest.mark.parametrize(
    ("periods", "n_ups"),
    [((9,) * 3, 3), ((8,) * 4, 3), ((6,) * 5, 1), ((5,) * 6, 1), ((4, 8, 12), 2), ((6, 6, 12, 6), 1)],
    ids=str,
)
def test_what_is_called_proved_is_the_best_of_all_placements(periods: tuple[int, ...], n_ups: int) -> None:
    draw, n_searched = rng(), 0
    for _ in range(25):
        jobs = [drawn_job(draw, period=period, n_ups=n_ups) for period in periods]
        excess = Excess.over(float(draw.integers(8, 22)))
        found = place_jobs(circle_of(jobs, excess), bound_bps=0.0, rng=rng())
        assert found.is_proved
        assert found.excess_bps == pytest.approx(least_excess(jobs, excess), abs=1e-11)
        assert found.bound_bps == found.excess_bps
        n_searched += found.method == "branch and bound"
    assert n_searched > 0


def test_beside_traffic_of_any_phase_and_steady_jobs_the_best_is_proved_too() -> None:
    draw = rng()
    for _ in range(20):
        jobs = [drawn_job(draw, period=8, n_ups=2) for _ in range(3)]
        jobs.insert(1, TickedJob((3,) * 4))
        others = Levels(rate_bps=np.array([0.0, 2.0, 5.0]), weight=np.array([0.5, 0.3, 0.2]))
        excess = Excess(capacity_bps=20.0, others=others)
        found = place_jobs(circle_of(jobs, excess), bound_bps=0.0, rng=rng())
        assert found.is_proved
        assert found.excess_bps == pytest.approx(least_excess(jobs, excess), abs=1e-11)


def test_branch_and_bound_finds_the_best_from_the_worst_start() -> None:
    draw = rng()
    for _ in range(25):
        jobs = [drawn_job(draw, period=7, n_ups=1) for _ in range(5)]
        excess = Excess.over(float(draw.integers(8, 22)))
        circle = circle_of(jobs, excess)
        worst = Placement(shifts_ns=(0,) * 5, excess_bps=excess_at(circle, (0,) * 5))
        found = branch_and_bound(circle, start=worst)
        assert found.is_proved
        assert found.excess_bps == pytest.approx(least_excess(jobs, excess), abs=1e-11)
        assert excess_at(circle, found.shifts_ns) == pytest.approx(found.excess_bps, abs=1e-11)


def test_no_placement_is_below_the_bounds() -> None:
    draw = rng()
    for n_jobs in (3, 4, 5):
        for _ in range(15):
            jobs = [drawn_job(draw, period=6, n_ups=int(draw.integers(1, 3))) for _ in range(n_jobs)]
            excess = Excess.over(float(draw.integers(8, 22)))
            demands, truth = [demand_from(job) for job in jobs], least_excess(jobs, excess)
            assert quick_bound(demands, excess=excess) <= lower_bound(demands, excess=excess) <= truth + 1e-11


def test_a_search_that_is_cut_short_keeps_a_bound_that_no_placement_is_below() -> None:
    draw = rng()
    n_unproved = 0
    for _ in range(20):
        jobs = [drawn_job(draw, period=8, n_ups=2) for _ in range(4)]
        excess = Excess.over(float(draw.integers(14, 22)))
        circle = circle_of(jobs, excess)
        truth = least_excess(jobs, excess)
        for n_looks in (1, 4, 16):
            found = place_jobs(circle, bound_bps=0.0, rng=rng(), deadline=after_looks(n_looks))
            assert found.bound_bps <= truth + 1e-11 <= found.excess_bps + 2e-11
            assert excess_at(circle, found.shifts_ns) == pytest.approx(found.excess_bps, abs=1e-11)
            n_unproved += not found.is_proved
    assert n_unproved > 0


def test_with_a_deadline_far_away_the_search_goes_on_until_all_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch, "MAX_WORK", 100)
    monkeypatch.setattr(branch, "CHUNK_WORK", 50)
    draw, n_unproved = rng(), 0
    for _ in range(5):
        jobs = [drawn_job(draw, period=8, n_ups=2) for _ in range(4)]
        excess = Excess.over(float(draw.integers(14, 22)))
        circle = circle_of(jobs, excess)
        n_unproved += not place_jobs(circle, bound_bps=0.0, rng=rng()).is_proved
        found = place_jobs(circle, bound_bps=0.0, rng=rng(), deadline=after_looks(10**8))
        assert found.is_proved
        assert found.excess_bps == pytest.approx(least_excess(jobs, excess), abs=1e-11)
    assert n_unproved > 0


def after_looks(n_looks: int) -> Deadline:
    """A deadline that is over once the clock has been looked at so often."""
    ticks = iter(range(10**9))
    return Deadline.after(n_looks, clock_s=lambda: float(next(ticks)))


def test_sixteen_on_off_jobs_of_one_rate_are_proved_by_their_closed_form() -> None:
    draw = rng()
    for capacity in (20, 30, 45):
        widths = draw.integers(10, 50, 16)
        jobs = [TickedJob((7,) * int(width) + (0,) * (100 - int(width))) for width in widths]
        found = place_jobs(circle_of(jobs, Excess.over(capacity)), bound_bps=0.0, rng=rng())
        truth = on_off_optimum([Fraction(int(width), 100) for width in widths], Fraction(7), Fraction(capacity))
        assert found.is_proved
        assert found.excess_bps == pytest.approx(float(truth), abs=1e-10)


def test_steps_on_top_of_a_base_have_the_closed_form_too() -> None:
    jobs = [TickedJob((9, 9, 9, 2)), TickedJob((7, 0, 0, 0)), TickedJob((8, 8, 1, 1)), TickedJob((1, 1, 1, 1))]
    excess = Excess.over(12.0)
    bound = equal_steps_bound([levels_of(demand_from(job)) for job in jobs], excess=excess)
    # 2 + 1 + 1 of base; 3 + 1 + 2 quarters of a step of 7: half of the time one job is high, else two.
    assert bound == pytest.approx((4 + 14 - 12) / 2)
    assert bound == pytest.approx(least_excess(jobs, excess))


def test_hundreds_of_jobs_end_by_themselves_with_a_gap() -> None:
    draw = rng()
    jobs = [drawn_job(draw, period=200, n_ups=1) for _ in range(200)]
    circle = circle_of(jobs, Excess.over(0.9 * sum(demand_from(job).mean_bps for job in jobs)))
    found = place_jobs(circle, bound_bps=0.0, rng=rng())
    assert found.excess_bps == pytest.approx(excess_at(circle, found.shifts_ns), rel=1e-11)
    assert 0 < found.bound_bps <= found.excess_bps


def test_the_same_numbers_give_the_same_shifts() -> None:
    draw = rng()
    jobs = [drawn_job(draw, period=50, n_ups=1) for _ in range(12)]
    circle = circle_of(jobs, Excess.over(30.0))
    one, other = (place_jobs(circle, bound_bps=0.0, rng=rng(3)) for _ in range(2))
    assert one == other


def test_rates_that_change_too_often_are_refused_in_words() -> None:
    often = demand_from(TickedJob((1, 0) * 2_500))
    with pytest.raises(UsageError, match="fewer phases"):
        place_jobs(Circle(demands=[often] * 2, excess=Excess.over(1.0)), bound_bps=0.0, rng=rng())
