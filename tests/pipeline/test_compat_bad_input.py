"""What makes no sense is refused by name; what is merely extreme gets a bounded answer in bounded time."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline.compat import solve
from profiler.errors import UsageError
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import CAPACITY_BPS, measured, vgg

if TYPE_CHECKING:
    from pipeline.compat import Compatibility

SECONDS = 60.0
"""Far above what the slowest of these takes alone, 5 s: the machine may be busy."""


def other(**known: Any) -> TrafficProfile:
    return TrafficProfile(status="aperiodic", fold_bps=np.zeros(0), **known)


def check_bounded(answer: Compatibility) -> None:
    """Whatever the answer is worth, it says so."""
    assert answer.score_best is not None
    assert answer.gap is not None
    assert answer.bound == pytest.approx(answer.score_best + answer.gap)
    assert 0 <= answer.gap < math.inf
    assert answer.elapsed_s is not None
    assert answer.elapsed_s < SECONDS
    assert answer.reason


@pytest.mark.parametrize(
    ("phases", "problem"),
    [
        ([(0.0, 0.2, 1e8)], "longer than its period 0.1 s"),
        ([(0.0, 0.05, 1e8), (0.02, 0.05, 1e8)], "0.02 s overlap"),
        ([(0.0, 0.05, math.nan)], "needs the rate of every Up phase"),
        ([(0.0, 0.05, -1.0)], "must be positive, start and rate not negative"),
        ([(0.0, -0.05, 1e8)], "width must be positive"),
        ([(0.15, 0.05, 1e8)], "starts after its period"),
        ([], "needs a period and its phases"),
    ],
)
def test_phases_that_make_no_sense_are_refused(phases: list[tuple[float, float, float]], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        solve({"A": TrafficProfile.from_phases(period_s=0.1, phases=phases), "B": vgg()}, capacity_bps=CAPACITY_BPS)


def test_measured_profile_without_rates_says_which_phase_and_what_to_do() -> None:
    profile = measured(vgg(), error_s=1e-4)
    bare = replace(profile, phases=tuple(replace(p, rate_bps=math.nan, peak_bps=None) for p in profile.phases))
    with pytest.raises(UsageError, match=r"job A: phase at 0\.0 s: its rate is not known \(rate_bps null\); profile"):
        solve({"A": bare, "B": vgg()}, capacity_bps=CAPACITY_BPS)


@pytest.mark.parametrize("known", [{"mean_bps": math.nan}, {"mean_bps": -1.0}, {"mean_bps": 1.0, "peak_bps": math.inf}])
def test_rates_of_other_traffic_must_be_rates(known: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=r"job other: (mean|peak)_bps .*: must be finite and not negative"):
        solve({"A": vgg(), "other": other(**known)}, capacity_bps=CAPACITY_BPS)


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"budget_s": 0.0}, "budget_s 0.0: must be positive"),
        ({"budget_s": math.nan}, "budget_s nan: must be positive"),
        ({"jitter_frac": -0.1}, "jitter_frac -0.1: must lie in 0 to 0.5"),
        ({"tolerance_frac": 2.0}, "tolerance_frac 2.0: must lie in 0 to 1"),
        ({"horizon_s": math.inf}, "horizon_s inf: must lie in"),
    ],
)
def test_terms_out_of_range_are_refused(terms: dict[str, float], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        solve({"A": vgg(), "B": vgg()}, capacity_bps=CAPACITY_BPS, **terms)  # type: ignore[arg-type]


@pytest.mark.parametrize("ratio", [10**6, 10**12])
def test_periods_far_apart_are_answered_exactly(ratio: int) -> None:
    half = [
        TrafficProfile.from_phases(period_s=period_s, phases=[(0.0, period_s / 2, CAPACITY_BPS)])
        for period_s in (1e-6, 1e-6 * ratio)
    ]
    answer = solve({"A": half[0], "B": half[1]}, capacity_bps=CAPACITY_BPS)
    check_bounded(answer)
    assert answer.score_best == answer.score_random == pytest.approx(0.75)
    assert answer.verdict == "futile"
    assert "cannot be held to common slots" in answer.reason


@pytest.mark.parametrize("kind", ["equal", "measured", "strange"])
def test_hundreds_of_jobs_get_a_bounded_answer(kind: str) -> None:
    rng = np.random.default_rng(7)
    jobs = {}
    for i in range(150):
        job = vgg(rate_bps=6e6 + 1e4 * i)
        if kind == "strange":
            job = vgg(period_s=round(rng.uniform(0.1, 0.4), 6), up_s=0.05, rate_bps=6e6)
        jobs[f"job {i}"] = measured(job, error_s=1e-4, jitter_frac=0.03) if kind == "measured" else job
    began_s = time.monotonic()
    answer = solve(jobs, capacity_bps=CAPACITY_BPS, budget_s=1.0)
    assert time.monotonic() - began_s < SECONDS
    check_bounded(answer)
    assert len(answer.shifts) == 150


def test_end_of_a_tiny_budget_leaves_the_best_so_far_with_its_gap() -> None:
    answer = solve({str(i): vgg(up_s=0.04 + 0.001 * i) for i in range(20)}, capacity_bps=CAPACITY_BPS, budget_s=1e-6)
    check_bounded(answer)
    assert answer.score_random is not None
    assert answer.score_best is not None
    assert answer.score_best >= answer.score_random


def test_ten_thousand_phases_a_job_are_too_many_to_try_and_it_is_said() -> None:
    busy = TrafficProfile.from_phases(period_s=10.0, phases=[(i * 1e-3, 5e-4, 1e8 * (1 + i % 3)) for i in range(10**4)])
    with pytest.raises(UsageError, match="give profiles of fewer phases"):
        solve({"A": busy, "B": busy}, capacity_bps=CAPACITY_BPS)


def test_job_that_never_sends_is_in_nobodys_way() -> None:
    silent = TrafficProfile.from_phases(period_s=0.1, phases=[(0.0, 0.05, 0.0)])
    answer = solve({"A": vgg(), "B": vgg(), "silent": silent}, capacity_bps=CAPACITY_BPS)
    assert (answer.verdict, answer.score_best, answer.warnings) == ("compatible", 1, ())


def test_job_that_never_sends_may_be_the_one_that_slots_stretch_most() -> None:
    silent = TrafficProfile.from_phases(period_s=0.19, phases=[(0.0, 0.05, 0.0)])
    jobs = {name: measured(vgg(), error_s=2e-4, jitter_frac=0.04) for name in ("A", "B")}
    answer = solve({**jobs, "silent": silent}, capacity_bps=CAPACITY_BPS)
    assert answer.verdict == "paced"
    assert "slots stretch job silent by 40%" in answer.reason


def test_a_rate_that_no_port_has_is_refused() -> None:
    with pytest.raises(UsageError, match="no port sends so fast"):
        TrafficProfile.from_phases(period_s=0.1, phases=[(0.0, 0.05, 1e300)])
