from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.period import PeriodEstimate, detect_period
from profiler.period.bursts import runs, threshold
from profiler.period.spectrum import alias_periods
from profiler.signals import RateSeries
from profiler.synth import NON_PERIODIC, Burst, training_job

RATE = 400e6


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", sorted(NON_PERIODIC))
def test_traffic_without_a_period_gets_none(name: str, seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    dt_s = 10 ** rng.uniform(-3, 0)
    made = NON_PERIODIC[name](rng, duration_s=dt_s * rng.integers(500, 8000), dt_s=dt_s)
    found = detect_period(made.series)
    assert found.status in ("aperiodic", "constant", "insufficient"), found
    assert found.period_s is None
    assert found.reason


def test_a_steady_stream_is_constant() -> None:
    made = NON_PERIODIC["constant"](np.random.default_rng(1), duration_s=10.0, dt_s=0.01)
    assert detect_period(made.series).status == "constant"


@pytest.mark.parametrize("n_samples", [100, 1000, 1001, 5000])
@pytest.mark.parametrize("step_ns", [1_000_000, 333_333, 7])
def test_an_exactly_steady_stream_is_constant_whatever_its_rounding(n_samples: int, step_ns: int) -> None:
    index = np.arange(n_samples)
    found = detect_period(RateSeries.from_counter(1_800_000_000 * 10**9 + index * step_ns, index * 50_000))
    assert found.status == "constant"


def test_two_recordings_a_day_apart_are_not_one_series_of_a_day() -> None:
    job = training_job(np.random.default_rng(1), period_s=0.255, duration_s=30.0, dt_s=0.002, jitter_frac=0.01)
    edges_ns = np.concatenate([job.series.edges_ns, job.series.edges_ns + 86_400 * 10**9])
    volumes = np.concatenate([job.series.delta_bytes, [0.0], job.series.delta_bytes])
    found = detect_period(RateSeries.from_deltas(edges_ns, volumes))
    assert found.period_s == pytest.approx(0.255, rel=0.01)
    assert found.starts_s.max() <= 30.0 or found.starts_s.min() >= 86_400.0


def test_a_long_recording_is_looked_at_as_finely_as_it_was_read() -> None:
    job = training_job(np.random.default_rng(2), period_s=0.05, duration_s=900.0, dt_s=0.005, jitter_frac=0.01)
    found = detect_period(job.series)
    assert found.period_s == pytest.approx(0.05, rel=0.01)


def test_a_long_period_in_a_long_fine_recording_is_found_on_coarser_bins() -> None:
    job = training_job(np.random.default_rng(3), period_s=100.0, duration_s=1200.0, dt_s=0.005, jitter_frac=0.01)
    assert job.series.duration_s / job.series.dt_s > 131_072
    assert detect_period(job.series).period_s == pytest.approx(100.0, rel=0.02)


def test_chatter_is_idle_and_no_read_is_no_data() -> None:
    t_ns = np.arange(1000) * 10**9
    assert detect_period(RateSeries.from_counter(t_ns, np.arange(1000) * 200)).status == "idle"
    assert detect_period(RateSeries.from_counter(t_ns, np.zeros(1000, dtype=np.int64))).status == "idle"
    assert detect_period(RateSeries.from_counter([], [])).status == "no_data"


def test_a_short_series_says_how_long_it_must_be() -> None:
    job = training_job(np.random.default_rng(1), period_s=1.0, duration_s=1.0, dt_s=0.1)
    found = detect_period(job.series)
    assert found.status == "insufficient"
    assert found.need_more_s == pytest.approx(1.4)


def test_two_iterations_are_not_enough_and_more_time_is_asked_for() -> None:
    job = training_job(np.random.default_rng(1), period_s=10.0, duration_s=22.0, dt_s=0.05)
    found = detect_period(job.series)
    assert found.status == "insufficient"
    assert found.need_more_s is not None
    assert 10.0 < found.need_more_s < 60.0


def test_a_period_of_three_samples_is_found_where_its_aliases_are_ruled_out_and_they_are_named() -> None:
    # Up for less than (1 - 2 / 2.737) of the iteration: no demand of an alias gives windows without any bytes.
    bursts = [Burst(0.5, 0.2, RATE)]
    job = training_job(np.random.default_rng(1), period_s=2.737, bursts=bursts, duration_s=3600.0, dt_s=1.0)
    found = detect_period(job.series)
    assert found.period_s == pytest.approx(2.737, rel=1e-3)
    assert found.alias_periods_s[:2] == pytest.approx((2.737, 1 / (1 - 1 / 2.737)), rel=1e-3)


@pytest.mark.parametrize("period_s", [0.61, 0.83, 1.15, 1.34])
def test_a_period_that_its_aliases_explain_as_well_is_refused(period_s: float) -> None:
    bursts = [Burst(0.3, 0.45, RATE)]
    job = training_job(np.random.default_rng(1), period_s=period_s, bursts=bursts, duration_s=1000.0, dt_s=1.0)
    found = detect_period(job.series)
    assert found.status == "undersampled"
    assert found.period_s is None
    assert len(found.alias_periods_s) > 1


def test_aliases_look_alike_at_the_sampling_times() -> None:
    t_s = np.arange(50) * 0.25
    reference, *others = (np.cos(2 * np.pi * t_s / period_s) for period_s in alias_periods(1.3, dt_s=0.25))
    for other in others:
        assert other == pytest.approx(reference, abs=1e-9)


def test_a_clocked_job_read_coarsely_has_a_tight_interval_that_holds_the_truth() -> None:
    job = training_job(np.random.default_rng(3), period_s=8.4, duration_s=3600.0, dt_s=0.5)
    found = detect_period(job.series)
    assert found.period_low_s is not None
    assert found.period_high_s is not None
    assert found.period_low_s <= 8.4 <= found.period_high_s
    # Rounding to a window hides, among 428 iterations, a wander of about a third of a window each.
    assert found.period_high_s - found.period_low_s < 2 * 1.96 * 0.5 / np.sqrt(428)


def test_onsets_are_where_the_bursts_begin() -> None:
    job = training_job(np.random.default_rng(4), period_s=0.3, duration_s=20.0, dt_s=0.001, jitter_frac=0.05)
    found = detect_period(job.series)
    assert found.at_onsets
    begins_s = job.up_s[:, 0]
    errors_s = [np.min(np.abs(begins_s - start_s)) for start_s in found.starts_s]
    assert np.median(errors_s) <= 0.001


def test_a_hole_of_minutes_neither_hides_nor_makes_a_period() -> None:
    job = training_job(np.random.default_rng(5), period_s=2.0, duration_s=120.0, dt_s=0.02)
    keep = np.ones(job.series.edges_ns.size, dtype=bool)
    keep[2000:4500] = False
    total = np.concatenate(([0.0], np.cumsum(job.series.delta_bytes))).round().astype(np.int64)
    found = detect_period(RateSeries.from_counter(job.series.edges_ns[keep], total[keep]))
    assert found.period_s == pytest.approx(2.0, rel=0.01)


def test_a_huge_event_does_not_hide_the_period() -> None:
    job = training_job(np.random.default_rng(6), period_s=1.0, duration_s=60.0, dt_s=0.01)
    volumes = job.series.delta_bytes.copy()
    volumes[2500:2600] *= 200
    found = detect_period(RateSeries.from_deltas(job.series.edges_ns, volumes))
    assert found.period_s == pytest.approx(1.0, rel=0.01)


@settings(max_examples=15, deadline=None)
@given(scale=st.floats(1e-3, 1e3), offset_s=st.integers(0, 10**6), seed=st.integers(0, 50))
def test_the_period_does_not_depend_on_the_rate_or_the_date(scale: float, offset_s: int, seed: int) -> None:
    job = training_job(np.random.default_rng(seed), period_s=0.4, duration_s=10.0, dt_s=0.004, jitter_frac=0.02)
    moved = RateSeries.from_deltas(job.series.edges_ns + offset_s * 10**9, job.series.delta_bytes * scale)
    assert detect_period(moved).period_s == pytest.approx(detect_period(job.series).period_s, rel=1e-6)


def test_the_threshold_lies_between_two_levels() -> None:
    assert 10 < threshold(np.repeat([1.0, 10.0, 400.0], [50, 50, 40])) < 400
    assert threshold(np.zeros(10)) == 0.0


def test_runs_close_gaps_before_they_drop_what_is_short() -> None:
    up = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 0], dtype=bool)
    assert runs(up).tolist() == [[1, 3], [4, 5], [8, 9]]
    assert runs(up, min_gap_bins=2).tolist() == [[1, 5], [8, 9]]
    assert runs(up, min_gap_bins=2, min_run_bins=2).tolist() == [[1, 5]]
    assert runs(np.zeros(4, dtype=bool)).tolist() == []


def test_an_estimate_is_a_result() -> None:
    found = detect_period(training_job(np.random.default_rng(1), period_s=0.255, duration_s=12.0, dt_s=0.002).series)
    assert isinstance(found, PeriodEstimate)
    assert found.to_dict()["status"] == "periodic"
    assert found.to_pandas().shape[0] == found.starts_s.size
    assert found.to_arrow().num_rows == found.starts_s.size
    assert found.plot().to_dict()["mark"]["type"] == "point"
    assert "<table>" in found._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        found.starts_s[0] = 1.0
