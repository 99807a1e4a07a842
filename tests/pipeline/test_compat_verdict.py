"""Verdicts: a plan is advised only if it makes no job slower, and reasons tell what was measured from what was not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pipeline.compat import Compatibility, solve
from pipeline.simulation import SimulatedJob, simulate
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import CAPACITY_BPS, measured, vgg

N_RUNS = 40
N_ITERATIONS = 200
SEEN_NS = 1_800_000_000_000_000_000


def mean_s(profiles: dict[str, TrafficProfile], *, plan: Compatibility | None) -> dict[str, float]:
    """Mean iteration of each job with the shifts and slots of an answer, or from many random phases."""
    rng = np.random.default_rng(7)
    jobs = [SimulatedJob.from_profile(profile, name=name) for name, profile in profiles.items()]
    total = dict.fromkeys(profiles, 0.0)
    for _ in range(N_RUNS):
        begun = [replace(job, start_s=float(rng.uniform(0, job.natural_s))) for job in jobs]
        told = simulate(
            jobs if plan else begun,
            capacity_bps=CAPACITY_BPS,
            plan=plan.shifts if plan else None,
            n_iterations=N_ITERATIONS,
            rng=rng,
        )
        for run in told.runs:
            total[run.job] += run.mean_s / N_RUNS
    return total


# A shift that lasts is not yet a shift that helps


def test_shift_whose_excess_lengthens_iterations_is_no_advice() -> None:
    # A, B and C leave no shifts at which none collides: the score rises, and at the 90th percentile all wait longer.
    jobs = {
        "A": vgg(period_s=0.4, up_s=0.207, rate_bps=2e8),
        "B": vgg(period_s=0.4, up_s=0.198, rate_bps=3e8),
        "C": vgg(period_s=0.4, up_s=0.231, rate_bps=2e8),
    }
    answer = solve(jobs, capacity_bps=CAPACITY_BPS)
    assert answer.score_best == pytest.approx(0.979, abs=1e-3)
    assert answer.score_random == pytest.approx(0.828, abs=1e-3)
    assert answer.hold_s == math.inf
    assert answer.verdict == "futile"
    assert "what still collides is at the cost of one job" in answer.reason


def test_shift_that_leaves_some_collisions_is_advised_if_it_makes_every_job_faster_but_not_for_good() -> None:
    jobs = {"A": vgg(), "B": vgg(period_s=0.17, up_s=0.06)}
    answer = solve(jobs, capacity_bps=CAPACITY_BPS)
    unmanaged, advised = mean_s(jobs, plan=None), mean_s(jobs, plan=answer)
    assert answer.verdict == "compatible"
    assert all(advised[job] < unmanaged[job] for job in jobs)
    assert "for good" not in answer.reason


def test_only_jobs_that_never_collide_stay_so_for_good() -> None:
    fits = solve({"A": vgg(), "B": vgg()}, capacity_bps=CAPACITY_BPS)
    assert "and stay so for good" in fits.reason
    # Both Up for 4 ms: they push each other 4 ms further, once, and are faster than at random phases all the same.
    tight = solve({"A": vgg(up_s=0.128), "B": vgg(up_s=0.126)}, capacity_bps=CAPACITY_BPS * 0.997)
    assert (tight.verdict, tight.hold_s) == ("compatible", math.inf)
    assert tight.score_best is not None
    assert tight.score_best < 1
    assert tight.predicted["speedup_p90"] > 1
    assert "for good" not in tight.reason
    assert "what still collides moves them from there" in tight.reason


# Too much demand


@pytest.mark.parametrize(("n_jobs", "period_ms"), [(7, 333), (9, 700), (11, 500)])
def test_jobs_that_fill_the_link_to_the_last_bit_are_not_overloaded_by_rounding(n_jobs: int, period_ms: int) -> None:
    cuts_ns = [round(period_ms * 1e6 * i / n_jobs) for i in range(n_jobs + 1)]
    jobs = {
        f"job{i:02}": vgg(period_s=period_ms / 1e3, up_s=(cuts_ns[i + 1] - cuts_ns[i]) / 1e9) for i in range(n_jobs)
    }
    answer = solve(jobs, capacity_bps=CAPACITY_BPS)
    assert answer.verdict == "compatible"
    assert answer.score_best == pytest.approx(1, abs=1e-9)


def test_peaks_that_fill_the_link_to_the_last_bit_fit() -> None:
    assert 0.1 + 0.2 > 0.3
    assert solve({"A": vgg(rate_bps=0.1), "B": vgg(rate_bps=0.2)}, capacity_bps=0.3).verdict == "uncontended"


def test_overloaded_jobs_are_told_what_slots_would_bring_them() -> None:
    # 258 ms of demand every 255 ms: too much, but it fits slots of 260.1 ms, which is what the jobs get at best anyway.
    answer = solve({name: vgg(up_s=0.129) for name in "AB"}, capacity_bps=CAPACITY_BPS)
    assert (answer.verdict, answer.score_paced) == ("overloaded", 1)
    assert "slots of 260.1 ms would slow every job down to what the link carries (score 1.000)" in answer.reason
    assert answer.predicted["mean_paced_s"] == pytest.approx(0.2601)
    assert answer.predicted["speedup_p90"] > 1.2
    assert all(shift.pace_period_s is None for shift in answer.shifts)


def test_far_too_much_demand_is_told_of_no_slots() -> None:
    answer = solve({name: vgg(up_s=0.18) for name in "AB"}, capacity_bps=CAPACITY_BPS)
    assert answer.verdict == "overloaded"
    assert "slots" not in answer.reason


def test_strangers_that_ask_for_too_much_stay_futile_and_are_told_what_slots_would_bring() -> None:
    periods_s = {"A": 0.25513, "B": 0.2614, "C": 0.1902}
    jobs = {name: vgg(period_s=period_s, up_s=0.085) for name, period_s in periods_s.items()}
    answer = solve(jobs, capacity_bps=CAPACITY_BPS)
    assert answer.verdict == "futile"
    assert "slots of 266.6 ms would slow every job down to what the link carries" in answer.reason


def test_jobs_that_never_send_leave_nobody_to_be_moved_apart() -> None:
    silent = vgg(rate_bps=0.0)
    # Half of the time all by itself too fast for the link.
    other = TrafficProfile(status="constant", mean_bps=3e8, peak_bps=5e8, levels_bps=(1e8, 5e8), fold_bps=np.zeros(0))
    answer = solve({"A": silent, "B": silent, "other": other}, capacity_bps=CAPACITY_BPS)
    assert (answer.verdict, answer.score_best) == ("futile", 0.875)
    assert "no two periodic jobs to move apart" in answer.reason


# Pacing


def test_slots_that_make_one_job_much_slower_are_refused_with_its_figures() -> None:
    periods_and_ups_s = {"A": (0.255, 0.09), "B": (0.245, 0.09), "C": (0.19, 0.03)}
    jobs = {name: vgg(period_s=period_s, up_s=up_s) for name, (period_s, up_s) in periods_and_ups_s.items()}
    unmanaged_s = mean_s(jobs, plan=None)["C"]
    answer = solve(jobs, capacity_bps=CAPACITY_BPS)
    slot_s = 0.255 * 1.02
    assert unmanaged_s < 0.9 * slot_s
    assert answer.predicted["speedup_p90"] > 1.03
    assert answer.verdict == "futile"
    assert "slots stretch job C by 37%, and its iterations would go from 2" in answer.reason
    assert "to 260.1 ms in the mean" in answer.reason


def test_jobs_that_interleave_already_are_not_told_to_slow_down() -> None:
    first = measured(vgg(), error_s=1e-4, jitter_frac=0.01, anchor_ns=SEEN_NS)
    second = replace(first, anchor_ns=SEEN_NS + 127_500_000)
    answer = solve({"A": first, "B": second}, capacity_bps=CAPACITY_BPS)
    assert answer.score_now == 1
    assert answer.verdict == "paced"
    assert "keep what holds them there" in answer.reason
    assert [(shift.pace_period_s, shift.stretch_frac) for shift in answer.shifts] == [(0.255, 0)] * 2
    assert answer.shifts_s["B"] == pytest.approx(0.1275, abs=1e-6)
    assert answer.explain().after.what == "at the best shifts"
    # Seen to collide, the same jobs need slots with room to recover.
    collide = solve({"A": first, "B": replace(second, anchor_ns=SEEN_NS + 10_000_000)}, capacity_bps=CAPACITY_BPS)
    assert all((shift.pace_period_s or 0.0) > 0.259 for shift in collide.shifts)


@pytest.mark.parametrize(("jitter_frac", "is_taken"), [(None, True), (0.06, False)])
def test_jitter_that_nobody_measured_is_not_told_as_seen(jitter_frac: float | None, *, is_taken: bool) -> None:
    jobs = {"A": measured(vgg(), error_s=1e-3, jitter_frac=jitter_frac), "B": measured(vgg(), error_s=1e-3)}
    reason = solve({"A": jobs["A"], "B": replace(jobs["B"], jitter_frac=0.06)}, capacity_bps=CAPACITY_BPS).reason
    assert "wander by 22 ms" in reason
    assert ("(the jitter of job A is taken as 6%, not measured)" in reason) == is_taken
