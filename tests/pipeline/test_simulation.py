"""The fluid simulator against arithmetic, small steps of time, and the rig."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pipeline
from pipeline.simulation import JobRun, Pace, SimulatedJob, Step, joined, simulate
from profiler.errors import UsageError
from profiler.phases import TrafficProfile
from tests.data import shared, truth_of
from tests.pipeline.jobs import CAPACITY_BPS, vgg
from tests.reference import stepped_ends

if TYPE_CHECKING:
    from numpy.typing import NDArray


def vgg_job(
    name: str = "A", *, start_s: float = 0.0, jitter_frac: float = 0.0, pace: Pace | None = None
) -> SimulatedJob:
    step = Step(down_s=0.141, volume_bits=0.114 * CAPACITY_BPS, max_bps=CAPACITY_BPS)
    return SimulatedJob(name=name, steps=(step,), start_s=start_s, jitter_frac=jitter_frac, pace=pace)


def test_job_alone_takes_its_own_time() -> None:
    run = simulate([vgg_job()], capacity_bps=CAPACITY_BPS, n_iterations=50)["A"]
    np.testing.assert_allclose(run.iteration_s, 0.255)


def test_two_jobs_in_step_share_the_link_and_both_double_their_bursts() -> None:
    found = simulate([vgg_job("A"), vgg_job("B")], capacity_bps=CAPACITY_BPS, n_iterations=50)
    np.testing.assert_allclose(found["A"].iteration_s, 0.141 + 2 * 0.114)
    assert found.congested_frac == pytest.approx(0.228 / 0.369, abs=0.02)


def test_overlap_neither_grows_nor_shrinks() -> None:
    # B begins 50 ms into A's burst: for each ms of overlap both lose half a ms, so each iteration lasts 64 ms longer.
    found = simulate([vgg_job("A"), vgg_job("B", start_s=0.05)], capacity_bps=CAPACITY_BPS, n_iterations=200)
    for job in "AB":
        np.testing.assert_allclose(found[job].iteration_s, 0.255 + 0.064)


@pytest.mark.parametrize("start_s", [0.0, 0.03, 0.2])
def test_events_agree_with_small_steps_of_time(start_s: float) -> None:
    jobs = [(0.0, 0.10, 0.05, 1.0), (start_s, 0.07, 0.03, 0.8)]
    simulated = [
        SimulatedJob(name=str(i), steps=(Step(down_s=down, volume_bits=volume, max_bps=rate),), start_s=start)
        for i, (start, down, volume, rate) in enumerate(jobs)
    ]
    found = simulate(simulated, capacity_bps=1.0, n_iterations=8)
    ends = stepped_ends(jobs, 1.0, step=1e-4, n_iterations=9)
    for i, run in enumerate(found.runs):
        np.testing.assert_allclose(run.iteration_s, np.diff(ends[i][:9]), atol=2e-3)


def test_job_that_crosses_no_shared_link_is_not_slowed() -> None:
    jobs = [
        replace(vgg_job("A"), links=("x",)),
        replace(vgg_job("B"), links=("y",)),
        replace(vgg_job("C"), links=("x", "y")),
    ]
    found = simulate(jobs, capacity_bps={"x": 4 * CAPACITY_BPS, "y": CAPACITY_BPS}, n_iterations=20)
    np.testing.assert_allclose(found["A"].iteration_s, 0.255)
    np.testing.assert_allclose(found["B"].iteration_s, 0.369)


def test_jitter_has_the_asked_spread_and_no_mean() -> None:
    run = simulate([vgg_job(jitter_frac=0.04)], capacity_bps=CAPACITY_BPS, n_iterations=20_000)["A"]
    assert run.iteration_s.std() == pytest.approx(0.04 * 0.255, rel=0.03)
    assert run.mean_s == pytest.approx(0.255, rel=2e-3)


def test_pacer_makes_an_early_job_wait_for_its_slot() -> None:
    job = vgg_job(pace=Pace(period_s=0.266, shift_s=0.1))
    run = simulate([job], capacity_bps=CAPACITY_BPS, n_iterations=40)["A"]
    np.testing.assert_allclose(run.iteration_s, 0.266)
    assert run.n_adjustments == 0


def test_job_slower_than_its_slot_gives_up_slots_lets_go_and_says_so() -> None:
    job = vgg_job(pace=Pace(period_s=0.24, tolerance_frac=0.1))
    run = simulate([job], capacity_bps=CAPACITY_BPS, n_iterations=100)["A"]
    # 15 ms late each time: one in the tolerance of 24 ms, the next must take another slot. Five of them are borne.
    assert set(np.round(run.iteration_s[:11], 6)) == {0.255, 0.465}
    assert (run.n_adjustments, run.n_let_go) == (5, 1)
    np.testing.assert_allclose(run.iteration_s[11:], 0.255)
    # The first iteration, which begins to send at once, is not kept, but what happens in it counts.
    assert run.span_s == pytest.approx(0.114 + run.iteration_s.sum())
    assert run.adjustments_per_min == pytest.approx(60 * 5 / run.span_s)


def test_a_fast_job_misses_as_many_slots_a_minute_beside_a_slow_one_on_another_link_as_alone() -> None:
    def step(down_s: float, up_s: float) -> tuple[Step, ...]:
        return (Step(down_s=down_s, volume_bits=up_s * CAPACITY_BPS, max_bps=CAPACITY_BPS),)

    fast = SimulatedJob(name="fast", steps=step(0.1, 0.04), jitter_frac=0.05, pace=Pace(period_s=0.145), links=("x",))
    # Of 0.27 s an iteration: in its time the other one ends nearly two, of which one is kept.
    slow = SimulatedJob(name="slow", steps=step(0.2, 0.07), start_s=1.0, links=("y",))
    capacities = {"x": CAPACITY_BPS, "y": CAPACITY_BPS}
    alone = simulate([fast], capacity_bps=capacities, n_iterations=10_000)
    beside = simulate([fast, slow], capacity_bps=capacities, n_iterations=10_000)
    assert alone["fast"].n_adjustments > 100
    assert beside["fast"].adjustments_per_min == pytest.approx(alone["fast"].adjustments_per_min, rel=0.1)
    assert (beside["fast"].span_s, beside["slow"].span_s) == pytest.approx((beside.span_s, beside.span_s - 1.0))
    assert beside["fast"].span_s > 1.5 * beside["fast"].iteration_s.sum()
    assert joined([beside, beside])["slow"].span_s == pytest.approx(2 * (beside.span_s - 1.0))


def test_same_seed_same_run() -> None:
    def run(seed: int) -> NDArray[np.float64]:
        jobs = [vgg_job("A", jitter_frac=0.05), vgg_job("B", jitter_frac=0.05)]
        return simulate(jobs, capacity_bps=CAPACITY_BPS, rng=np.random.default_rng(seed))["B"].iteration_s

    np.testing.assert_array_equal(run(7), run(7))
    assert not np.array_equal(run(7), run(8))


def test_profile_becomes_steps_with_its_volumes() -> None:
    profile = TrafficProfile.from_phases(period_s=0.2, phases=[(0.01, 0.05, 1e9), (0.1, 0.02, 2e9)])
    first, second = SimulatedJob.from_profile(profile, name="A").steps
    assert (first.down_s, first.volume_bits, first.max_bps) == pytest.approx((0.2 - 0.12 + 0.01, 5e7, 1e9))
    assert (second.down_s, second.volume_bits, second.max_bps) == pytest.approx((0.04, 4e7, 2e9))


def test_several_steps_an_iteration_are_one_iteration() -> None:
    job = SimulatedJob.from_profile(
        TrafficProfile.from_phases(period_s=0.2, phases=[(0.0, 0.05, 1e9), (0.1, 0.02, 2e9)]), name="A"
    )
    run = simulate([job], capacity_bps=4e9, n_iterations=10)["A"]
    np.testing.assert_allclose(run.iteration_s, 0.2)


def test_bad_jobs_are_refused() -> None:
    with pytest.raises(UsageError, match="each with a name of its own"):
        simulate([vgg_job("A"), vgg_job("A")], capacity_bps=1e9)
    with pytest.raises(UsageError, match=r"crosses \['nowhere'\]"):
        simulate([replace(vgg_job(), links=("nowhere",))], capacity_bps={"x": 1e9})
    with pytest.raises(UsageError, match="capacity of link is 0"):
        simulate([vgg_job()], capacity_bps=0)
    with pytest.raises(UsageError, match="ended none while others ran theirs; let jobs start at about one time"):
        simulate([vgg_job("A", start_s=1e12), vgg_job("B")], capacity_bps=1e9)
    with pytest.raises(UsageError, match="no job 'C'; there are A"):
        simulate([vgg_job()], capacity_bps=1e9, n_iterations=1)["C"]
    with pytest.raises(UsageError, match="seed -1"):
        simulate([vgg_job()], capacity_bps=1e9, rng=-1)
    with pytest.raises(UsageError, match="link x carries nan"):
        replace(vgg_job(), links={"x": float("nan")})
    with pytest.raises(UsageError, match="must not be negative"):
        Step(down_s=float("nan"), volume_bits=1.0, max_bps=1.0)
    with pytest.raises(UsageError, match="status idle"):
        SimulatedJob.from_profile(TrafficProfile(status="idle", fold_bps=np.zeros(0)), name="A")
    slow = replace(vgg_job("slow"), steps=(Step(down_s=1e7, volume_bits=1.0, max_bps=1.0),))
    with pytest.raises(UsageError, match="such different periods apart"):
        simulate([slow, vgg_job("fast")], capacity_bps=CAPACITY_BPS, n_iterations=10)


def test_jobs_of_far_apart_periods_are_simulated_in_bounded_time_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipeline.simulation.workload.MAX_ITERATIONS", 40_000)
    slow = replace(vgg_job("slow"), steps=(Step(down_s=1e3, volume_bits=1.0, max_bps=1.0),))
    found = simulate([slow, vgg_job("fast")], capacity_bps=CAPACITY_BPS)
    assert found["slow"].iteration_s.size == 40_000 // (1 + int((1e3 + 1) / 0.255))
    assert any("job slow: only" in warning for warning in found.warnings)


def test_hundreds_of_jobs_on_one_link_each_get_their_share() -> None:
    jobs = [vgg_job(f"j{i}", start_s=0.001 * i) for i in range(300)]
    found = simulate(jobs, capacity_bps=CAPACITY_BPS, n_iterations=20)
    # The link is always full: in each iteration it carries every job's volume once.
    assert np.mean([run.mean_s for run in found.runs]) == pytest.approx(300 * 0.114, rel=0.02)
    assert found.full_frac["link"] > 0.95


def test_package_offers_the_function() -> None:
    run = pipeline.simulate([vgg_job()], capacity_bps=CAPACITY_BPS, n_iterations=5)
    assert isinstance(run["A"], JobRun)


def test_thousands_of_iterations_take_a_fraction_of_a_second() -> None:
    jobs = [vgg_job("A", jitter_frac=0.05), vgg_job("B", jitter_frac=0.05)]
    simulate(jobs, capacity_bps=CAPACITY_BPS, n_iterations=10)
    begun_s = time.process_time()
    simulate(jobs, capacity_bps=CAPACITY_BPS, n_iterations=5_000)
    assert time.process_time() - begun_s < 0.3


# The rig: gloo jobs of 141 ms compute and 5.2 MB of all-reduce (B of unequal: 90 ms, 3.0 MB) over 400 Mbit/s


LARGE = (0.141, 5.27e6)
SMALL = (0.090, 3.04e6)
"""Compute time in s, and bytes on the wire in an all-reduce."""


def rig_jobs(second: tuple[float, float], *, pace_s: float | None = None) -> list[SimulatedJob]:
    """Two of the rig's jobs, with the rate and the jitter of its solo run."""
    solo_s = truth_of(shared("rig/solo.truth.json"))["A"] / 1e9
    max_bps = LARGE[1] * 8 / float(np.median(solo_s[:, 2] - solo_s[:, 1]))
    iteration_s = np.diff(solo_s[:, 0])
    stray_s = float(iteration_s.mean() - np.median(iteration_s))
    return [
        SimulatedJob(
            name=name,
            steps=(Step(down_s=compute_s + stray_s, volume_bits=wire_bytes * 8, max_bps=max_bps),),
            start_s=shift_s,
            jitter_frac=float(iteration_s.std() / iteration_s.mean()),
            pace=None if pace_s is None else Pace(period_s=pace_s, shift_s=shift_s),
        )
        for name, (compute_s, wire_bytes), shift_s in (("A", LARGE, 0.0), ("B", second, 0.133))
    ]


