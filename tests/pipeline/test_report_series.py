"""The numbers that the report draws, against arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.alignment import after, before
from pipeline.report.demand import Demand
from pipeline.report.scales import rate_scale, time_scale
from pipeline.report.series import fold, shared_span_s, stack, unified_circle
from profiler.phases import Phase, TrafficProfile
from tests.pipeline.analyses import (
    CAPACITY_BPS,
    PERIOD_S,
    RATE_BPS,
    SHIFT_S,
    SLOT_S,
    UP_S,
    analysis,
    judged,
    link,
    paced_link,
    vgg,
)


def _given(*phases: tuple[float, float, float], period_s: float = 1.0) -> TrafficProfile:
    return TrafficProfile.from_phases(period_s=period_s, phases=list(phases))


def test_stack_piles_one_burst_on_another_where_they_overlap() -> None:
    demands = [
        Demand.from_profile("A", _given((0.0, 0.4, 100.0))),
        Demand.from_profile("B", _given((0.0, 0.4, 50.0)), offset_s=0.3),
    ]

    piled = stack(demands, span_s=1.0)

    np.testing.assert_allclose(piled.edges_s, [0.0, 0.3, 0.4, 0.7, 1.0])
    np.testing.assert_allclose(piled.levels_bps, [[100, 100, 0, 0], [100, 150, 50, 0]])


def test_a_burst_that_runs_past_the_period_goes_on_at_its_beginning() -> None:
    piled = stack([Demand.from_profile("A", _given((0.0, 0.3, 7.0)), offset_s=0.9)], span_s=1.0)

    np.testing.assert_allclose(piled.edges_s, [0.0, 0.2, 0.9, 1.0])
    np.testing.assert_allclose(piled.total_bps, [7, 0, 7])


def test_a_phase_that_wraps_within_its_profile_is_drawn_at_both_ends() -> None:
    wrapping = _given((0.8, 0.4, 9.0))

    piled = stack([Demand.from_profile("A", wrapping)], span_s=1.0)

    np.testing.assert_allclose(piled.total_bps, [9, 0, 9])
    np.testing.assert_allclose(piled.edges_s, [0.0, 0.2, 0.8, 1.0])


def test_slots_longer_than_the_period_add_time_in_which_the_job_waits() -> None:
    paced = Demand.from_profile("A", _given((0.0, 0.4, 10.0)), slot_s=1.5)

    piled = stack([paced], span_s=3.0)

    np.testing.assert_allclose(piled.edges_s, [0.0, 0.4, 1.0, 1.5, 1.9, 2.5, 3.0])
    np.testing.assert_allclose(piled.total_bps, [10, 0, 0, 10, 0, 0])


def test_a_job_without_a_period_is_drawn_as_its_mean_rate() -> None:
    noise = TrafficProfile(status="aperiodic", mean_bps=5.0, fold_bps=np.zeros(0))

    piled = stack([Demand.from_profile("noise", noise)], span_s=0.7)

    np.testing.assert_allclose(piled.total_bps, 5.0)


@given(
    offset_s=st.floats(-10, 10),
    period_s=st.floats(0.01, 2.0),
    duty=st.floats(0.05, 0.95),
    n_periods=st.integers(1, 6),
)
def test_drawing_conserves_the_volume_of_each_iteration(
    offset_s: float, period_s: float, duty: float, n_periods: int
) -> None:
    profile = _given((0.0, duty * period_s, 100.0), period_s=period_s)

    piled = stack([Demand.from_profile("A", profile, offset_s=offset_s)], span_s=n_periods * period_s)

    volume = float(np.diff(piled.edges_s) @ piled.total_bps)
    assert volume == pytest.approx(n_periods * duty * period_s * 100.0, rel=1e-6)


def test_before_the_shift_jobs_stand_as_their_clocks_saw_them() -> None:
    seen = before(paced_link())

    assert seen.title == "Before: as observed"
    assert "02:33:20" in seen.note
    assert [demand.offset_s for demand in seen.demands] == pytest.approx([0.0, 0.045])


def test_without_clocks_the_picture_says_that_it_is_not_an_observation() -> None:
    together = before(paced_link(score_now=None))

    assert together.title == "Before: if all burst together"
    assert [demand.offset_s for demand in together.demands] == [0.0, 0.0]


def test_jobs_that_only_happened_to_interleave_are_drawn_where_they_may_drift() -> None:
    lucky = before(paced_link(score_now=1.0, shared_frac=0.01))

    assert lucky.title == "Before: if they drift together"
    assert "02:33:20 UTC they kept clear of each other" in lucky.note
    assert [demand.offset_s for demand in lucky.demands] == [0.0, 0.0]


def test_after_the_shift_jobs_stand_where_the_plan_puts_them() -> None:
    trunk = paced_link()

    shifted = after(trunk, analysis(trunk).plan)

    assert shifted is not None
    assert shifted.title == "After: held to slots of 266 ms"
    assert [demand.offset_s for demand in shifted.demands] == pytest.approx([0.0, SHIFT_S])
    assert [demand.repeat_s for demand in shifted.demands] == [SLOT_S, SLOT_S]
    assert shifted.leads_s == pytest.approx({"B": SHIFT_S})


def test_a_link_that_no_shift_helps_has_no_picture_after() -> None:
    futile = link("t2", demands={"A": vgg("a"), "B": vgg("b")}, compatibility=judged("futile", "A", "B"))

    assert after(futile, analysis(futile).plan) is None


def test_the_circle_of_equal_periods_is_one_iteration_and_shows_where_bursts_meet() -> None:
    demands = before(paced_link()).demands

    circle = unified_circle(demands, capacity_bps=CAPACITY_BPS)

    assert circle.perimeter_s == pytest.approx(PERIOD_S)
    overlap = sum(arc.end_turn - arc.start_turn for arc in circle.excess)
    assert overlap == pytest.approx((UP_S - 0.045) / PERIOD_S)


def test_the_circle_after_the_shift_has_no_excess() -> None:
    trunk = paced_link()
    shifted = after(trunk, analysis(trunk).plan)
    assert shifted is not None

    circle = unified_circle(shifted.demands, capacity_bps=CAPACITY_BPS)

    assert circle.perimeter_s == pytest.approx(SLOT_S)
    assert circle.excess == ()


def test_the_circle_of_harmonic_periods_repeats_the_faster_job() -> None:
    slow = Demand.from_profile("slow", _given((0.0, 0.1, 10.0), period_s=1.0))
    fast = Demand.from_profile("fast", _given((0.0, 0.1, 5.0), period_s=0.4))

    circle = unified_circle([slow, fast], capacity_bps=100.0)

    assert circle.perimeter_s == pytest.approx(2.0)
    fast_arcs = [arc for arc in circle.arcs if arc.job == "fast"]
    assert [arc.start_turn for arc in fast_arcs] == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8])
    assert {arc.height_frac for arc in fast_arcs} == {0.5}


def test_periods_without_a_short_common_multiple_share_no_circle() -> None:
    golden = (1 + 5**0.5) / 2 - 1
    demands = [
        Demand.from_profile("A", _given((0.0, 0.1, 1.0), period_s=1.0)),
        Demand.from_profile("B", _given((0.0, 0.1, 1.0), period_s=golden)),
        Demand.from_profile("C", _given((0.0, 0.1, 1.0), period_s=golden**0.5)),
    ]

    circle = unified_circle(demands, capacity_bps=1.5)

    assert circle.perimeter_s is None
    assert circle.excess == ()
    assert {arc.job for arc in circle.arcs} == {"A", "B", "C"}


def test_an_arc_over_twelve_oclock_is_split_there() -> None:
    late = Demand.from_profile("A", _given((0.0, 0.3, 1.0)), offset_s=0.9)

    arcs = unified_circle([late], capacity_bps=10.0).arcs

    assert [(arc.start_turn, arc.end_turn) for arc in arcs] == [
        pytest.approx((0.9, 1.0)),
        pytest.approx((0.0, 0.2)),
    ]


def test_pictures_span_some_iterations_of_the_slowest_but_not_a_comb_of_the_fastest() -> None:
    pair = [Demand.from_profile("A", vgg("a")), Demand.from_profile("B", vgg("b", period_s=0.3))]
    crowd = [*pair, Demand.from_profile("C", vgg("c", period_s=60.0))]

    assert shared_span_s([pair]) == pytest.approx(2.5 * 0.3)
    assert shared_span_s([crowd]) == pytest.approx(30 * PERIOD_S)


def test_the_fold_is_the_measured_one_where_there_is_one_and_the_phases_otherwise() -> None:
    measured = fold(vgg("a"))
    given_phases = fold(_given((0.0, 0.25, 8.0)))

    assert measured.rates_bps.size == 255
    assert measured.edges_s[-1] == pytest.approx(PERIOD_S)
    assert measured.rates_bps.max() == RATE_BPS
    np.testing.assert_allclose(given_phases.edges_s, [0.0, 0.25, 1.0])
    np.testing.assert_allclose(given_phases.rates_bps, [8.0, 0.0])


def test_down_traffic_is_drawn_too() -> None:
    profile = TrafficProfile(
        status="periodic",
        period_s=1.0,
        phases=(
            Phase(kind="up", start_s=0.0, width_s=0.5, rate_bps=10.0),
            Phase(kind="down", start_s=0.5, width_s=0.5, rate_bps=2.0),
        ),
        fold_bps=np.zeros(0),
    )

    piled = stack([Demand.from_profile("A", profile, slot_s=1.2)], span_s=1.2)

    np.testing.assert_allclose(piled.total_bps, [10, 2, 2])


@pytest.mark.parametrize(("largest_bps", "unit"), [(50e9, "Gbit/s"), (400e6, "Mbit/s"), (12.0, "bit/s")])
def test_rates_are_drawn_in_a_unit_that_keeps_numbers_short(largest_bps: float, unit: str) -> None:
    assert rate_scale(largest_bps).unit == unit


@pytest.mark.parametrize(("longest_s", "unit"), [(0.6, "ms"), (60.0, "s"), (400.0, "min"), (1e-4, "µs")])
def test_times_are_drawn_in_a_unit_that_keeps_numbers_short(longest_s: float, unit: str) -> None:
    assert time_scale(longest_s).unit == unit
