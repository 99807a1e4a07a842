"""Jitter and the weight of older flows, told from runs that were simulated with known ones, and from the rig's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline.simulation import Pace, SimulatedJob, Step, calibrate, read_log, simulate
from profiler.errors import BadInput, UsageError
from tests.data import SAMPLE_DATA, truth_of
from tests.pipeline.jobs import CAPACITY_BPS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

JITTER_FRAC = 0.04
LARGE, SMALL = (0.141, 0.114), (0.090, 0.066)


def job(name: str, times_s: tuple[float, float] = LARGE, *, start_s: float = 0.0) -> SimulatedJob:
    down_s, up_s = times_s
    step = Step(down_s=down_s, volume_bits=up_s * CAPACITY_BPS, max_bps=CAPACITY_BPS)
    return SimulatedJob(name=name, steps=(step,), start_s=start_s)


def logged(
    jobs: Sequence[SimulatedJob], *, older_weight: float = 1.0, n_iterations: int = 300
) -> dict[str, NDArray[np.float64]]:
    """What jobs with jitter would log."""
    shaky = [replace(one, jitter_frac=JITTER_FRAC) for one in jobs]
    found = simulate(shaky, capacity_bps=CAPACITY_BPS, older_weight=older_weight, n_iterations=n_iterations, rng=3)
    return {run.job: np.column_stack((run.bursts_s[:-1, 1], run.bursts_s[1:])) for run in found.runs}


@pytest.mark.parametrize("second", [LARGE, SMALL])
@pytest.mark.parametrize("older_weight", [0.8, 0.9, 1.0, 1.1, 1.3])
def test_weight_and_jitter_of_a_simulated_run_are_found_again(older_weight: float, second: tuple[float, float]) -> None:
    jobs = [job("A"), job("B", second, start_s=0.05)]
    found = calibrate(jobs, log=logged(jobs, older_weight=older_weight), capacity_bps=CAPACITY_BPS)
    assert found.older_weight == pytest.approx(older_weight, rel=0.01)
    for one in found.habits:
        assert one.jitter_frac == pytest.approx(JITTER_FRAC, rel=0.2)
        assert one.stray_s == pytest.approx(0.0, abs=0.005)


def test_calibrated_jobs_have_the_jitter_and_the_delay_that_were_logged() -> None:
    slower = [job("A", (0.150, 0.114)), job("B", (0.150, 0.114), start_s=0.05)]
    believed = [job("A"), job("B")]
    found = calibrate(believed, log=logged(slower), capacity_bps=CAPACITY_BPS)
    for one in found.apply(believed):
        assert one.natural_s == pytest.approx(0.264, abs=0.003)
        assert one.jitter_frac == pytest.approx(JITTER_FRAC, rel=0.2)


@pytest.mark.parametrize("believed_s", [0.46, 0.32, 0.213])
def test_jitter_is_that_of_the_iteration_as_it_was_logged_however_short_it_was_believed(believed_s: float) -> None:
    real = [job("A", (0.3, 0.02)), job("B", (0.3, 0.02), start_s=0.15)]
    believed = [job("A", (believed_s - 0.02, 0.02)), job("B", (believed_s - 0.02, 0.02), start_s=0.15)]
    log = logged(real, n_iterations=2000)
    found = calibrate(believed, log=log, capacity_bps=CAPACITY_BPS)
    again = simulate(found.apply(believed), capacity_bps=CAPACITY_BPS, n_iterations=2000, rng=4)
    for one in found.habits:
        assert one.stray_s == pytest.approx(0.32 - believed_s, abs=0.003)
        assert one.jitter_frac == pytest.approx(JITTER_FRAC, rel=0.1)
        assert again[one.job].iteration_s.std() == pytest.approx(np.diff(log[one.job][:, 2]).std(), rel=0.1)


def test_a_weight_is_not_told_from_a_run_in_which_nobody_met() -> None:
    jobs = [job("A", (0.6, 0.01)), job("B", (0.6, 0.01), start_s=0.3)]
    found = calibrate(jobs, log=logged(jobs, n_iterations=40), capacity_bps=CAPACITY_BPS)
    assert found.older_weight == 1
    assert found.fit.low < 0.5 < 2 < found.fit.high
    assert any("cannot be told" in warning for warning in found.warnings)


def test_a_volume_that_is_off_does_not_pass_for_a_weight() -> None:
    jobs = [job("A", (0.141, 0.12)), job("B", (0.141, 0.12), start_s=0.05)]
    found = calibrate([job("A"), job("B")], log=logged(jobs, n_iterations=1000), capacity_bps=CAPACITY_BPS)
    assert found.older_weight == pytest.approx(1.0, abs=0.03)


def test_jobs_that_always_met_are_told_that_their_jitter_is_not_theirs_alone() -> None:
    jobs = [job("A", (0.05, 0.2)), job("B", (0.05, 0.2), start_s=0.05)]
    found = calibrate(jobs, log=logged(jobs), capacity_bps=CAPACITY_BPS)
    assert any("log the job alone" in warning for warning in found.warnings)


def test_same_seed_same_calibration() -> None:
    jobs = [job("A"), job("B", start_s=0.05)]
    log = logged(jobs, older_weight=1.1)
    one, other = (calibrate(jobs, log=log, capacity_bps=CAPACITY_BPS, rng=7).to_dict() for _ in range(2))
    assert one == other


def test_a_job_of_several_phases_is_replayed_with_its_pauses() -> None:
    steps = (
        Step(down_s=0.1, volume_bits=0.05 * CAPACITY_BPS, max_bps=CAPACITY_BPS),
        Step(down_s=0.02, volume_bits=0.06 * CAPACITY_BPS, max_bps=CAPACITY_BPS),
    )
    jobs = [SimulatedJob(name="A", steps=steps), job("B", start_s=0.05)]
    found = calibrate(jobs, log=logged(jobs, older_weight=1.2), capacity_bps=CAPACITY_BPS)
    assert found.older_weight == pytest.approx(1.2, rel=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: {"A": log["A"]}, "the log is of A, the jobs are A, B"),
        (lambda log: {**log, "C": log["A"]}, "the log is of A, B, C"),
        (lambda log: {**log, "A": log["A"][:19]}, "19 iterations; log at least 20"),
        (lambda log: {**log, "A": log["A"][::-1]}, "job A: iteration 2: start is"),
        (lambda log: {**log, "A": np.where(log["A"] > 9, np.nan, log["A"])}, "not finite"),
        (lambda log: {**log, "A": np.where(log["A"] > 9, np.inf, log["A"])}, "not finite"),
        (lambda log: {**log, "A": log["A"][:, :2]}, r"expected \(n_iterations, 3\)"),
    ],
)
def test_a_log_that_cannot_be_is_refused(change: Callable[[Any], Any], message: str) -> None:
    jobs = [job("A"), job("B", start_s=0.05)]
    with pytest.raises((UsageError, BadInput), match=message):
        calibrate(jobs, log=change(logged(jobs, n_iterations=60)), capacity_bps=CAPACITY_BPS)


def test_paced_jobs_are_not_calibrated() -> None:
    jobs = [job("A"), replace(job("B", start_s=0.05), pace=Pace(period_s=0.266))]
    with pytest.raises(UsageError, match="job B is paced"):
        calibrate(jobs, log=logged(jobs, n_iterations=60), capacity_bps=CAPACITY_BPS)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "no job"),
        ({"A": []}, "job A: expected a list"),
        ({"A": "x"}, "job A: expected a list"),
        ({"A": [[1, 2]]}, r"iteration 1: \[1, 2\]; expected"),
        ({"A": [[1, 2, 3.5]]}, "iteration 1"),
        ({"A": [[1, 2, 2**70]]}, "iteration 1"),
        ({"A": [[1, 2, 3], [2, 4, 5]] * 10}, "job A: iteration 2: start is"),
    ],
)
def test_a_log_file_with_anything_else_says_where(document: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_log(document)


def test_log_is_read_as_seconds_after_the_first_start() -> None:
    rows = [[k * 10**9 + 5, k * 10**9 + 100_000_005, k * 10**9 + 900_000_005] for k in range(20)]
    np.testing.assert_allclose(read_log({"A": rows})["A"][:2], [[0, 0.1, 0.9], [1, 1.1, 1.9]])


def test_the_sample_run_is_one_of_those_that_its_calibrated_jobs_may_have() -> None:
    # Jobs of 2 % jitter wander so slowly through each other that the medians of runs of a minute differ by a third.
    alone = {name: truth_of(SAMPLE_DATA / f"alone_{name.lower()}.truth.json")[name] / 1e9 for name in "AB"}
    jobs = [
        job(name, (float(np.median(times[:, 1] - times[:, 0])), float(np.median(times[:, 2] - times[:, 1]))))
        for name, times in alone.items()
    ]
    truth = truth_of(SAMPLE_DATA / "shared.truth.json")
    log = read_log({name: rows.tolist() for name, rows in truth.items()})
    found = calibrate(jobs, log=log, capacity_bps=CAPACITY_BPS)
    assert found.fit.low <= 1 <= found.fit.high
    for one in found.habits:
        alone_s = np.diff(alone[one.job][:, 0])
        assert one.jitter_frac == pytest.approx(alone_s.std() / alone_s.mean(), abs=0.01)
    ready = [replace(one, start_s=float(log[one.name][0, 1])) for one in found.apply(jobs)]
    runs = [simulate(ready, capacity_bps=CAPACITY_BPS, n_iterations=214, rng=seed) for seed in range(60)]
    simulated_s = [np.concatenate([job_run.iteration_s for job_run in run.runs]) for run in runs]
    measured_s = np.concatenate([np.diff(times_s[:, 0]) for times_s in log.values()])
    for figure in (lambda x: np.percentile(x, 50), lambda x: np.percentile(x, 90), np.mean):
        low, high = np.percentile([figure(one) for one in simulated_s], [5, 95])
        assert low <= figure(measured_s) <= high