RIG_RUNS = {"free": (LARGE, None), "paced": (LARGE, 0.266), "unequal": (SMALL, None)}
N_RUNS, N_ITERATIONS = 40, 100
"""As long as the rig's runs were, and as many as it takes to know what to expect of one."""


def rig_iterations(name: str, *jobs: str) -> NDArray[np.float64]:
    truth = truth_of(shared(f"rig/{name}.truth.json"))
    return np.concatenate([np.diff(truth[job][:, 0]) / 1e9 for job in jobs])


def simulated_iterations(name: str, *jobs: str) -> NDArray[np.float64]:
    second, pace_s = RIG_RUNS[name]
    runs = [
        simulate(rig_jobs(second, pace_s=pace_s), capacity_bps=CAPACITY_BPS, n_iterations=N_ITERATIONS, rng=seed)
        for seed in range(N_RUNS)
    ]
    return np.concatenate([run[job].iteration_s for run in runs for job in jobs])


@pytest.mark.parametrize(("name", "jobs"), [("free", "AB"), ("paced", "AB"), ("unequal", "A"), ("unequal", "B")])
def test_simulator_comes_within_seven_per_cent_of_every_figure_of_the_rig(name: str, jobs: str) -> None:
    real_s, simulated_s = rig_iterations(name, *jobs), simulated_iterations(name, *jobs)
    for figure in (lambda x: np.percentile(x, 50), lambda x: np.percentile(x, 90), np.mean):
        assert figure(simulated_s) == pytest.approx(figure(real_s), rel=0.07)


def test_simulator_predicts_the_gain_that_pacing_had_on_the_rig() -> None:
    real = np.percentile(rig_iterations("free", *"AB"), 90) / np.percentile(rig_iterations("paced", *"AB"), 90)
    found = np.percentile(simulated_iterations("free", *"AB"), 90)
    assert found / np.percentile(simulated_iterations("paced", *"AB"), 90) == pytest.approx(real, rel=0.07)


def test_vgg_profile_simulates_to_its_own_period() -> None:
    run = simulate([SimulatedJob.from_profile(vgg(), name="A")], capacity_bps=CAPACITY_BPS)["A"]
    assert (run.p50_s, run.p90_s) == pytest.approx((0.255, 0.255))
