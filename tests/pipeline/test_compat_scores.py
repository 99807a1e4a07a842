"""Scores beside the best: robust against jitter, and CASSINI's grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.compat.cassini import cassini_score
from pipeline.compat.demand import demand_of
from pipeline.compat.levels import Excess
from pipeline.compat.robust import robust_excess
from pipeline.compat.timeline import Circle, excess_at
from tests.pipeline.jobs import CAPACITY_BPS, demand_from, ticked_jobs, vgg
from tests.reference import TickedJob, best_excess


def circle(*jobs: tuple[float, float]) -> Circle:
    demands = [demand_of(vgg(period_s=period_s, up_s=up_s)) for period_s, up_s in jobs]
    return Circle(demands=demands, excess=Excess.over(CAPACITY_BPS))


def sampled(timeline: Circle, shifts_ns: list[int], *, jitter_frac: float) -> float:
    """Expected excess under uniform errors, by drawing them."""
    rng = np.random.default_rng(2)
    reach_ns = [jitter_frac * demand.period_ns for demand in timeline.demands]
    draws = [[s + round(rng.uniform(-r, r)) for s, r in zip(shifts_ns, reach_ns, strict=True)] for _ in range(4000)]
    return float(np.mean([excess_at(timeline, draw) for draw in draws]))


def test_robust_score_of_two_jobs_is_the_triangle_of_their_errors() -> None:
    # The errors' difference is triangular on ±25.5 ms; what lies beyond the slack of 13.5 ms overlaps.
    reach, slack = 0.0255, 0.0135
    overlap = (reach - slack) ** 3 / (3 * reach**2)
    found = robust_excess(circle((0.255, 0.114), (0.255, 0.114)), [0, 127_500_000]) / CAPACITY_BPS
    assert found == pytest.approx(overlap / 0.255, rel=2e-3)


def test_robust_score_of_three_jobs_is_what_drawing_errors_gives() -> None:
    jobs = circle((0.3, 0.08), (0.3, 0.08), (0.3, 0.08))
    shifts_ns = [0, 100_000_000, 200_000_000]
    found = robust_excess(jobs, shifts_ns, jitter_frac=0.1)
    assert found == pytest.approx(sampled(jobs, shifts_ns, jitter_frac=0.1), rel=0.05)


def test_robust_score_without_jitter_is_the_score() -> None:
    jobs = circle((0.3, 0.15), (0.3, 0.2))
    assert robust_excess(jobs, [0, 140_000_000], jitter_frac=0) == pytest.approx(excess_at(jobs, [0, 140_000_000]))


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
