"""One shift a job for all links: trees have every optimum, loops an honest gap."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.compat.demand import demand_of
from pipeline.compat.levels import Excess
from pipeline.compat.pacing import held_profile
from pipeline.compat.timeline import Circle, excess_at
from pipeline.shifts import PlanOptions, ShiftPlan, is_interleaved, recommend_shifts
from pipeline.simulation import Pace, SimulatedJob, simulate
from profiler.pacer import Pacer
from tests.pipeline.jobs import SolvedJobs, measured, solved_link, vgg

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.phases import TrafficProfile


def score_of(plan: ShiftPlan, link: SolvedJobs) -> float:
    """The score of a plan on a link, judged with the slots that the plan asks for."""
    advice = {shift.job: shift for shift in plan.shifts}
    demands, shifts_ns = [], []
    for job, profile in link.demands.items():
        slot_s = advice[job].pace_period_s
        demands.append(demand_of(profile if slot_s is None else held_profile(profile, slot_s=slot_s)))
        shifts_ns.append(round(advice[job].shift_s * 1e9))
    circle = Circle(demands=demands, excess=Excess.over(link.capacity_bps))
    return 1 - excess_at(circle, shifts_ns) / link.capacity_bps


def chain(n_links: int, profile: TrafficProfile) -> list[SolvedJobs]:
    """Job 0 meets job 1 on one link, job 1 meets job 2 on the next, and so on."""
    return [solved_link(f"l{i}", {f"j{i}": profile, f"j{i + 1}": profile}) for i in range(n_links)]


def triangle(up_s: float) -> list[SolvedJobs]:
    """Three jobs, each pair on a link of its own."""
    job = vgg(up_s=up_s)
    return [
        solved_link("ab", {"A": job, "B": job}),
        solved_link("bc", {"B": job, "C": job}),
        solved_link("ca", {"C": job, "A": job}),
    ]


def test_on_a_tree_every_link_has_its_optimum_at_once() -> None:
    links = chain(6, vgg(up_s=0.125))
    plan = recommend_shifts(links)
    assert plan.gap == pytest.approx(0, abs=1e-12)
    for link in links:
        assert score_of(plan, link) == pytest.approx(link.compatibility.score_best, abs=1e-12)
    assert plan.shifts_s["j0"] == 0
    assert plan.method == "traversal"


def test_periods_of_a_tree_may_be_harmonic() -> None:
    fast, slow = vgg(period_s=0.1, up_s=0.03), vgg(period_s=0.2, up_s=0.05)
    links = [solved_link("x", {"A": fast, "B": slow}), solved_link("y", {"B": slow, "C": vgg(period_s=0.3, up_s=0.04)})]
    plan = recommend_shifts(links)
    for link in links:
        assert score_of(plan, link) == pytest.approx(link.compatibility.score_best, abs=1e-12)


def test_paced_component_has_one_slot_period_the_longest() -> None:
    short, long = (measured(vgg(period_s=period_s), error_s=2e-4, jitter_frac=0.04) for period_s in (0.255, 0.258))
    links = [solved_link("x", {"A": short, "B": short}), solved_link("y", {"B": short, "C": long})]
    plan = recommend_shifts(links)
    assert len({shift.pace_period_s for shift in plan.shifts}) == 1
    assert plan.shifts[0].pace_period_s == pytest.approx(0.258 * 1.04, rel=1e-6)
    assert plan.gap == pytest.approx(0, abs=1e-12)
    assert [score_of(plan, link) for link in links] == pytest.approx([1, 1])
    by_job = {shift.job: shift for shift in plan.shifts}
    assert by_job["C"].stretch_frac == pytest.approx(0.04, abs=1e-6)
    assert by_job["A"].stretch_frac == pytest.approx(0.258 * 1.04 / 0.255 - 1, abs=1e-6)


def test_loop_that_fits_is_solved_though_traversal_alone_fails_it() -> None:
    # Three times 80 ms fit into 255 ms, but each pair alone would be half a period apart: A, B, A.
    links = triangle(0.08)
    plan = recommend_shifts(links)
    assert plan.gap == pytest.approx(0, abs=1e-12)
    assert [score_of(plan, link) for link in links] == pytest.approx([1, 1, 1])
    assert plan.warnings == ()


def test_loop_that_cannot_fit_is_as_good_as_trying_every_shift_and_says_its_gap() -> None:
    links = triangle(0.105)
    plan = recommend_shifts(links)
    assert plan.left_out == ()
    total = sum(score_of(plan, link) for link in links)
    steps_ms = np.arange(0, 255, 0.5)
    b_ms, c_ms = steps_ms[:, None], steps_ms[None, :]
    lost_ms = overlap_ms(b_ms) + overlap_ms(c_ms) + overlap_ms(c_ms - b_ms)
    best = 3 - float(lost_ms.min()) / 255
    assert total >= best - 1e-9
    assert plan.gap == pytest.approx((3 - total) / 3, abs=1e-9)
    (warning,) = plan.warnings
    assert "A, B, C meet on links in a loop" in warning


def overlap_ms(apart_ms: NDArray[np.float64]) -> NDArray[np.float64]:
    """How long two bursts of 105 ms overlap in 255 ms, one beginning so much after the other."""
    apart_ms = apart_ms % 255
    return np.asarray(np.maximum(0, 105 - apart_ms) + np.maximum(0, 105 - (255 - apart_ms)))


def test_both_directions_of_a_link_are_served_by_one_shift() -> None:
    job = measured(vgg(), error_s=2e-4, jitter_frac=0.04)
    links = [solved_link("forward", {"A": job, "B": job}), solved_link("backward", {"A": job, "B": job})]
    plan = recommend_shifts(links)
    assert plan.gap == pytest.approx(0, abs=1e-12)
    assert plan.shifts_s["B"] == pytest.approx(0.255 * 1.04 / 2, abs=1e-4)
    assert plan.warnings == ()


def test_plan_names_every_job_and_leaves_free_ones_alone() -> None:
    links = [
        solved_link("x", {"A": vgg(), "B": vgg()}),
        solved_link("wide", {"B": vgg(), "C": vgg()}, capacity_bps=1e9),
    ]
    plan = recommend_shifts(links)
    assert sorted(plan.shifts_s) == ["A", "B", "C"]
    assert plan.shifts_s["C"] == 0
    assert recommend_shifts([]).shifts == ()


def test_order_of_links_and_jobs_does_not_change_a_tree_plan() -> None:
    links = chain(3, vgg(up_s=0.12))
    turned = [solved_link(link.link, dict(reversed(link.demands.items()))) for link in reversed(links)]
    assert recommend_shifts(links).shifts == recommend_shifts(turned).shifts


def test_a_plan_is_the_same_every_time_and_by_its_seed() -> None:
    links = triangle(0.105)
    assert recommend_shifts(links).to_dict() == recommend_shifts(links).to_dict()
    seeded = [recommend_shifts(links, options=PlanOptions(seed=3)).to_dict() for _ in range(2)]
    assert seeded[0] == seeded[1]


def test_the_pacer_follows_the_document(tmp_path: Path) -> None:
    job = measured(vgg(), error_s=2e-4, jitter_frac=0.04)
    plan = recommend_shifts([solved_link("x", {"A": job, "B": job})])
    document = plan.to_dict()
    assert (document["kind"], document["version"], document["anchor_ns"]) == ("shift_plan", 1, 0)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    assert Pacer.from_plan(path, job="B").is_on
    assert plan.to_arrow().column_names == ["job", "shift_s", "lead_s", "pace_period_s", "stretch_frac"]


def growing_chain(n_jobs: int, *, ratio: float) -> list[SolvedJobs]:
    """Like `chain`, each job longer than the last one by a ratio."""
    jobs = [
        measured(vgg(period_s=0.255 * ratio**i, up_s=0.114 * ratio**i), error_s=2e-4, jitter_frac=0.03)
        for i in range(n_jobs)
    ]
    return [solved_link(f"l{i}", {f"j{i}": jobs[i], f"j{i + 1}": jobs[i + 1]}) for i in range(n_jobs - 1)]


def simulated_means_s(links: list[SolvedJobs], plan: ShiftPlan) -> dict[str, float]:
    """Mean iteration of each job that follows a plan, or begins at its shift."""
    shifts = {shift.job: shift for shift in plan.shifts}
    crossed: dict[str, list[str]] = {}
    profiles: dict[str, TrafficProfile] = {}
    for link in links:
        for job, profile in link.demands.items():
            crossed.setdefault(job, []).append(link.link)
            profiles[job] = profile
    jobs = [
        SimulatedJob.from_profile(
            profile,
            name=job,
            start_s=shifts[job].shift_s,
            pace=Pace(period_s=slot_s, shift_s=shifts[job].shift_s) if (slot_s := shifts[job].pace_period_s) else None,
            links=tuple(crossed[job]),
        )
        for job, profile in profiles.items()
    ]
    done = simulate(jobs, capacity_bps={link.link: link.capacity_bps for link in links}, n_iterations=600)
    return {run.job: run.mean_s for run in done.runs}


def test_a_slot_common_to_many_links_is_not_advised_where_it_slows_jobs() -> None:
    # Each pair alone fits and is worth pacing; all held to the longest of seven, 461 ms, stretch the first by 81 %.
    links = growing_chain(7, ratio=1.1)
    assert {link.compatibility.verdict for link in links} == {"paced"}
    plan = recommend_shifts(links)
    assert all(shift.pace_period_s is None for shift in plan.shifts)
    assert plan.left_out == tuple((f"l{i}", "forward") for i in range(6))
    assert plan.warnings[0].startswith(
        "no shifts are advised on account of l0: with them job j0's simulated iterations"
    )


@pytest.mark.parametrize("ratio", [1.0, 1.02, 1.04, 1.07])
def test_no_job_of_a_paced_chain_is_slower_than_unmanaged(ratio: float) -> None:
    links = growing_chain(5, ratio=ratio)
    plan = recommend_shifts(links)
    unmanaged = ShiftPlan(shifts=tuple(replace(shift, pace_period_s=None) for shift in plan.shifts), gap=0)
    with_plan, without = simulated_means_s(links, plan), simulated_means_s(links, unmanaged)
    assert all(with_plan[job] <= 1.02 * without[job] for job in with_plan)


def test_a_component_too_large_to_simulate_is_paced_only_if_that_stretches_no_job_far() -> None:
    job = measured(vgg(up_s=0.1), error_s=2e-4, jitter_frac=0.03)
    pair = solved_link("x", {"A": job, "B": job})
    longer = [measured(vgg(period_s=0.255 * 1.01**i), error_s=2e-4, jitter_frac=0.03) for i in range(81)]

    alike = recommend_shifts([between(pair, i, {f"j{i:03}": job, f"j{i + 1:03}": job}) for i in range(80)])
    growing = recommend_shifts(
        [between(pair, i, {f"j{i:03}": longer[i], f"j{i + 1:03}": longer[i + 1]}) for i in range(80)]
    )

    assert (alike.left_out, alike.planned) == ((), {})
    assert [shift.pace_period_s for shift in alike.shifts] == pytest.approx([0.2652] * 81, abs=1e-6)
    assert growing.left_out
    assert max(shift.stretch_frac or 0.0 for shift in growing.shifts) <= 0.15


def between(link: SolvedJobs, i: int, demands: dict[str, TrafficProfile]) -> SolvedJobs:
    """The link of another two jobs, with the same answer."""
    found = link.compatibility
    shifts = tuple(replace(shift, job=job) for shift, job in zip(found.shifts, demands, strict=True))
    return replace(link, link=f"l{i}", demands=demands, compatibility=replace(found, shifts=shifts))


def interleaved_pair(*, period_s: float = 0.266, apart_s: float = 0.133, jitter_frac: float = 0.006) -> SolvedJobs:
    """Two measured jobs of one period, the second so much later."""
    a, b = (
        measured(vgg(period_s=period_s), error_s=5e-4, jitter_frac=jitter_frac, anchor_ns=round(anchor_s * 1e9))
        for anchor_s in (0.0, apart_s)
    )
    return solved_link("x", {"A": a, "B": b})


def test_jobs_that_are_interleaved_keep_the_period_that_they_have() -> None:
    period_s = 0.2556
    for _ in range(4):
        pair = interleaved_pair(period_s=period_s, apart_s=period_s / 2)
        assert pair.compatibility.verdict == "paced"
        assert is_interleaved(pair)
        plan = recommend_shifts([pair])
        (slot_s,) = {shift.pace_period_s for shift in plan.shifts}
        assert slot_s == pytest.approx(0.2556, abs=1e-8)
        assert plan.shifts_s["B"] == pytest.approx(0.1278, abs=1e-3)
        period_s = slot_s or 0.0


@pytest.mark.parametrize("others", [{"apart_s": 0.02}, {"jitter_frac": 0.04}])
def test_jobs_that_collide_or_wander_are_not_taken_for_interleaved(others: dict[str, float]) -> None:
    pair = interleaved_pair(**others)
    assert not is_interleaved(pair)
    assert recommend_shifts([pair]).shifts[0].pace_period_s == pytest.approx(0.266 * 1.04, rel=1e-6)


def test_jobs_that_no_link_needs_paced_are_given_no_slot() -> None:
    pair = solved_link("x", {"A": vgg(), "B": vgg()})
    assert pair.compatibility.verdict == "compatible"
    plan = recommend_shifts([pair])
    assert [(shift.pace_period_s, shift.stretch_frac) for shift in plan.shifts] == [(None, None)] * 2
    assert plan.shifts_s["B"] == pytest.approx(0.1275)


def test_a_shift_that_lasts_between_harmonic_jobs_holds_neither() -> None:
    plan = recommend_shifts([solved_link("x", {"A": vgg(period_s=0.1, up_s=0.03), "B": vgg(period_s=0.2, up_s=0.05)})])
    assert {shift.job: shift.pace_period_s for shift in plan.shifts} == {"A": None, "B": None}


def loop_of(jobs: dict[str, tuple[float, float]]) -> list[SolvedJobs]:
    """Each pair of three jobs on a link of its own; of a job is given how long it sends, and how fast."""
    own = {job: vgg(up_s=up_s, rate_bps=rate_bps) for job, (up_s, rate_bps) in jobs.items()}
    links = [solved_link(a + b, {a: own[a], b: own[b]}) for a, b in ("AB", "BC", "CA")]
    assert {link.compatibility.verdict for link in links} == {"compatible"}
    return links


def test_a_loop_that_cannot_fit_is_rehearsed_though_nobody_is_held() -> None:
    # Held to slots of their own periods, B took 335 ms in place of 307 and missed 13 slots a minute.
    plan = recommend_shifts(loop_of({"A": (0.115, 300e6), "B": (0.122, 400e6), "C": (0.09, 300e6)}))
    assert plan.left_out == ()
    assert all(shift.pace_period_s is None for shift in plan.shifts)
    assert plan.planned["B"].mean_s < 0.96 * plan.unmanaged["B"].mean_s
    assert all(plan.planned[job].mean_s <= 1.01 * plan.unmanaged[job].mean_s for job in "ABC")


def test_a_loop_without_a_gain_for_its_jobs_is_left_out() -> None:
    plan = recommend_shifts(triangle(0.12))
    assert len(plan.left_out) >= 2
    assert set(plan.why_left_out) == set(plan.left_out)
    assert all("simulated iterations would go from" in why for why in plan.why_left_out.values())


def test_a_job_that_loses_a_little_so_that_others_gain_is_warned_of() -> None:
    plan = recommend_shifts(loop_of({"A": (0.124, 400e6), "B": (0.112, 400e6), "C": (0.104, 300e6)}))
    assert plan.left_out == ()
    ratios = {job: plan.planned[job].mean_s / plan.unmanaged[job].mean_s for job in "ABC"}
    assert 1.01 < ratios["C"] < 1.05
    assert sum(ratios.values()) < 3
    assert any(warning.startswith("jobs C lose by the plan") for warning in plan.warnings)
