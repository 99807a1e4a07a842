from __future__ import annotations

import re

import numpy as np
import pytest

from profiler import TrafficProfile, profile
from profiler.errors import BadInput, UsageError
from profiler.period import detect_period
from profiler.phases import extract_phases
from profiler.signals import RateSeries
from profiler.synth import Burst, training_job

RATE = 400e6

WRITTEN = {"period_s": 0.255, "phases": [{"start_s": 0, "width_s": 0.114, "rate_bps": 4e8}]}
"""A profile as people write it."""


def test_one_burst_is_one_up_phase_of_its_width_and_rate() -> None:
    bursts = [Burst(0.3, 0.45, RATE)]
    job = training_job(
        np.random.default_rng(1), period_s=0.255, bursts=bursts, duration_s=25.0, dt_s=0.001, jitter_frac=0.02
    )
    found = profile(job.series)
    (up,) = [phase for phase in found.phases if phase.kind == "up"]
    assert up.start_s == 0.0
    assert up.width_s == pytest.approx(0.45 * 0.255, rel=0.02)
    assert up.rate_bps == pytest.approx(RATE, rel=0.02)
    assert up.peak_bps == pytest.approx(RATE, rel=0.03)
    assert found.duty_frac == pytest.approx(0.45, rel=0.03)


def test_several_bursts_are_as_many_up_phases_each_with_its_rate() -> None:
    bursts = [Burst(0.0, 0.1, RATE), Burst(0.2, 0.1, RATE / 2), Burst(0.4, 0.2, RATE)]
    job = training_job(np.random.default_rng(2), period_s=1.0, bursts=bursts, duration_s=60.0, dt_s=0.005)
    ups = [phase for phase in profile(job.series).phases if phase.kind == "up"]
    assert [up.start_s for up in ups] == pytest.approx([0.0, 0.2, 0.4], abs=0.01)
    assert [up.width_s for up in ups] == pytest.approx([0.1, 0.1, 0.2], abs=0.01)
    assert [up.rate_bps for up in ups] == pytest.approx([RATE, RATE / 2, RATE], rel=0.05)


def test_phases_sum_to_the_period_and_begin_with_the_first_up() -> None:
    bursts = [Burst(0.1, 0.2, RATE), Burst(0.5, 0.1, RATE)]
    job = training_job(
        np.random.default_rng(3), period_s=2.0, bursts=bursts, duration_s=80.0, dt_s=0.01, jitter_frac=0.02
    )
    found = profile(job.series)
    assert found.period_s is not None
    assert sum(phase.width_s for phase in found.phases) == pytest.approx(found.period_s, rel=1e-9)
    assert (found.phases[0].kind, found.phases[0].start_s) == ("up", 0.0)


def test_stretched_bursts_keep_the_median_width_and_tell_the_unhindered_rate() -> None:
    rng = np.random.default_rng(4)
    edges_s, t_s = [], 0.1
    for _ in range(80):
        width_s = 0.2 if rng.random() < 0.35 else 0.1
        edges_s.append((t_s, t_s + width_s))
        t_s += width_s + 0.15 + rng.normal(0, 0.002)
    volume = 0.1 * RATE / 8
    grid_s = np.arange(0, t_s, 0.001)
    total = sum(np.interp(grid_s, [a, b], [0.0, volume]) for a, b in edges_s)
    series = RateSeries.from_counter((grid_s * 1e9).astype(np.int64), np.round(total).astype(np.int64))
    found = profile(series)
    (up,) = [phase for phase in found.phases if phase.kind == "up"]
    assert up.width_s == pytest.approx(0.1, rel=0.03)
    assert up.width_high_s == pytest.approx(0.2, rel=0.03)
    assert up.peak_bps == pytest.approx(RATE, rel=0.03)
    assert up.rate_bps * up.width_s / 8 == pytest.approx(volume, rel=0.02)


@pytest.mark.parametrize("jitter_frac", [0.03, 0.08])
def test_the_anchor_is_the_start_of_the_last_burst(jitter_frac: float) -> None:
    job = training_job(np.random.default_rng(5), period_s=0.5, duration_s=20.0, dt_s=0.001, jitter_frac=jitter_frac)
    found = profile(job.series)
    assert found.anchor_ns is not None
    anchor_s = (found.anchor_ns - int(job.series.edges_ns[0])) / 1e9
    assert anchor_s == pytest.approx(job.up_s[-1, 0], abs=0.003)


