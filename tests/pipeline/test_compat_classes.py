"""Classes of jobs of unequal periods, settled against each other, against trying every shift."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.compat import commensurate
from pipeline.compat.classes import place_classes
from pipeline.compat.commensurate import commensurate_classes
from pipeline.compat.demand import Demand
from pipeline.compat.level_floor import gathered_levels, gathered_without_each, least_spread
from pipeline.compat.levels import Excess, Levels, independent_levels, levels_of
from pipeline.compat.strangers import Band, most_between
from pipeline.deadline import Deadline
from tests.pipeline.jobs import demand_from, ticked_jobs
from tests.reference import TickedJob, best_excess, expected_excess, independent_excess, mean_excess

THREE = st.lists(ticked_jobs(periods=st.integers(3, 8), max_phases=1), min_size=3, max_size=3)
CAPACITIES = st.integers(3, 20)
EXACT = 1e-11


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def on_off(period_ns: int, *, up_ns: int, rate_bps: float = 9.0) -> Demand:
    return Demand(period_ns=period_ns, edges_ns=np.array([0, up_ns]), rate_bps=np.array([rate_bps, 0.0]))


@settings(max_examples=30, deadline=None)
@given(THREE, CAPACITIES)
def test_three_jobs_of_any_periods_score_what_is_claimed_and_none_score_better_than_the_bound(
    jobs: list[TickedJob], capacity: int
) -> None:
    demands = [demand_from(job) for job in jobs]
    found = place_classes(demands, pools=[range(3)], excess=Excess.over(capacity), rng=rng())
    optimum = float(best_excess(jobs, capacity))
    claimed = found.placement.excess_bps
    assert claimed == pytest.approx(float(mean_excess(jobs, found.placement.shifts_ns, capacity)), abs=EXACT)
    assert found.bound_bps <= optimum + EXACT
    assert claimed == pytest.approx(optimum, abs=EXACT)


@settings(max_examples=30, deadline=None)
@given(st.lists(ticked_jobs(periods=st.sampled_from([4, 6, 8]), max_phases=1), min_size=3, max_size=3), CAPACITIES)
def test_classes_that_are_kept_apart_are_bounded_by_what_their_phase_can_matter(
    jobs: list[TickedJob], capacity: int
) -> None:
    demands = [demand_from(job) for job in jobs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commensurate, "MATERIAL_FRAC", np.inf)
        found = place_classes(demands, pools=[range(3)], excess=Excess.over(capacity), rng=rng())
    optimum, chance = float(best_excess(jobs, capacity)), float(independent_excess(jobs, capacity))
    claimed = found.placement.excess_bps
    assert claimed == pytest.approx(float(mean_excess(jobs, found.placement.shifts_ns, capacity)), abs=EXACT)
    assert found.bound_bps <= optimum + EXACT
    # Settling starts at the mean over all phases and never loses.
    assert optimum - EXACT <= claimed <= chance + EXACT


@settings(max_examples=40, deadline=None)
@given(*[ticked_jobs(periods=st.sampled_from([4, 6, 9, 12, 15]))] * 2, CAPACITIES)
def test_the_best_phase_of_two_jobs_gains_no_more_than_is_said(a: TickedJob, b: TickedJob, capacity: int) -> None:
    bands = [Band.of([demand_from(job)], [0]) for job in (a, b)]
    gain = float(independent_excess([a, b], capacity) - best_excess([a, b], capacity))
    assert gain <= most_between(*bands) + EXACT


def test_jobs_whose_edges_lie_on_the_clock_they_share_score_as_by_chance_and_it_is_proved() -> None:
    # The greatest common divisor of their periods is one ns, and so is the clock of their edges.
    periods_ns = (10_009, 10_037, 9_973)
    demands = [on_off(period_ns, up_ns=period_ns // 3) for period_ns in periods_ns]
    found = place_classes(demands, pools=[range(3)], excess=Excess.over(10.0), rng=rng())
    on = [(period_ns // 3) / period_ns for period_ns in periods_ns]
    chance = sum(
        np.prod([p if bit else 1 - p for p, bit in zip(on, bits, strict=True)]) * max(0, 9 * sum(bits) - 10)
        for bits in product((0, 1), repeat=3)
    )
    assert len(found.classes) == 3
    assert found.placement.shifts_ns == (0, 0, 0)
    assert found.placement.excess_bps == pytest.approx(chance, rel=1e-12)
    assert found.bound_bps == pytest.approx(found.placement.excess_bps, rel=1e-12)


def test_two_jobs_of_one_period_and_a_stranger_are_exact_though_the_stranger_is_beside_their_class() -> None:
    # Its phase repeats after 3 ns of its 2 us.
    pair, stranger = on_off(1_002, up_ns=401), on_off(2_001, up_ns=601)
    demands = [pair, stranger, pair]
    found = place_classes(demands, pools=[range(3)], excess=Excess.over(10.0), rng=rng())
    assert found.classes == ((0, 2), (1,))
    length_ns = 1_002 * 2_001 // 3
    t_ns = np.arange(length_ns, dtype=np.int64)
    up = sum(
        ((t_ns - shift_ns) % demand.period_ns < demand.edges_ns[1]).astype(np.int64)
        for demand, shift_ns in zip(demands, found.placement.shifts_ns, strict=True)
    )
    assert found.placement.excess_bps == pytest.approx(float(np.maximum(0, 9 * up - 10).mean()), abs=EXACT)
    assert 0 <= found.placement.excess_bps - found.bound_bps < 3 / 4 * 9 / 2_001


def test_periods_are_grouped_by_how_much_their_phase_matters_not_by_their_length() -> None:
    demands = [on_off(period_ns, up_ns=period_ns // 3 + 1) for period_ns in (20_000, 20_001, 30_000, 40_000)]
    assert commensurate_classes(demands, pool=range(4)) == ((0, 2, 3), (1,))
    # Pairs share 6, 10 and 15 us of 60 to 150: all three come round together.
    related = [on_off(period_ns, up_ns=period_ns // 3 + 1) for period_ns in (60_000, 100_000, 150_000)]
    assert commensurate_classes(related, pool=range(3)) == ((0, 1, 2),)


def test_jobs_of_different_pools_never_share_a_class() -> None:
    demands = [on_off(1_000, up_ns=400)] * 4
    found = place_classes(demands, pools=[(0, 2), (1, 3)], excess=Excess.over(20.0), rng=rng())
    assert found.classes == ((0, 2), (1, 3))
    # Apart, each pair sends 9 for 800 of 1,000 ns; both together stay below 20.
    assert found.placement.excess_bps == 0


@settings(max_examples=30, deadline=None)
@given(
    st.lists(ticked_jobs(periods=st.just(5), max_phases=1), min_size=2, max_size=2),
    st.lists(ticked_jobs(periods=st.just(6), max_phases=1), min_size=2, max_size=2),
    CAPACITIES,
)
def test_two_pools_of_two_are_scored_at_all_phases_of_the_pools_and_bounded(
    one: list[TickedJob], other: list[TickedJob], capacity: int
) -> None:
    demands = [demand_from(job) for job in (*one, *other)]
    pools = [(0, 1), (2, 3)]
    found = place_classes(demands, pools=pools, excess=Excess.over(capacity), rng=rng())

    def excess_of(*shifts: int) -> float:
        together = [
            [pair[0].at(t) + pair[1].at(t - shift) for t in range(pair[0].period)]
            for pair, shift in zip((one, other), shifts, strict=True)
        ]
        return float(expected_excess(together, lambda rate: Fraction(max(0, rate - capacity))))

    apart = [(b - a) % period for (a, b), period in zip(batched_pairs(found.placement.shifts_ns), (5, 6), strict=True)]
    assert found.placement.excess_bps == pytest.approx(excess_of(*apart), abs=EXACT)
    assert found.bound_bps <= min(excess_of(*shifts) for shifts in product(range(5), range(6))) + EXACT


def batched_pairs(shifts_ns: Sequence[int]) -> list[tuple[int, int]]:
    return [(shifts_ns[0], shifts_ns[1]), (shifts_ns[2], shifts_ns[3])]


@given(st.lists(ticked_jobs(periods=st.integers(1, 6)), min_size=1, max_size=3), CAPACITIES)
def test_least_spread_levels_cost_no_more_than_the_sum_at_any_shifts(jobs: list[TickedJob], capacity: int) -> None:
    least = least_spread([levels_of(demand_from(job)) for job in jobs])
    cost = float(least.weight @ Excess.over(capacity)(least.rate_bps))
    assert least.weight.sum() == pytest.approx(1)
    assert cost <= float(best_excess(jobs, capacity)) + EXACT


def test_gathered_levels_keep_the_mean_and_cost_no_more_than_all_levels() -> None:
    draw = np.random.default_rng(1)
    parts = [Levels(rate_bps=np.sort(draw.uniform(0, 10, 9)), weight=np.full(9, 1 / 9)) for _ in range(5)]
    gathered, spread = gathered_levels(parts), independent_levels(parts)
    assert gathered.rate_bps.size <= 1024
    assert gathered.mean_bps == pytest.approx(sum(part.mean_bps for part in parts))
    for capacity in (10.0, 25.0, 32.1):
        excess = Excess.over(capacity)
        least, most = (float(levels.weight @ excess(levels.rate_bps)) for levels in (gathered, spread))
        assert most - 1e-3 <= least <= most
    each = gathered_without_each(parts)
    assert [levels.mean_bps for levels in each] == pytest.approx([gathered.mean_bps - part.mean_bps for part in parts])


def test_periods_a_million_apart_and_a_third_job_are_bounded() -> None:
    demands = [on_off(100_000, up_ns=50_000), on_off(10**11, up_ns=4 * 10**10), on_off(70_001, up_ns=10_000)]
    found = place_classes(demands, pools=[range(3)], excess=Excess.over(10.0), rng=rng())
    assert 0 <= found.placement.excess_bps - found.bound_bps <= 0.01 * 10


def test_hundreds_of_jobs_of_unequal_periods_are_bounded_in_seconds() -> None:
    draw = np.random.default_rng(2)
    demands = [
        on_off(int(period_ns), up_ns=int(period_ns * duty), rate_bps=rate_bps)
        for period_ns, duty, rate_bps in zip(
            draw.integers(10**8, 10**9, 240), draw.uniform(0.05, 0.5, 240), draw.uniform(1, 3, 240), strict=True
        )
    ]
    begun_s = time.process_time()
    found = place_classes(demands, pools=[range(240)], excess=Excess.over(150.0), rng=rng())
    assert time.process_time() - begun_s < 10
    assert 0 <= found.placement.excess_bps - found.bound_bps < 0.01 * 150


def test_time_that_is_up_leaves_a_valid_answer() -> None:
    is_late = Deadline.after(1.0, clock_s=iter([0.0, *[2.0] * 1000]).__next__)
    demands = [on_off(12_000 * k, up_ns=4_001) for k in (1, 1, 2, 3)]
    found = place_classes(demands, pools=[range(4)], excess=Excess.over(10.0), rng=rng(), deadline=is_late)
    best = place_classes(demands, pools=[range(4)], excess=Excess.over(10.0), rng=rng())
    assert found.bound_bps <= best.placement.excess_bps <= found.placement.excess_bps
