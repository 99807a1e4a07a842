"""Scores beside the best: robust against jitter, and CASSINI's grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.compat import solve
from pipeline.compat.cassini import cassini_score
from pipeline.compat.demand import demand_of, superpose
from pipeline.compat.levels import Excess, independent_levels, levels_of
from pipeline.compat.robust import under_jitter
from pipeline.compat.timeline import Circle, excess_at
from pipeline.deadline import Deadline
from tests.pipeline.jobs import CAPACITY_BPS, demand_from, measured, ticked_jobs, vgg
from tests.reference import TickedJob, best_excess


def circle(*jobs: tuple[float, float]) -> Circle:
    demands = [demand_of(vgg(period_s=period_s, up_s=up_s)) for period_s, up_s in jobs]
    return Circle(demands=demands, excess=Excess.over(CAPACITY_BPS))


def sampled(timeline: Circle, shifts_ns: list[int], *, jitter_frac: float) -> list[float]:
    """Excess under uniform errors, by drawing them."""
    rng = np.random.default_rng(2)
    reach_ns = [jitter_frac * demand.period_ns for demand in timeline.demands]
    draws = [[s + round(rng.uniform(-r, r)) for s, r in zip(shifts_ns, reach_ns, strict=True)] for _ in range(2000)]
    return [excess_at(timeline, draw) for draw in draws]


def test_robust_score_of_two_jobs_is_the_triangle_of_their_errors() -> None:
    # The errors' difference is triangular on ±25.5 ms; what lies beyond the slack of 13.5 ms overlaps.
    reach, slack = 0.0255, 0.0135
    found = under_jitter(circle((0.255, 0.114), (0.255, 0.114)), [0, 127_500_000])
    assert found.expected_bps / CAPACITY_BPS == pytest.approx((reach - slack) ** 3 / (3 * reach**2) / 0.255, rel=1e-9)
    assert found.worst_bps / CAPACITY_BPS == pytest.approx((reach - slack) / 0.255, rel=1e-9)
    assert found.is_worst_proved


@pytest.mark.parametrize("shift_ns", [0, 17_000_000, 80_000_000])
def test_robust_score_of_two_jobs_of_unlike_periods_is_what_drawing_errors_gives(shift_ns: int) -> None:
    jobs = circle((0.3, 0.08), (0.2, 0.06))
    found = under_jitter(jobs, [0, shift_ns], jitter_frac=0.07)
    drawn = sampled(jobs, [0, shift_ns], jitter_frac=0.07)
    assert found.expected_bps == pytest.approx(np.mean(drawn), rel=0.03)
    assert max(drawn) * (1 - 1e-12) <= found.worst_bps <= max(drawn) * 1.05


def test_robust_score_of_three_jobs_is_what_drawing_errors_gives() -> None:
    jobs = circle((0.3, 0.08), (0.3, 0.08), (0.3, 0.08))
    shifts_ns = [0, 100_000_000, 200_000_000]
    found = under_jitter(jobs, shifts_ns, jitter_frac=0.1)
    drawn = sampled(jobs, shifts_ns, jitter_frac=0.1)
    assert found.expected_bps == pytest.approx(np.mean(drawn), rel=0.06)
    # Two jobs move towards each other, or all three meet in the middle: 60 ms nearer, 20 ms apart at first.
    assert max(drawn) <= found.worst_bps
    assert found.worst_bps / CAPACITY_BPS == pytest.approx(0.04 / 0.3)


def test_robust_score_without_jitter_is_the_score() -> None:
    jobs = circle((0.3, 0.15), (0.3, 0.2))
    found = under_jitter(jobs, [0, 140_000_000], jitter_frac=0)
    assert found.expected_bps == found.worst_bps == pytest.approx(excess_at(jobs, [0, 140_000_000]))


def test_jobs_that_share_no_beat_lose_nothing_by_jitter() -> None:
    jobs = circle((0.25513, 0.1), (0.2614, 0.1))
    found = under_jitter(jobs, [0, 0])
    assert found.expected_bps == pytest.approx(excess_at(jobs, [0, 0]))
    assert found.worst_bps == pytest.approx(found.expected_bps, rel=1e-6)


def test_jitter_that_may_be_half_a_period_is_chance() -> None:
    jobs = circle((0.255, 0.114), (0.255, 0.114))
    found = under_jitter(jobs, [0, 127_500_000], jitter_frac=0.5)
    assert found.expected_bps / CAPACITY_BPS == pytest.approx((0.114 / 0.255) ** 2)
    assert found.worst_bps / CAPACITY_BPS == pytest.approx(0.114 / 0.255)


def test_two_classes_of_jobs_lose_by_jitter_what_drawing_errors_gives() -> None:
    # Two jobs of one period beside two of another, between which any phase is as likely as any other.
    pairs = [(0.2, 0.07), (0.2, 0.07), (0.313127, 0.12), (0.313127, 0.12)]
    jobs = {
        f"job {i}": measured(vgg(period_s=period_s, up_s=up_s, rate_bps=2e8), error_s=1e-7, jitter_frac=0.0)
        for i, (period_s, up_s) in enumerate(pairs)
    }
    answer = solve(jobs, capacity_bps=3e8, jitter_frac=0.1)
    rng = np.random.default_rng(6)
    drawn = []
    for _ in range(400):
        levels = []
        for pair in (("job 0", "job 1"), ("job 2", "job 3")):
            period_s = jobs[pair[0]].period_s or 0.0
            demands = [demand_of(jobs[name]).scaled(round(period_s * 1e9)) for name in pair]
            off_s = rng.uniform(-0.1, 0.1, 2) * period_s
            shifts_ns = [round((answer.shifts_s[name] + off) * 1e9) for name, off in zip(pair, off_s, strict=True)]
            levels.append(levels_of(superpose(demands, shifts_ns=shifts_ns, length_ns=demands[0].period_ns)))
        total = independent_levels(levels)
        drawn.append(1 - float(total.weight @ np.maximum(0, total.rate_bps - 3e8)) / 3e8)
    assert answer.score_robust == pytest.approx(np.mean(drawn), abs=2e-3)
    assert answer.score_worst is not None
    assert answer.score_worst <= min(drawn) + 1e-9


def test_end_of_the_time_leaves_a_few_errors_tried() -> None:
    jobs = circle(*[(0.3, 0.05)] * 5)
    over = Deadline(start_s=0.0, end_s=0.0, clock_s=lambda: 1.0)
    hasty = under_jitter(jobs, [0, 60_000_000, 120_000_000, 180_000_000, 240_000_000], jitter_frac=0.1, deadline=over)
    assert 0 <= hasty.expected_bps <= hasty.worst_bps
    assert not hasty.is_worst_proved


@settings(max_examples=20, deadline=None)
@given(st.tuples(*[ticked_jobs(periods=st.just(72), max_phases=2)] * 2), st.integers(1, 20))
def test_grid_is_exact_where_edges_lie_on_it(jobs: tuple[TickedJob, TickedJob], capacity: int) -> None:
    demands = [demand_from(job).scaled(72_000_000) for job in jobs]
    claim = cassini_score(demands, excess=Excess.over(capacity))
    assert claim == pytest.approx(1 - float(best_excess(jobs, capacity)) / capacity, abs=1e-9)


def test_grid_is_wrong_by_what_falls_between_its_angles_and_the_kernel_is_not() -> None:
    # Up phases of 51 % of the circle: they overlap by 2 %, which 5-degree steps cannot see.
    demands = [demand_of(vgg(period_s=0.2, up_s=0.102))] * 2
    claim = cassini_score(demands, excess=Excess.over(CAPACITY_BPS))
    assert claim is not None
    assert abs(claim - (1 - 0.02)) > 0.005


def test_circle_of_too_many_iterations_has_no_grid_score() -> None:
    demands = [demand_of(vgg(period_s=period_s)) for period_s in (0.255, 0.261)]
    assert cassini_score(demands, excess=Excess.over(CAPACITY_BPS)) is None
