"""What CASSINI published of its jobs, checked with our own solver, grid and simulator (NSDI 2024, sections 2 to 5)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pipeline.compat import solve
from pipeline.compat.demand import demand_of
from pipeline.compat.kernel import Plateau, shift_curve
from pipeline.compat.levels import Excess
from pipeline.simulation import Pace, SimulatedJob, simulate
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import CAPACITY_BPS, vgg

MS = 1_000_000
N_RUNS = 12
N_ITERATIONS = 200
JITTER_FRAC = 0.02
SLOT_S = 0.255 * 1.04
STRANGERS_S = {"A": 0.25513, "B": 0.2614, "C": 0.1902}
STRANGERS_UP_S = 0.085


def strangers() -> dict[str, TrafficProfile]:
    """Three jobs whose periods have next to nothing in common."""
    return {name: vgg(period_s=period_s, up_s=STRANGERS_UP_S) for name, period_s in STRANGERS_S.items()}


def score_by_stepping(shifts_s: dict[str, float], *, horizon_s: float, step_ns: int = 10_000) -> float:
    """The strangers' score over a horizon, looked at every 10 µs: all their edges fall on such a step."""
    t_ns = np.arange(0, round(horizon_s * 1e9), step_ns, dtype=np.int64)
    n_up = np.zeros(t_ns.size, dtype=np.int64)
    for name, period_s in STRANGERS_S.items():
        into_ns = (t_ns - round(shifts_s[name] * 1e9) + step_ns // 2) % round(period_s * 1e9)
        n_up += into_ns < round(STRANGERS_UP_S * 1e9)
    return 1 - float(np.maximum(0, n_up - 1).mean())


def p90_s(*, shift_s: float | None) -> float:
    """90th percentile of two VGG19-like jobs' iterations: held to slots a shift apart, or at chance and free."""
    rng = np.random.default_rng(1)
    job = SimulatedJob.from_profile(replace(vgg(), jitter_frac=JITTER_FRAC), name="A")
    taken: list[float] = []
    for _ in range(N_RUNS):
        apart_s = float(rng.uniform(0, job.natural_s)) if shift_s is None else shift_s
        jobs = [
            replace(job, name=name, start_s=start_s, pace=None if shift_s is None else slots(start_s))
            for name, start_s in (("A", 0.0), ("B", apart_s))
        ]
        told = simulate(jobs, capacity_bps=CAPACITY_BPS, n_iterations=N_ITERATIONS, rng=rng)
        taken += [duration_s for run in told.runs for duration_s in run.iteration_s.tolist()]
    return float(np.percentile(taken, 90))


def slots(shift_s: float) -> Pace:
    """Slots 4 % longer than the job, for it to catch up in."""
    return Pace(period_s=SLOT_S, shift_s=shift_s)


def test_jobs_of_40_and_60_ms_have_a_circle_of_120_ms_and_fit_10_ms_apart() -> None:
    jobs = {"40": vgg(period_s=0.04, up_s=0.01), "60": vgg(period_s=0.06, up_s=0.01)}
    short, long = (demand_of(profile) for profile in jobs.values())
    assert math.lcm(short.period_ns, long.period_ns) == 120 * MS
    curve = shift_curve(short, long, excess=Excess.over(CAPACITY_BPS))
    assert curve.at(10 * MS) == 0
    assert curve.at(0) == pytest.approx(CAPACITY_BPS * 10 / 120)
    answer = solve(jobs, capacity_bps=CAPACITY_BPS)
    assert (answer.score_best, answer.score_cassini) == (1, 1)
    assert answer.shifts_s["60"] == pytest.approx(0.010)


def test_the_down_phase_of_vgg16_covers_an_arc_of_200_degrees() -> None:
    down_first = TrafficProfile.from_phases(period_s=0.255, phases=[(0.141, 0.114, CAPACITY_BPS)])
    demand = demand_of(down_first)
    angles_deg = np.arange(0, 360, 5)
    rate_bps = demand.at((angles_deg / 360 * demand.period_ns).astype(np.int64))
    assert 5 * int(np.count_nonzero(rate_bps == 0)) == 200
    assert set(angles_deg[rate_bps == 0]) == set(range(0, 200, 5))


def test_two_vgg_jobs_fit_at_any_shift_of_114_to_141_ms_and_are_put_in_the_middle() -> None:
    demand = demand_of(vgg())
    curve = shift_curve(demand, demand, excess=Excess.over(CAPACITY_BPS))
    assert curve.plateaus() == [Plateau(start_ns=114 * MS, width_ns=27 * MS)]
    assert curve.best_shift_ns() == 127.5 * MS
    assert solve({"A": vgg(), "B": vgg()}, capacity_bps=CAPACITY_BPS).shifts_s == {"A": 0.0, "B": 0.1275}


def test_two_vgg19_jobs_120_ms_apart_gain_a_quarter_and_more_at_the_90th_percentile() -> None:
    # Published: 1.26. Ours says 1.32 (0.350 to 0.265 s): its jobs have all of their volume in one Up.
    speedup = p90_s(shift_s=None) / p90_s(shift_s=0.120)
    assert 1.26 <= speedup <= 1.40


@pytest.mark.parametrize("shift_s", [0.120, 0.1275])
def test_held_jobs_are_adjusted_less_than_twice_a_minute(shift_s: float) -> None:
    job = SimulatedJob.from_profile(replace(vgg(), jitter_frac=JITTER_FRAC), name="A", pace=slots(0.0))
    other = replace(job, name="B", start_s=shift_s, pace=slots(shift_s))
    told = simulate([job, other], capacity_bps=CAPACITY_BPS, n_iterations=4000)
    assert max(run.adjustments_per_min for run in told.runs) < 2


@pytest.mark.parametrize(("horizon_s", "published"), [(1.0, 0.779), (10.0, 0.657)])
def test_shifts_of_three_strangers_are_worth_what_was_published_over_a_horizon(
    horizon_s: float, published: float
) -> None:
    answer = solve(strangers(), capacity_bps=CAPACITY_BPS, horizon_s=horizon_s)
    assert answer.verdict == "futile"
    assert answer.score_best == pytest.approx(published, abs=0.0015)
    assert answer.score_best == pytest.approx(score_by_stepping(answer.shifts_s, horizon_s=horizon_s), abs=1e-4)


def test_for_good_three_strangers_score_by_chance_and_no_shift_is_advised() -> None:
    answer = solve(strangers(), capacity_bps=CAPACITY_BPS)
    assert answer.verdict == "futile"
    # Published: .643; independent phases of Ups of 85 ms give .646.
    assert answer.score_random == pytest.approx(0.643, abs=0.003)
    assert answer.score_best == pytest.approx(answer.score_random, abs=1e-3)
    assert answer.score_random == pytest.approx(score_by_stepping(dict.fromkeys("ABC", 0.0), horizon_s=60.0), abs=5e-3)