def test_a_stalled_iteration_is_an_outlier_with_its_time() -> None:
    job = training_job(np.random.default_rng(6), period_s=0.5, duration_s=20.0, dt_s=0.001, jitter_frac=0.01)
    stall = 10_000 + int(np.argmin(job.series.delta_bytes[10_000:]))
    volumes = np.insert(job.series.delta_bytes, stall, np.zeros(700))
    edges_ns = job.series.edges_ns[0] + np.arange(volumes.size + 1) * 1_000_000
    found = profile(RateSeries.from_deltas(edges_ns, volumes))
    assert found.period_s == pytest.approx(0.5, rel=0.02)
    (outlier,) = found.outliers
    assert outlier.duration_s == pytest.approx(1.2, abs=0.03)
    assert 9.0 < (outlier.t_ns - int(edges_ns[0])) / 1e9 < 11.0


def test_a_series_without_a_period_has_a_profile_without_phases() -> None:
    series = RateSeries.from_counter(np.arange(100) * 10**9, np.arange(100))
    found = extract_phases(series, detect_period(series))
    assert (found.status, found.phases, found.period_s) == ("idle", (), None)
    assert found.to_dict()["period_s"] is None


def test_a_counter_that_is_up_most_of_the_time_may_hold_several_jobs() -> None:
    bursts = [Burst(0.0, 0.48, RATE), Burst(0.5, 0.48, RATE)]
    job = training_job(np.random.default_rng(9), period_s=0.26, bursts=bursts, duration_s=20.0, dt_s=0.001)
    found = profile(job.series)
    assert found.period_s == pytest.approx(0.13, rel=0.01)
    assert "several jobs" in found.warnings[0]
    assert found.confidence == 0.5


def test_a_period_of_three_samples_warns_of_its_aliases_and_one_of_seven_does_not() -> None:
    bursts = [Burst(0.5, 0.2, RATE)]
    for period_s, is_warned in ((3.1, True), (7.1, False)):
        job = training_job(np.random.default_rng(9), period_s=period_s, bursts=bursts, duration_s=700.0, dt_s=1.0)
        found = profile(job.series)
        assert found.period_s == pytest.approx(period_s, rel=2e-3)
        assert any("few samples" in warning for warning in found.warnings) == is_warned


def test_odd_reads_are_told() -> None:
    job = training_job(np.random.default_rng(11), period_s=0.5, duration_s=20.0, dt_s=0.01)
    total = np.concatenate(([0.0], np.cumsum(job.series.delta_bytes))).astype(np.int64) + 10**13
    total[700] -= 5 * 10**6
    total[1200:] -= total[1199]
    found = profile(RateSeries.from_counter(job.series.edges_ns, total))
    assert found.period_s == pytest.approx(0.5, rel=0.01)
    assert any("1 reset of the counter" in warning for warning in found.warnings)
    assert any("1 low read left out" in warning for warning in found.warnings)


def test_the_fold_moves_the_bytes_of_an_iteration() -> None:
    job = training_job(np.random.default_rng(7), period_s=0.3, duration_s=30.0, dt_s=0.001)
    found = profile(job.series)
    assert found.fold_bps.mean() == pytest.approx(0.45 * RATE, rel=0.03)
    half = found.fold_bps.size // 2
    assert found.fold_bps[: int(0.4 * found.fold_bps.size)].min() > 0.8 * RATE
    assert found.fold_bps[half:-5].max() < 0.1 * RATE


def test_a_profile_survives_its_own_json() -> None:
    found = profile(training_job(np.random.default_rng(8), period_s=0.3, duration_s=20.0, dt_s=0.001).series)
    again = TrafficProfile.from_dict(found.to_dict())
    assert again.to_dict() == found.to_dict()


