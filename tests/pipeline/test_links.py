"""What one plan for all makes of each link."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeline.analysis import LinkAnalysis
from pipeline.compat import solve
from pipeline.links import settle_links
from pipeline.shifts import PlanOptions, recommend_shifts
from tests.pipeline.jobs import CAPACITY_BPS, measured, vgg

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile


def link(name: str, demands: dict[str, TrafficProfile]) -> LinkAnalysis:
    compatibility = solve(demands, capacity_bps=CAPACITY_BPS, link=name, direction="forward")
    return LinkAnalysis(
        link=name, direction="forward", capacity_bps=CAPACITY_BPS, demands=demands, compatibility=compatibility
    )


def job(ratio: float) -> TrafficProfile:
    return measured(vgg(period_s=0.255 * ratio, up_s=0.114 * ratio), error_s=2e-4, jitter_frac=0.03)


def test_a_link_whose_own_slots_are_the_plans_stays_as_solved() -> None:
    pair = link("x", {"A": job(1.0), "B": job(1.0)})
    (settled,) = settle_links([pair], recommend_shifts([pair]))
    assert settled.compatibility == pair.compatibility


def test_what_is_predicted_of_a_link_is_of_the_plans_slots() -> None:
    links = [link("x", {"A": job(1.0), "B": job(1.0)}), link("y", {"B": job(1.0), "C": job(1.04)})]
    plan = recommend_shifts(links)
    assert plan.left_out == ()
    first, _ = settle_links(links, plan)
    slot_s = 0.255 * 1.04 * 1.04
    assert first.compatibility.predicted["p50_paced_s"] == pytest.approx(slot_s, rel=2e-3)
    assert links[0].compatibility.predicted["p50_paced_s"] < 0.97 * slot_s
    assert f"{first.compatibility.predicted['speedup_p90']:.2f} times as fast" in first.compatibility.reason
    assert {shift.pace_period_s for shift in first.compatibility.shifts} == {plan.shifts[0].pace_period_s}


def test_a_link_that_the_plan_leaves_out_is_not_called_helped() -> None:
    links = [link(f"l{i}", {f"j{i}": job(1.1**i), f"j{i + 1}": job(1.1 ** (i + 1))}) for i in range(6)]
    assert {one.compatibility.verdict for one in links} == {"paced"}
    for settled in settle_links(links, recommend_shifts(links)):
        assert settled.compatibility.verdict == "futile"
        assert settled.compatibility.predicted == {}
        assert all(shift.pace_period_s is None for shift in settled.compatibility.shifts)


def test_jobs_that_interleave_are_told_to_keep_what_holds_them() -> None:
    a, b = (replace(job(1.0), jitter_frac=0.006, anchor_ns=anchor_ns) for anchor_ns in (0, 127_500_000))
    pair = link("x", {"A": a, "B": b})
    (settled,) = settle_links([pair], recommend_shifts([pair]))
    assert settled.is_interleaved
    assert settled.compatibility.predicted == {}
    assert "keep what holds them there" in settled.compatibility.reason


def test_a_link_that_is_left_out_is_told_what_was_found() -> None:
    pair = link("x", {"A": vgg(), "B": vgg()})
    assert pair.compatibility.verdict == "compatible"
    place = ("x", "forward")
    plan = replace(recommend_shifts([pair]), left_out=(place,), why_left_out={place: "none score higher than chance"})
    (settled,) = settle_links([pair], plan)
    assert settled.compatibility.verdict == "futile"
    assert "but none score higher than chance: leave them alone" in settled.compatibility.reason


def test_a_lone_link_whose_jobs_are_pinned_in_each_others_way_says_so_and_names_no_other() -> None:
    pair = link("x", {"A": job(1.0), "B": job(1.0)})
    plan = recommend_shifts([pair], options=PlanOptions(pinned={"A": 0.0, "B": 0.02}))
    (settled,) = settle_links([pair], plan)
    assert settled.compatibility.verdict == "futile"
    assert "simulated iterations would go from" in settled.compatibility.reason
    assert "while jobs A, B stay pinned" in settled.compatibility.reason
    assert "beside" not in settled.compatibility.reason


def test_other_links_are_named_where_jobs_cross_some() -> None:
    links = [link(f"l{i}", {f"j{i}": job(1.1**i), f"j{i + 1}": job(1.1 ** (i + 1))}) for i in range(3)]
    links.append(link("l3", {"j3": job(1.1**3), "j4": job(1.8)}))
    settled = settle_links(links, recommend_shifts(links))
    left_out = [one.compatibility.reason for one in settled if one.compatibility.verdict == "futile"]
    assert left_out
    assert all("beside the traffic on l" in reason for reason in left_out if "would go from" in reason)
