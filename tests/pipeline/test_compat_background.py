"""Traffic without a period beside jobs that have one: what it takes of the link, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.compat import own_profile, solve
from pipeline.compat.demand import demand_of
from pipeline.compat.members import members_of
from pipeline.meetings import Meeting, demand_on
from profiler.phases import TrafficProfile, profile
from profiler.signals import RateSeries
from tests.pipeline.jobs import CAPACITY_BPS, vgg


def storage(*levels_bps: float, status: str = "aperiodic") -> TrafficProfile:
    """Traffic that takes each of some rates for an equal part of the time."""
    return TrafficProfile(
        status=status,  # type: ignore[arg-type]
        mean_bps=float(np.mean(levels_bps)),
        peak_bps=max(levels_bps),
        levels_bps=levels_bps,
        fold_bps=np.zeros(0),
    )


def serving(*, mean_bps: float, peak_bps: float | None) -> TrafficProfile:
    """Traffic of which no more than this is known."""
    return TrafficProfile(status="aperiodic", mean_bps=mean_bps, peak_bps=peak_bps, fold_bps=np.zeros(0))


def test_excess_is_expected_over_the_rates_that_others_take() -> None:
    # Idle half of the time and 200 Mbit/s in the other half: only then the bursts, 228 of 255 ms, lack 200 of 400.
    answer = solve({"A": vgg(), "B": vgg(), "store": storage(0.0, 200e6)}, capacity_bps=CAPACITY_BPS)
    assert answer.score_best == pytest.approx(1 - 228 / 255 * 0.5 * 0.5)
    both, one = (114 / 255) ** 2, 2 * 114 / 255 * 141 / 255
    assert answer.score_random == pytest.approx(1 - both - (both + one) * 0.5 * 0.5)
    assert answer.is_proved


def test_levels_of_a_measured_series_cost_what_its_windows_would() -> None:
    rng = np.random.default_rng(8)
    rates_bps = rng.exponential(150e6, 8_000) * (rng.random(8_000) < 0.4)
    found = profile(RateSeries.from_deltas(np.arange(8_001) * 1_000_000, rates_bps * 1e-3 / 8))
    assert found.status == "aperiodic"
    answer = solve({"A": vgg(), "B": vgg(), "store": found}, capacity_bps=CAPACITY_BPS)
    alone_bps, beside_bps = (np.maximum(0, rates_bps + job_bps - 400e6).mean() for job_bps in (0.0, 400e6))
    expected_bps = (228 * beside_bps + 27 * alone_bps) / 255
    assert answer.score_best == pytest.approx(1 - expected_bps / 400e6, abs=2e-3)


def test_two_backgrounds_are_independent_of_each_other() -> None:
    members = members_of({"A": vgg(), "one": storage(0.0, 1e8), "two": storage(0.0, 3e8)})
    assert members.background.rate_bps.tolist() == [0.0, 1e8, 3e8, 4e8]
    assert members.background.weight.tolist() == [0.25] * 4
    assert members.background_bps == pytest.approx(2e8)
    assert members.background_peak_bps == 4e8


def test_mean_alone_is_counted_and_what_bursts_would_cost_is_said() -> None:
    jobs = {"A": vgg(), "B": vgg(), "serving": serving(mean_bps=40e6, peak_bps=200e6)}
    answer = solve(jobs, capacity_bps=CAPACITY_BPS)
    assert answer.score_best == pytest.approx(1 - 228 / 255 * 0.1)
    counted, bursts = answer.warnings
    assert counted == (
        "job serving has no period: counted at its mean rate, the only one that is known, and it gets no shift"
    )
    # A fifth of the time at its peak, which takes 40 of the 255 ms... of the same volume: nothing fits beside a burst.
    assert f"the best score is {1 - 228 / 255 * 0.2 * 0.5:.3f}" in bursts


def test_peak_that_is_not_known_is_no_reason_to_guess() -> None:
    answer = solve({"A": vgg(), "B": vgg(), "new": serving(mean_bps=1e6, peak_bps=None)}, capacity_bps=CAPACITY_BPS)
    assert len(answer.warnings) == 1
    assert answer.verdict == "unknown"


@pytest.mark.parametrize("status", ["aperiodic", "constant", "idle", "undersampled", "insufficient", "no_data"])
def test_only_periodic_jobs_get_a_shift_and_the_others_are_told_of(status: str) -> None:
    other = TrafficProfile(status=status, mean_bps=1e6, fold_bps=np.zeros(0))  # type: ignore[arg-type]
    answer = solve({"A": vgg(), "B": vgg(), "other": other}, capacity_bps=CAPACITY_BPS)
    assert set(answer.shifts_s) == {"A", "B"}
    assert set(answer.jobs) == {"A", "B", "other"}


def test_traffic_of_which_no_rate_is_known_is_not_counted_at_a_mean() -> None:
    nothing = TrafficProfile(status="aperiodic", fold_bps=np.zeros(0))
    answer = solve({"A": vgg(), "B": vgg(), "other": nothing}, capacity_bps=CAPACITY_BPS)
    assert answer.verdict == "unknown"
    assert "nothing is known of how much job other sends, so the link cannot be scored" in answer.reason
    assert answer.warnings == ("job other: nothing is known of how much it sends, so there are no scores",)
    scores = [key for key in answer.to_dict() if key.startswith("score_")]
    assert [getattr(answer, key) for key in (*scores, "gap", "bound")] == [None] * (len(scores) + 2)
    assert not answer.is_proved


def test_reason_tells_how_the_unknown_was_counted_and_what_shifts_bring_beside_it() -> None:
    answer = solve({"A": vgg(), "B": vgg(), "store": storage(0.0, 200e6)}, capacity_bps=CAPACITY_BPS)
    assert answer.verdict == "unknown"
    assert "counted by how much of the time it takes which rate and gets no shift" in answer.reason
    assert f"score {answer.score_best:.3f} against {answer.score_random:.3f} by chance" in answer.reason


def test_traffic_without_any_period_is_scored_by_its_levels() -> None:
    answer = solve({"store": storage(0.0, 1e9, 200e6, 0.0)}, capacity_bps=CAPACITY_BPS)
    assert answer.score_best == answer.score_random == pytest.approx(1 - 0.25 * 600 / 400)
    assert (answer.gap, answer.is_proved) == (0, True)


def test_levels_that_never_exceed_the_link_leave_it_uncontended() -> None:
    answer = solve({"A": vgg(rate_bps=100e6), "store": storage(0.0, 200e6)}, capacity_bps=CAPACITY_BPS)
    assert answer.verdict == "uncontended"
    assert answer.score_best == 1


def test_job_that_sends_half_of_its_bytes_over_a_link_sends_half_of_each_level() -> None:
    meeting = Meeting(link="t", direction="forward", capacity_bps=4e8, load_frac={"store": 0.5})
    halved = demand_on(meeting, {"store": storage(0.0, 200e6)})["store"]
    assert halved.levels_bps == (0.0, 100e6)


# Profiles measured while the link was full


def hindered(job: TrafficProfile) -> TrafficProfile:
    """A job as it is seen beside another: 114 ms at 400 Mbit/s took 150 ms, in most iterations."""
    period_s = (job.period_s or 0.0) + 0.036
    seen = vgg(period_s=period_s, up_s=0.150, rate_bps=0.114 / 0.150 * 400e6)
    up, down = seen.phases
    slowed = replace(up, peak_bps=400e6, width_low_s=0.12, width_high_s=0.18)
    return replace(seen, phases=(slowed, down), period_error_s=1e-4)


def test_profiles_that_were_measured_on_a_full_link_are_told_from_a_jobs_own() -> None:
    jobs = {"A": hindered(vgg()), "B": hindered(vgg())}
    warnings = solve(jobs, capacity_bps=CAPACITY_BPS).warnings
    told = [warning for warning in warnings if "measured while the link was full" in warning]
    assert [warning.split(":")[0] for warning in told] == ["job A", "job B"]
    assert "its Up phase of 150 ms at 304 Mbit/s reaches 400 Mbit/s" in told[0]
    own = {name: own_profile(job, capacity_bps=CAPACITY_BPS, contended=True)[0] for name, job in jobs.items()}
    assert demand_of(own["A"]).edges_ns.tolist() == demand_of(vgg()).edges_ns.tolist()
    assert not any("full" in warning for warning in solve(own, capacity_bps=CAPACITY_BPS).warnings)


def test_nobody_is_hindered_where_all_peaks_fit_or_widths_do_not_vary() -> None:
    jobs = {"A": hindered(vgg()), "B": hindered(vgg())}
    assert not any("full" in warning for warning in solve(jobs, capacity_bps=2 * CAPACITY_BPS).warnings)
    up, down = jobs["A"].phases
    steady = replace(jobs["A"], phases=(replace(up, width_low_s=0.149, width_high_s=0.151), down))
    warnings = solve({"A": steady, "B": steady}, capacity_bps=CAPACITY_BPS).warnings
    assert not any("full" in warning for warning in warnings)
