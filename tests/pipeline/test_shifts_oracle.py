"""Plans for small networks with loops, against every shift tried; and what must not change them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.shifts import PlanOptions, ShiftPlan, recommend_shifts
from tests.pipeline.networks import SmallNetwork, small_networks
from tests.reference import TickedJob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.pipeline.jobs import SolvedJobs

ROUNDING = 1e-9
OBJECTIVES = st.sampled_from(("mean", "worst"))


def bound_by(links: Sequence[SolvedJobs], plan: ShiftPlan) -> set[str]:
    """The links that the plan is for."""
    left_out = {link for link, _ in plan.left_out}
    return {link.link for link in links if link.compatibility.verdict == "compatible"} - left_out


@settings(max_examples=60, deadline=None)
@given(small_networks())
def test_the_mean_over_links_is_the_best_of_all_shifts(small: SmallNetwork) -> None:
    links = small.links()
    plan = recommend_shifts(links)
    best = small.best_score(objective="mean", bound_by=bound_by(links, plan))
    assert plan.score == pytest.approx(best, abs=ROUNDING)


@settings(max_examples=40, deadline=None)
@given(small_networks(), OBJECTIVES, st.integers(0, 11))
def test_no_shifts_cross_the_bound_of_a_plan_and_its_score_is_that_of_its_shifts(
    small: SmallNetwork, objective: Literal["mean", "worst"], pinned: int
) -> None:
    links = small.links()
    pinned %= small.jobs[1].period
    plan = recommend_shifts(links, options=PlanOptions(objective=objective, pinned={"j1": pinned / 1000}))
    on = bound_by(links, plan)
    best = small.best_score(objective=objective, bound_by=on, pinned={0: 0, 1: pinned})
    assert plan.score is not None
    assert best <= plan.score + plan.gap + ROUNDING
    assert plan.shifts_s.get("j1", pinned / 1000) == pytest.approx(pinned / 1000, abs=1e-12)
    ticks = [plan.shifts_s.get(small.name(i), 0.0) * 1000 for i in range(len(small.jobs))]
    if all(abs(tick - round(tick)) < 1e-9 for tick in ticks):
        told = small.score(tuple(round(tick) for tick in ticks), objective=objective, bound_by=on)
        assert plan.score == pytest.approx(told, abs=ROUNDING)


@settings(max_examples=40, deadline=None)
@given(small_networks(), OBJECTIVES)
def test_a_plan_is_never_worse_than_none(small: SmallNetwork, objective: Literal["mean", "worst"]) -> None:
    links = small.links()
    plan = recommend_shifts(links, options=PlanOptions(objective=objective))
    unshifted = small.score((0,) * len(small.jobs), objective=objective, bound_by=bound_by(links, plan))
    assert plan.score is not None
    assert plan.score >= unshifted - ROUNDING
    assert plan.score_random is None or plan.score >= plan.score_random - ROUNDING


@settings(max_examples=30, deadline=None)
@given(small_networks(), OBJECTIVES, st.integers(0, 9))
def test_the_order_of_links_and_jobs_does_not_change_a_plan(
    small: SmallNetwork, objective: Literal["mean", "worst"], seed: int
) -> None:
    links = small.links()
    turned = [replace(link, demands=dict(reversed(link.demands.items()))) for link in links]
    turned = [turned[i] for i in np.random.default_rng(seed).permutation(len(turned))]
    options = PlanOptions(objective=objective)
    assert recommend_shifts(turned, options=options).to_dict() == recommend_shifts(links, options=options).to_dict()


@settings(max_examples=30, deadline=None)
@given(small_networks(), st.integers(1, 11))
def test_jobs_that_all_begin_later_keep_their_plan(small: SmallNetwork, by: int) -> None:
    later_jobs = [TickedJob(tuple(np.roll(job.rates, by).tolist())) for job in small.jobs]
    turned = replace(small, jobs=tuple(later_jobs))
    plan, later = recommend_shifts(small.links()), recommend_shifts(turned.links())
    assert later.score == pytest.approx(plan.score, abs=ROUNDING)
    assert later.gap == pytest.approx(plan.gap, abs=ROUNDING)


@settings(max_examples=30, deadline=None)
@given(small_networks(), st.sampled_from([1e-3, 4.0, 1e9]))
def test_rates_and_capacities_times_a_factor_keep_their_plan(small: SmallNetwork, factor: float) -> None:
    plan, larger = recommend_shifts(small.links()), recommend_shifts(small.links(scale=factor))
    assert larger.score == pytest.approx(plan.score, abs=ROUNDING)
    assert larger.score_random == pytest.approx(plan.score_random, abs=ROUNDING)


@settings(max_examples=20, deadline=None)
@given(small_networks(), small_networks())
def test_what_shares_no_link_with_a_component_does_not_change_its_plan(one: SmallNetwork, two: SmallNetwork) -> None:
    links = one.links()
    strangers = [
        replace(
            link,
            link=f"x{link.link}",
            demands={f"x{job}": profile for job, profile in link.demands.items()},
            compatibility=replace(
                link.compatibility,
                shifts=tuple(replace(shift, job=f"x{shift.job}") for shift in link.compatibility.shifts),
            ),
        )
        for link in two.links()
    ]
    alone, together = recommend_shifts(links).shifts_s, recommend_shifts([*strangers, *links]).shifts_s
    assert {job: together[job] for job in alone} == alone