def test_given_phases_are_exact() -> None:
    given = TrafficProfile.from_phases(period_s=0.255, phases=[(0.1, 0.02, 1e9), (0.0, 0.05, 2e9)])
    assert [phase.kind for phase in given.phases] == ["up", "down", "up", "down"]
    assert given.mean_bps == pytest.approx((0.05 * 2e9 + 0.02 * 1e9) / 0.255)
    assert given.period_error_s is None


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ([(0.0, 0.3, 1e9)], "longer than its period"),
        ([(0.0, 0.1, 1e9), (0.05, 0.1, 1e9)], "overlap"),
        ([(0.2, 0.1, 1e9), (0.0, 0.1, 1e9)], "runs past its period"),
        ([(0.3, 0.1, 1e9)], "starts after its period"),
        ([(0.0, -0.1, 1e9)], "width must be positive"),
        ([(0.0, 0.1, -1e9)], "rate not negative"),
    ],
)
def test_impossible_phases_are_refused(phases: list[tuple[float, float, float]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TrafficProfile.from_phases(period_s=0.25, phases=phases)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"phases": []}, "key 'period_s' is missing"),
        ({"period_s": 1.0, "phases": [3]}, "phase 1: expected an object with keys, found a number"),
        ({"period_s": 1.0, "phases": [{"start_s": 0, "width_s": "x"}]}, "phase 1: width_s is 'x'"),
        ({"period_s": float("nan"), "phases": []}, "period_s is 'nan'; expected a finite number"),
        ({"status": "fine"}, "status is 'fine'; expected one of periodic, aperiodic"),
        ({"status": "aperiodic", "mean_bps": "x"}, "mean_bps is 'x'"),
        ({"status": "aperiodic", "mean_bps": -1}, "mean_bps is '-1'; expected a number of at least 0"),
        ({"status": "aperiodic", "anchor_ns": "abc"}, "anchor_ns is 'abc'; expected a whole number"),
        ({"status": "aperiodic", "fold_bps": ["x"]}, "fold_bps is 'x'"),
        ({"status": "aperiodic", "phases": {}}, "phases is '{}'; expected a list"),
        ({"status": "aperiodic", "host": 3}, "host is '3'; expected a text"),
        ([], "profile: expected an object with keys, found a list"),
        ({**WRITTEN, "period_s": -1}, "profile: period_s is '-1'; expected a number of at least 0"),
        ({**WRITTEN, "period_s": 0}, "profile: period_s 0.0: must be positive"),
        ({**WRITTEN, "phases": [{"kind": "down", "start_s": 0, "width_s": 1, "rate_bps": 1}]}, "write it as one up"),
        ({"status": "periodic", "phases": [{"start_s": 0}]}, "phase 1: kind is ''; expected one of up, down"),
        ({**WRITTEN, "jiter_frac": 0.03}, "profile: unknown key 'jiter_frac'; did you mean 'jitter_frac'?"),
        ({**WRITTEN, "phases": [{"start": 0, "width_s": 1, "rate_bps": 1}]}, "phase 1: unknown key 'start'; did you"),
        ({**WRITTEN, "jitter_frac": 1.0}, "jitter_frac 1.0: must lie in 0 to 1"),
        ({**WRITTEN, "jitter_frac": -0.1}, "jitter_frac is '-0.1'; expected a number of at least 0"),
        ({**WRITTEN, "period_low_s": 0.26}, "period_s 0.255 does not lie in period_low_s 0.26 to period_high_s 0.255"),
        ({**WRITTEN, "period_high_s": 0.25}, "does not lie in period_low_s 0.255 to period_high_s 0.25"),
    ],
)
def test_a_document_that_is_no_profile_says_what_is_wrong(document: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        TrafficProfile.from_dict(document)


def test_what_is_written_of_jitter_period_and_anchor_by_hand_is_kept() -> None:
    told = {"jitter_frac": 0.03, "period_error_s": 1e-4, "anchor_ns": 1_800_000_000_000_000_000, "host": "n1"}
    found = TrafficProfile.from_dict({**WRITTEN, **told, "warnings": ["by eye"]})
    assert (found.jitter_frac, found.period_error_s) == (0.03, 1e-4)
    assert (found.anchor_ns, found.host, found.warnings) == (1_800_000_000_000_000_000, "n1", ("by eye",))
    assert (found.status, found.method) == ("periodic", "given")
    assert found.duty_frac == pytest.approx(0.114 / 0.255)
    assert TrafficProfile.from_dict(found.to_dict()).to_dict() == found.to_dict()


def test_interval_of_a_period_written_by_hand_is_one_of_95_per_cent() -> None:
    found = TrafficProfile.from_dict({**WRITTEN, "period_low_s": 0.25304, "period_high_s": 0.25696})
    assert found.period_error_s == pytest.approx(1e-3)
    assert (found.period_low_s, found.period_high_s) == (0.25304, 0.25696)
    assert TrafficProfile.from_dict(WRITTEN).period_error_s is None


def test_phases_written_by_hand_keep_their_quartiles_and_peak() -> None:
    phase = {"start_s": 0, "width_s": 0.114, "rate_bps": 3e8, "peak_bps": 4e8, "width_low_s": 0.11}
    up, down = TrafficProfile.from_dict({"period_s": 0.255, "phases": [phase]}).phases
    assert (up.peak_bps, up.width_low_s, up.width_high_s) == (4e8, 0.11, None)
    assert down.width_s == pytest.approx(0.141)


def test_nine_of_ten_iterations_are_told_apart_from_the_median() -> None:
    job = training_job(np.random.default_rng(10), period_s=0.2, duration_s=40.0, dt_s=0.001, jitter_frac=0.1)
    found = profile(job.series)
    # The 90th percentile of a normal distribution lies 1.28 standard deviations above its median.
    assert found.p90_period_s == pytest.approx(0.2 * (1 + 0.1 * 1.28), rel=0.03)


def test_a_profile_draws_itself() -> None:
    given = TrafficProfile.from_phases(period_s=0.25, phases=[(0.0, 0.1, 1e9)])
    spec = given.plot().to_dict()
    assert spec["mark"]["interpolate"] == "step-after"
    assert given.to_arrow().num_rows == 2
    assert "periodic" in repr(given)
