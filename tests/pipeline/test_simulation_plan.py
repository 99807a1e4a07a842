"""What a plan makes of simulated jobs: where it puts them, how they compare, and documents that carry it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pipeline.simulation import (
    Pace,
    Shift,
    SimulatedJob,
    Simulation,
    Step,
    Traffic,
    compare,
    read_plan,
    simulate,
    traffic_on,
)
from pipeline.simulation.anywhere import run_anywhere
from pipeline.simulation.plan import follow_plan
from pipeline.simulation.result import joined
from profiler.errors import BadInput, UsageError
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import CAPACITY_BPS, solved_link, vgg

SLOT_S = 0.266
PLAN = (Shift(job="A", shift_s=0.0, pace_period_s=SLOT_S), Shift(job="B", shift_s=0.133, pace_period_s=SLOT_S))


def jittery(name: str) -> SimulatedJob:
    return SimulatedJob.from_profile(replace(vgg(), jitter_frac=0.03), name=name)


def test_a_shift_counts_from_the_time_zero_of_the_profile() -> None:
    down_first = TrafficProfile.from_phases(period_s=0.255, phases=[(0.141, 0.114, CAPACITY_BPS)])
    job = SimulatedJob.from_profile(down_first, name="A")
    (held,) = follow_plan([job], [Shift(job="A", shift_s=0.05, pace_period_s=0.26)])
    assert held.start_s == pytest.approx(0.05 + 0.141)
    assert held.pace == Pace(period_s=0.26, shift_s=held.start_s)


def test_a_burst_through_time_zero_is_one_burst() -> None:
    wrapped = TrafficProfile.from_phases(
        period_s=0.255, phases=[(0.0, 0.1, CAPACITY_BPS), (0.241, 0.014, CAPACITY_BPS)]
    )
    whole = TrafficProfile.from_phases(period_s=0.255, phases=[(0.100, 0.114, CAPACITY_BPS)])
    paced = [Shift(job="A", shift_s=0.0, pace_period_s=0.3)]
    times_s = [
        simulate({"A": profile}, capacity_bps=CAPACITY_BPS, plan=paced, n_iterations=10)["A"].bursts_s
        for profile in (wrapped, whole)
    ]
    np.testing.assert_allclose(times_s[0] - 0.241, times_s[1] - 0.1, atol=1e-9)


def test_a_plan_that_names_a_job_twice_is_refused() -> None:
    row = {"job": "A", "shift_s": 0.0, "pace_period_s": None}
    with pytest.raises(BadInput, match="job A has two shifts"):
        read_plan({"kind": "shift_plan", "version": 1, "shifts": [row, row]})


@pytest.mark.parametrize("period_s", [0.0, 1e-12, float("inf"), float("nan")])
def test_a_slot_that_no_clock_keeps_is_refused(period_s: float) -> None:
    with pytest.raises(UsageError, match="pace period_s"):
        Pace(period_s=period_s)


def test_jobs_at_their_shifts_do_not_meet_though_their_profiles_begin_elsewhere() -> None:
    late = TrafficProfile.from_phases(period_s=0.255, phases=[(0.100, 0.114, CAPACITY_BPS)])
    plan = [Shift(job="A", shift_s=0.0), Shift(job="B", shift_s=0.0)]
    found = simulate({"A": vgg(up_s=0.1), "B": late}, capacity_bps=CAPACITY_BPS, plan=plan, n_iterations=20)
    assert found.congested_frac == pytest.approx(0, abs=1e-12)


def test_a_plan_for_other_jobs_is_refused_and_unnamed_jobs_are_left_alone() -> None:
    with pytest.raises(UsageError, match="it is for C, not for A, B"):
        follow_plan([jittery("A"), jittery("B")], [Shift(job="C", shift_s=0.0)])
    assert follow_plan([jittery("A"), jittery("B")], PLAN[:1])[1] == jittery("B")


def test_a_held_plan_shortens_what_jobs_by_themselves_take() -> None:
    found = compare([jittery("A"), jittery("B")], plan=PLAN, capacity_bps=CAPACITY_BPS)
    assert found.planned is not None
    assert found.speedup_p90 == pytest.approx(found.unmanaged["A"].p90_s / found.planned["A"].p90_s, rel=0.03)
    assert found.speedup_p90 is not None
    assert 1.2 < found.speedup_p90 < 1.4
    assert found.planned.full_frac["link"] < 0.02 < 0.2 < found.unmanaged.full_frac["link"]


@pytest.mark.parametrize("n_iterations", [1, 7, 20, 21, 59])
@pytest.mark.parametrize("slot_s", [SLOT_S, None])
def test_as_many_iterations_come_back_as_were_asked_for(n_iterations: int, slot_s: float | None) -> None:
    plan = [replace(shift, pace_period_s=slot_s) for shift in PLAN]
    found = compare([jittery("A"), jittery("B")], plan=plan, capacity_bps=CAPACITY_BPS, n_iterations=n_iterations)
    assert found.planned is not None
    sizes = {run.iteration_s.size for one in (found.unmanaged, found.planned) for run in one.runs}
    assert sizes == {n_iterations}
    assert found.warnings == ()


@pytest.mark.parametrize("slot_s", [SLOT_S, None])
def test_the_runs_of_a_comparison_share_what_is_simulated_at_most_and_totals_are_told(
    slot_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.simulation.workload.MAX_ITERATIONS", 4_007)
    plan = [replace(shift, pace_period_s=slot_s) for shift in PLAN]
    found = compare([jittery("A"), jittery("B")], plan=plan, capacity_bps=CAPACITY_BPS, n_iterations=100_000_000)
    assert found.planned is not None
    for one in (found.unmanaged, found.planned):
        assert [run.iteration_s.size for run in one.runs] == [2_003, 2_003]
        for job, warning in zip("AB", one.warnings, strict=True):
            assert warning.startswith(f"job {job}: only 2003 of 100000000 iterations: at most ")


def test_jobs_begin_anywhere_in_each_run_but_where_a_plan_has_them() -> None:
    jobs = tuple(SimulatedJob.from_profile(vgg(), name=name) for name in "AB")
    traffic = Traffic(jobs=jobs, free_bps={"x": CAPACITY_BPS})
    at_once = [Shift(job=job, shift_s=0.0) for job in "AB"]
    times_s = [
        run_anywhere(traffic, sizes=[3, *([2] * 19)], plan=plan, rng=np.random.default_rng(5))["B"].iteration_s
        for plan in (at_once, at_once[:1], ())
    ]
    assert [times.size for times in times_s] == [41, 41, 41]
    np.testing.assert_allclose(times_s[0], 0.141 + 2 * 0.114)
    for times in times_s[1:]:
        assert len(set(times.round(6))) > 10
        assert 0.255 - 1e-9 <= times.min() < times.mean() < 0.36


def test_jobs_that_start_anywhere_meet_as_often_as_chance_has_it() -> None:
    # Without jitter a run keeps its phase. Overlap x has each iteration last x longer, and of 255 ms two Ups of 114
    # overlap by 114 - d for a distance d < 114: in the mean 2 (114^2 / 2) / 255 = 51 ms.
    jobs = [SimulatedJob.from_profile(vgg(), name=name) for name in "AB"]
    found = compare(jobs, plan=None, capacity_bps=CAPACITY_BPS, n_iterations=20, rng=1)
    many = joined([compare(jobs, plan=None, capacity_bps=CAPACITY_BPS, rng=seed).unmanaged for seed in range(30)])
    assert found.planned is None
    assert found.speedup_p90 is None
    assert many["A"].mean_s == pytest.approx(0.255 + 0.114**2 / 0.255, rel=0.02)


def test_comparing_by_one_seed_gives_one_answer() -> None:
    def answer(seed: int) -> dict[str, Any]:
        return compare([jittery("A"), jittery("B")], plan=PLAN, capacity_bps=CAPACITY_BPS, rng=seed).to_dict()

    assert answer(3) == answer(3)
    assert answer(3) != answer(4)


def test_document_tells_each_job_and_link_before_and_after() -> None:
    found = compare([jittery("A"), jittery("B")], plan=PLAN, capacity_bps=CAPACITY_BPS, n_iterations=100)
    document = found.to_dict()
    assert (document["kind"], document["version"]) == ("simulation", 1)
    for part in (document, document["planned"]):
        for row in part["jobs"]:
            assert {"job", "p50_s", "p90_s", "mean_s", "congested_frac", "adjustments_per_min"} <= row.keys()
            assert row["deciles_s"] == sorted(row["deciles_s"])
            assert (row["deciles_s"][5], row["deciles_s"][9]) == pytest.approx((row["p50_s"], row["p90_s"]))
        assert [link["link"] for link in part["links"]] == ["link"]
    assert [row["plan"] for row in found.to_rows()] == ["unmanaged", "unmanaged", "planned", "planned"]
    assert found.plot().to_dict()["encoding"]["color"]["field"] == "job"


def test_several_simulations_are_joined_by_the_time_that_they_took() -> None:
    job = SimulatedJob(name="A", steps=(Step(down_s=1.0, volume_bits=2.0, max_bps=2.0),))
    free, throttled = (simulate([job], capacity_bps=bps, n_iterations=n) for bps, n in ((2.0, 9), (1.0, 4)))
    found = joined([free, throttled])
    assert isinstance(found, Simulation)
    assert found["A"].iteration_s.tolist() == pytest.approx([2.0] * 9 + [3.0] * 4)
    # Ups at once, then 9 iterations of 2 s; and at half the rate an Up of 2 s, then 4 iterations of 3 s.
    assert found.span_s == pytest.approx(19 + 14)
    assert found.congested_frac == pytest.approx(10 / 33)


@pytest.mark.parametrize("kind", ["shift_plan", "analysis", "compat"])
def test_shifts_are_read_from_every_document_that_carries_them(kind: str) -> None:
    shifts = [{"job": "A", "shift_s": 0.5, "pace_period_s": None}, {"job": "B", "shift_s": 0, "pace_period_s": 0.3}]
    assert read_plan({"kind": kind, "version": 1, "shifts": shifts}) == (
        Shift(job="A", shift_s=0.5),
        Shift(job="B", shift_s=0.0, pace_period_s=0.3),
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"kind": "profile"}, "kind is 'profile', expected one of shift_plan"),
        ({"kind": "shift_plan", "version": 9, "shifts": []}, "version is 9, expected 1"),
        ({"kind": "shift_plan", "shifts": []}, "version is None, expected 1"),
        ({"kind": "compat", "version": 1, "shifts": [{"job": "A"}]}, "shift 1: key 'shift_s' is missing"),
        (
            {"kind": "compat", "version": 1, "shifts": [{"job": "A", "shift_s": "x"}]},
            "shift_s is 'x'; expected a finite number",
        ),
    ],
)
def test_a_wrong_plan_says_where(document: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_plan(document)


def test_a_plan_whose_slot_has_no_meaning_is_refused() -> None:
    with pytest.raises(UsageError, match="must be finite, and 1e-06 s or more"):
        compare([jittery("A")], plan=[Shift(job="A", shift_s=0.0, pace_period_s=0.0)], capacity_bps=CAPACITY_BPS)


def test_traffic_of_links_has_each_job_on_its_links_by_the_part_that_it_loads() -> None:
    half = vgg(rate_bps=CAPACITY_BPS / 2)
    storage = TrafficProfile(status="constant", mean_bps=1e8, fold_bps=np.zeros(0))
    links = [
        solved_link("x", {"A": vgg(), "B": half}),
        solved_link("y", {"A": half, "S": storage}),
    ]
    traffic = traffic_on(links)
    a, b = traffic.jobs
    assert a.loads == pytest.approx({"x forward": 1.0, "y forward": 0.5})
    assert b.loads == {"x forward": 1.0}
    assert traffic.free_bps == pytest.approx({"x forward": 4e8, "y forward": 3e8})


def test_profiles_without_a_period_take_their_mean_off_the_link_and_unknown_ones_are_told() -> None:
    random = TrafficProfile(status="aperiodic", mean_bps=2e8, fold_bps=np.zeros(0))
    found = simulate({"A": vgg(), "R": random}, capacity_bps=CAPACITY_BPS, n_iterations=10)
    np.testing.assert_allclose(found["A"].iteration_s, 0.141 + 2 * 0.114)
    assert any("R: status aperiodic" in warning for warning in found.warnings)
    with pytest.raises(UsageError, match="nothing is left for jobs"):
        simulate({"A": vgg(), "R": replace(random, mean_bps=4e8)}, capacity_bps=CAPACITY_BPS)
