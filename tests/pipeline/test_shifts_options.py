"""What is asked of a plan: objective, weights, pinned jobs, a time budget; and what takes capacity beside the jobs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.affinity import affinity_of
from pipeline.deadline import Deadline
from pipeline.shifts import PlanOptions, ShiftPlan, recommend_shifts
from pipeline.shifts.layout import lay_out
from profiler.errors import UsageError
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import CAPACITY_BPS, SolvedJobs, measured, solved_link, vgg
from tests.pipeline.networks import network, placed_link

if TYPE_CHECKING:
    from collections.abc import Mapping

PERIOD_MS, UP_MS = 255, 105
LEAST_OVERLAP_MS = 3 * UP_MS - PERIOD_MS
"""Of three jobs that meet in pairs: between their starts lie three gaps of one period in all."""


def triangle() -> list[SolvedJobs]:
    """Three jobs, each pair on a link of its own; every pair alone would fit."""
    job = vgg(up_s=UP_MS / 1000)
    return [placed_link(a + b, {a: job, b: job}, capacity_bps=CAPACITY_BPS) for a, b in ("AB", "BC", "CA")]


def overlap_ms(plan: ShiftPlan, a: str, b: str) -> float:
    """How long the bursts of two jobs overlap in a period."""
    apart_ms = (plan.shifts_s[b] - plan.shifts_s[a]) * 1000 % PERIOD_MS
    return max(0.0, UP_MS - apart_ms) + max(0.0, UP_MS - (PERIOD_MS - apart_ms))


def test_the_worst_link_is_best_where_all_links_lose_alike() -> None:
    plan = recommend_shifts(triangle(), options=PlanOptions(objective="worst"))
    assert [overlap_ms(plan, a, b) for a, b in ("AB", "BC", "CA")] == pytest.approx(
        [LEAST_OVERLAP_MS / 3] * 3, abs=1e-5
    )
    assert plan.score == pytest.approx(1 - LEAST_OVERLAP_MS / 3 / PERIOD_MS, abs=1e-8)
    assert plan.gap == pytest.approx(LEAST_OVERLAP_MS / 3 / PERIOD_MS, abs=1e-8)
    assert plan.objective == "worst"


def test_links_of_large_jobs_are_served_first() -> None:
    # Each ms of overlap costs A-B 20, B-C and C-A 11: all of it goes to these two.
    plan = recommend_shifts(triangle(), options=PlanOptions(weights={"A": 10, "B": 10}))
    assert overlap_ms(plan, "A", "B") == pytest.approx(0, abs=1e-6)
    assert plan.score == pytest.approx(1 - 11 * LEAST_OVERLAP_MS / PERIOD_MS / 42, abs=1e-9)
    other = recommend_shifts(triangle(), options=PlanOptions(weights={"C": 10, "B": 10}))
    assert overlap_ms(other, "B", "C") == pytest.approx(0, abs=1e-6)


def test_sizes_weigh_jobs_that_have_no_weight() -> None:
    by_weight = recommend_shifts(triangle(), options=PlanOptions(weights={"A": 10, "B": 10}))
    by_size = recommend_shifts(triangle(), sizes={"A": 10, "B": 3}, options=PlanOptions(weights={"B": 10}))
    assert by_size.to_dict() == by_weight.to_dict()
    assert by_size.warnings == by_weight.warnings


@pytest.mark.parametrize("objective", ["mean", "worst"])
def test_pinned_jobs_stay_and_the_others_make_the_best_of_it(objective: str) -> None:
    options = PlanOptions(objective=objective, pinned={"A": 0.1, "B": 0.12})  # type: ignore[arg-type]
    plan = recommend_shifts(triangle(), options=options)
    assert (plan.shifts_s["A"], plan.shifts_s["B"]) == (0.1, 0.12)
    # A and B overlap for 85 ms, whatever C does; they leave 130 ms, in which the 105 ms of C fit.
    assert overlap_ms(plan, "A", "B") == pytest.approx(85)
    assert overlap_ms(plan, "B", "C") + overlap_ms(plan, "C", "A") == pytest.approx(0, abs=1e-5)
    assert plan.gap == pytest.approx(0, abs=1e-9)


def test_a_pinned_job_on_a_tree_costs_nothing() -> None:
    links = [placed_link(a + b, {a: vgg(), b: vgg()}, capacity_bps=CAPACITY_BPS) for a, b in ("AB", "BC", "CD")]
    free, pinned = recommend_shifts(links), recommend_shifts(links, options=PlanOptions(pinned={"C": 0.3}))
    assert pinned.shifts_s["C"] == pytest.approx(0.3 % 0.255)
    assert pinned.score == pytest.approx(free.score)
    assert pinned.gap == pytest.approx(0, abs=1e-12)
    assert (free.method, pinned.method) == ("traversal", "traversal")


def test_two_pins_on_a_tree_bind_what_lies_between() -> None:
    plan = recommend_shifts(triangle()[:2], options=PlanOptions(pinned={"A": 0.0, "C": 0.06}))
    # B must keep 105 ms from bursts that begin at 0 and 60 ms: only 165 to 150 ms would do, so 15 ms overlap.
    assert overlap_ms(plan, "A", "B") + overlap_ms(plan, "B", "C") == pytest.approx(15, abs=1e-5)
    assert plan.score == pytest.approx(1 - 15 / PERIOD_MS / 2, abs=1e-9)


def test_weights_and_pins_of_no_job_are_warned_of() -> None:
    plan = recommend_shifts(triangle(), options=PlanOptions(weights={"X": 2}, pinned={"Y": 0.1}))
    assert [warning.split(":")[0] for warning in plan.warnings[-2:]] == [
        "the weight of job X changes nothing",
        "the pin of job Y changes nothing",
    ]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"objective": "median"}, "mean or worst"),
        ({"weights": {"A": 0}}, "job A has weight 0"),
        ({"weights": {"A": math.nan}}, "job A has weight nan"),
        ({"weights": {"A": math.inf}}, "job A has weight inf"),
        ({"pinned": {"A": -0.1}}, "job A is pinned to shift -0.1 s"),
        ({"pinned": {"A": math.nan}}, "job A is pinned to shift nan s"),
        ({"budget_s": 0}, "budget_s 0"),
        ({"budget_s": math.nan}, "budget_s nan"),
    ],
)
def test_options_that_make_no_sense_are_refused(wrong: Mapping[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        PlanOptions(**wrong)  # type: ignore[arg-type]


class FakeClock:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self) -> None:
        self.n_read = 0

    def __call__(self) -> float:
        self.n_read += 1
        return float(self.n_read)


def test_a_search_ends_with_its_time_and_gives_the_best_so_far() -> None:
    links = network(np.random.default_rng(3), n_jobs=40, n_links=20, n_loops=12)
    (component,) = affinity_of(links).components()

    def mean_score(budget_s: float) -> float:
        clock = FakeClock()
        (layout,) = lay_out([component], options=PlanOptions(), deadline=Deadline.after(budget_s, clock_s=clock))
        assert clock.n_read <= budget_s + 2
        return layout.tally.score("mean")

    at_once, soon, late = mean_score(0.5), mean_score(3), mean_score(60)
    chance = recommend_shifts(links).score_random
    assert chance is not None
    assert chance < at_once <= soon + 1e-12
    assert soon < late


def test_a_plan_with_next_to_no_time_is_still_a_plan() -> None:
    links = network(np.random.default_rng(3), n_jobs=40, n_links=20, n_loops=12)
    plan = recommend_shifts(links, options=PlanOptions(budget_s=1e-9))
    assert plan.score is not None
    assert plan.score_random is not None
    assert plan.score > plan.score_random
    assert plan.gap > 0


def test_a_constant_background_is_as_much_less_capacity() -> None:
    storage = TrafficProfile(status="constant", mean_bps=100e6, peak_bps=100e6, fold_bps=np.zeros(0))
    jobs = {"A": vgg(rate_bps=300e6), "B": vgg(rate_bps=200e6), "C": vgg(rate_bps=250e6)}
    pairs = [("A", "B"), ("B", "C"), ("C", "A")]
    beside = [
        placed_link(f"{a}{b}", {a: jobs[a], b: jobs[b], "storage": storage}, capacity_bps=500e6) for a, b in pairs
    ]
    alone = [placed_link(f"{a}{b}", {a: jobs[a], b: jobs[b]}, capacity_bps=400e6) for a, b in pairs]
    with_storage, without = recommend_shifts(beside), recommend_shifts(alone)
    assert with_storage.shifts_s == without.shifts_s
    assert with_storage.score is not None
    assert without.score is not None
    assert 500 * (1 - with_storage.score) == pytest.approx(400 * (1 - without.score), abs=1e-6)


def test_jobs_whose_circle_is_too_long_to_lay_out_still_get_their_links_best_shifts() -> None:
    # Periods of 261.4 and 190.2 ms come round together after 249 s, and edges meet every 200 us: not only by chance.
    b, c = (TrafficProfile.from_phases(period_s=p, phases=[(0, 0.4 * p, CAPACITY_BPS)]) for p in (0.2614, 0.1902))
    link = placed_link("BC", {"B": b, "C": c}, capacity_bps=CAPACITY_BPS)
    assert link.compatibility.verdict == "compatible"
    plan = recommend_shifts([link])
    assert plan.left_out == ()
    assert plan.score == pytest.approx(link.compatibility.score_best, abs=1e-9)


def test_jobs_without_a_period_get_no_shift() -> None:
    storage = TrafficProfile(status="aperiodic", mean_bps=50e6, peak_bps=90e6, fold_bps=np.zeros(0))
    plan = recommend_shifts([solved_link("x", {"A": vgg(), "B": vgg(), "storage": storage}, capacity_bps=500e6)])
    assert list(plan.shifts_s) == ["A", "B"]


def test_the_seed_draws_the_search_and_nothing_else_does() -> None:
    links = network(np.random.default_rng(4), n_jobs=60, n_links=30, n_loops=25)
    one, again, other = (recommend_shifts(links, options=PlanOptions(seed=seed)) for seed in (1, 1, 2))
    assert one.to_dict() == again.to_dict()
    assert other.shifts_s != one.shifts_s
    assert other.gap + (other.score or 0) == pytest.approx(one.gap + (one.score or 0), abs=1e-12)


def test_a_paced_component_with_loops_is_planned_at_its_slots() -> None:
    job = measured(vgg(up_s=0.08), error_s=2e-4, jitter_frac=0.03)
    plan = recommend_shifts([solved_link(a + b, {a: job, b: job}) for a, b in ("AB", "BC", "CA")])
    (slot_s,) = {shift.pace_period_s for shift in plan.shifts}
    assert slot_s == pytest.approx(0.255 * 1.04, rel=1e-6)
    assert plan.score == pytest.approx(1, abs=1e-9)
    assert plan.gap == pytest.approx(0, abs=1e-9)


def test_a_plan_tells_its_bound_and_the_time_it_took_but_not_in_its_document() -> None:
    plan = recommend_shifts(triangle())
    assert plan.score is not None
    assert plan.bound == pytest.approx(plan.score + plan.gap)
    assert plan.bound == pytest.approx(1)
    assert plan.elapsed_s is not None
    assert plan.elapsed_s > 0
    assert plan.to_dict()["bound"] == plan.bound
    assert "elapsed_s" not in plan.to_dict()
