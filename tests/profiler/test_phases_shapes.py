"""What phases are made of what traffic: levels, nested bursts, spreads, outliers, and what is not said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profiler import Phase, RateSeries, TrafficProfile, profile
from profiler.errors import UsageError
from profiler.period import PeriodEstimate, detect_period
from profiler.phases import extract_phases
from profiler.synth import Burst, Labelled, training_job

RATE = 400e6


def _job(bursts: list[Burst], *, samples_per_period: float = 200.0, jitter_frac: float = 0.0) -> Labelled:
    return training_job(
        np.random.default_rng(11),
        period_s=1.0,
        bursts=bursts,
        duration_s=60.0,
        dt_s=1 / samples_per_period,
        jitter_frac=jitter_frac,
    )


def _starts_of(job: Labelled, n_bursts: int) -> PeriodEstimate:
    """Return an estimate whose starts are those of every n-th burst, as exact as the truth."""
    starts_s = job.up_s[:, 0][::n_bursts]
    return replace(
        detect_period(job.series), status="periodic", period_s=job.period_s, starts_s=starts_s, at_onsets=False
    )


def _ups(found: TrafficProfile) -> list[Phase]:
    return [phase for phase in found.phases if phase.kind == "up"]


@pytest.mark.parametrize("jitter_frac", [0.0, 0.03])
def test_a_burst_of_two_rates_is_two_phases_that_touch(jitter_frac: float) -> None:
    job = _job([Burst(0.3, 0.2, RATE), Burst(0.5, 0.1, 0.4 * RATE)], jitter_frac=jitter_frac)
    first, second = _ups(profile(job.series))
    assert [first.width_s, second.width_s] == pytest.approx([0.2, 0.1], rel=0.05)
    assert [first.rate_bps, second.rate_bps] == pytest.approx([RATE, 0.4 * RATE], rel=0.05)
    assert second.start_s == pytest.approx(first.width_s, abs=1e-9)


def test_a_low_start_of_a_burst_is_a_level_too() -> None:
    first, second = _ups(profile(_job([Burst(0.3, 0.15, 0.3 * RATE), Burst(0.45, 0.15, RATE)]).series))
    assert [first.rate_bps, second.rate_bps] == pytest.approx([0.3 * RATE, RATE], rel=0.05)


@pytest.mark.parametrize("jitter_frac", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("samples_per_period", [12.3, 45.6, 200.0])
def test_jitter_and_coarse_windows_make_no_false_level(jitter_frac: float, samples_per_period: float) -> None:
    job = _job([Burst(0.3, 0.3, RATE)], samples_per_period=samples_per_period, jitter_frac=jitter_frac)
    estimate = _starts_of(job, 1)
    (up,) = _ups(extract_phases(job.series, estimate))
    assert up.width_s == pytest.approx(0.3, rel=0.05)


def test_a_pause_within_some_bursts_is_no_level_of_all() -> None:
    t_ms = np.arange(15_000)
    i_iteration, at_ms = np.divmod(t_ms, 300)
    rate_bps = np.select([at_ms < 40, at_ms < 80, at_ms < 120], [1e8, 4e8, 1e8], 0.0)
    rate_bps[(i_iteration % 10 == 5) & (at_ms >= 35) & (at_ms < 85)] = 0
    series = RateSeries.from_deltas(np.arange(15_001) * 10**6, (rate_bps / 8e3).astype(np.int64))
    assert [phase.kind for phase in profile(series).phases] == ["up", "down"]


def test_a_ramp_is_one_level() -> None:
    cycle = np.concatenate((np.linspace(0.2, 1.0, 40) * RATE, np.zeros(60)))
    edges_ns = np.arange(100 * 60 + 1) * 10_000_000
    found = profile(RateSeries.from_deltas(edges_ns, np.tile(cycle, 60) * 0.01 / 8))
    assert len(_ups(found)) == 1


def test_bursts_that_mostly_end_at_half_the_rate_beside_another_job_have_one_level() -> None:
    alone = np.repeat([RATE, 0.0], [26, 74])
    shared = np.repeat([RATE, RATE / 2, 0.0], [20, 6, 74])
    is_shared = np.random.default_rng(5).random(100) < 0.65
    cycles = np.concatenate([shared if one else alone for one in is_shared])
    found = profile(RateSeries.from_deltas(np.arange(cycles.size + 1) * 10_000_000, cycles * 0.01 / 8))
    (up,) = _ups(found)
    assert up.width_s == pytest.approx(0.26, rel=0.05)


def test_fine_bursts_within_a_burst_stay_phases_of_their_own() -> None:
    fine = [Burst(0.3 + 0.05 * i, 0.03, RATE) for i in range(8)]
    ups = _ups(profile(_job(fine).series))
    assert [up.start_s for up in ups] == pytest.approx([0.05 * i for i in range(8)], abs=0.003)
    assert [up.width_s for up in ups] == pytest.approx([0.03] * 8, abs=0.003)


def test_starts_that_stray_do_not_blur_fine_bursts() -> None:
    job = _job([Burst(0.3 + 0.05 * i, 0.03, RATE) for i in range(8)])
    estimate = _starts_of(job, 8)
    astray_s = np.random.default_rng(1).normal(0.0, 0.01, estimate.starts_s.size)
    found = extract_phases(job.series, replace(estimate, starts_s=np.sort(np.abs(estimate.starts_s + astray_s))))
    assert len(_ups(found)) == 8


def test_gaps_shorter_than_a_window_are_texture() -> None:
    fine = [Burst(0.3 + 0.01 * i, 0.008, RATE) for i in range(30)]
    (up,) = _ups(profile(_job(fine).series))
    assert up.width_s == pytest.approx(0.3, rel=0.03)
    assert up.rate_bps == pytest.approx(0.8 * RATE, rel=0.05)


def test_gaps_that_come_at_other_times_in_every_iteration_are_texture() -> None:
    rng = np.random.default_rng(5)
    cycles = np.zeros((80, 200))
    cycles[:, 40:120] = RATE * (rng.random((80, 80)) < 0.7)
    found = profile(RateSeries.from_deltas(np.arange(80 * 200 + 1) * 5_000_000, cycles.ravel() * 0.005 / 8))
    (up,) = _ups(found)
    assert up.width_s == pytest.approx(0.4, rel=0.05)


@pytest.mark.parametrize(("width_s", "is_short"), [(0.4, True), (1.7, True), (2.6, False)])
def test_a_burst_shorter_than_two_windows_has_no_quartiles_and_a_warning(width_s: float, is_short: bool) -> None:
    job = training_job(
        np.random.default_rng(5),
        period_s=11.404,
        bursts=[Burst(0.4, width_s / 11.404, 50e9)],
        duration_s=3600.0,
        dt_s=1.0,
        jitter_frac=0.01,
    )
    found = extract_phases(job.series, _starts_of(job, 1))
    (up,) = _ups(found)
    assert up.rate_bps * up.width_s == pytest.approx(width_s * 50e9, rel=0.02)
    assert (up.width_low_s is None, up.width_high_s is None) == (is_short, is_short)
    assert any(warning.startswith("a burst no longer than a window or two") for warning in found.warnings) == is_short


@pytest.mark.parametrize("samples_per_period", [3.7, 5.3, 8.9])
def test_a_burst_of_about_a_window_has_its_own_width_and_rate(samples_per_period: float) -> None:
    job = _job([Burst(0.4, 0.4, RATE)], samples_per_period=samples_per_period)
    (up,) = _ups(extract_phases(job.series, _starts_of(job, 1)))
    assert up.width_s == pytest.approx(0.4, rel=0.06)
    assert up.rate_bps == pytest.approx(RATE, rel=0.06)


def test_quartiles_are_those_of_the_widths() -> None:
    widths_s = np.random.default_rng(2).uniform(0.2, 0.4, 200)
    ends_s = np.cumsum(widths_s + 0.6)
    t_s = np.arange(0.0, ends_s[-1], 0.005)
    total = np.interp(t_s, np.stack([ends_s - widths_s, ends_s], axis=1).ravel(), _steps(widths_s * RATE / 8))
    (up,) = _ups(profile(RateSeries.from_deltas(np.round(t_s * 1e9).astype(np.int64), np.diff(total).clip(0))))
    quartiles = np.quantile(widths_s, [0.25, 0.5, 0.75])
    assert [up.width_low_s, up.width_s, up.width_high_s] == pytest.approx(quartiles.tolist(), rel=0.02)


def _steps(volumes: np.ndarray) -> np.ndarray:
    """Return cumulative volumes before and after each burst."""
    after = np.cumsum(volumes)
    return np.stack([after - volumes, after], axis=1).ravel()


def test_an_iteration_that_moves_far_more_is_an_outlier_even_if_it_takes_no_longer() -> None:
    job = _job([Burst(0.3, 0.2, RATE)], jitter_frac=0.005)
    deltas = job.series.delta_bytes.copy()
    begins = int(job.up_s[20, 1] * 200) + 10
    deltas[begins : begins + 20] += 20 * RATE * 0.005 / 8
    found = profile(RateSeries.from_deltas(job.series.edges_ns, deltas))
    (outlier,) = found.outliers
    begins_ns = int(job.series.edges_ns[begins])
    assert outlier.kind == "large"
    assert outlier.t_ns <= begins_ns <= outlier.t_ns + outlier.duration_s * 1e9
    assert outlier.duration_s == pytest.approx(1.0, rel=0.05)
    assert outlier.moved_bytes == pytest.approx((0.2 * RATE + 20 * RATE * 0.1) / 8, rel=0.02)
    (up,) = _ups(found)
    assert up.width_s == pytest.approx(0.2, rel=0.03)


def test_the_anchor_of_a_clocked_job_is_agreed_by_all_its_iterations() -> None:
    job = training_job(np.random.default_rng(3), period_s=0.31, duration_s=60.0, dt_s=0.02)
    found = profile(job.series)
    assert found.anchor_ns is not None
    anchor_s = (found.anchor_ns - int(job.series.edges_ns[0])) / 1e9
    assert np.abs(job.up_s[:, 0] - anchor_s).min() < 0.25 * 0.02


def test_a_fold_in_which_nothing_stands_out_is_said_to_be_flat() -> None:
    rng = np.random.default_rng(4)
    deltas = rng.normal(1e6, 2e5, 4000).clip(0)
    series = RateSeries.from_deltas(np.arange(4001) * 10_000_000, deltas)
    made = PeriodEstimate(
        status="periodic",
        reason="made",
        period_s=1.0,
        n_cycles=38.0,
        starts_s=np.arange(39, dtype=np.float64),
        method="made",
    )
    found = extract_phases(series, made)
    (whole,) = found.phases
    assert (whole.kind, whole.start_s, whole.width_s, found.anchor_ns) == ("up", 0.0, 1.0, None)
    assert found.warnings[0].startswith("Up and Down do not stand apart")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"period_s": 1e3}, "period_s 1000 for a series of 10 s"),
        ({"period_s": 1e-3}, "period_s 0.001 for a series of 10 s, read every 0.01 s"),
        ({"period_s": float("nan")}, "period_s nan"),
        ({"starts_s": np.array([90.0, 91.0])}, "iterations from 90 to 91 s in a series of 10 s"),
        ({"starts_s": np.array([1.0, float("nan")])}, "finite and increasing"),
        ({"starts_s": np.array([2.0, 1.0])}, "finite and increasing"),
        ({"starts_s": np.zeros(0)}, "at least one start"),
        ({"period_s": 3.3}, "iterations 1 s apart for period_s 3.3"),
        ({"status": "aperiodic"}, "status aperiodic with period_s 1"),
        ({"confidence": float("nan")}, "confidence nan"),
        ({"jitter_frac": float("nan")}, "jitter_frac nan"),
    ],
)
def test_an_estimate_of_another_series_is_refused(changes: dict[str, object], message: str) -> None:
    series = RateSeries.from_deltas(np.arange(1001) * 10_000_000, np.tile([1e6] * 40 + [0.0] * 60, 10))
    estimate = PeriodEstimate(
        status="periodic", reason="made", period_s=1.0, starts_s=np.arange(10, dtype=np.float64), method="made"
    )
    assert extract_phases(series, estimate).duty_frac == pytest.approx(0.4, rel=0.02)
    with pytest.raises(UsageError, match=message):
        extract_phases(series, replace(estimate, **changes))  # type: ignore[arg-type]


def test_one_iteration_is_enough_if_it_is_given() -> None:
    series = RateSeries.from_deltas(np.arange(201) * 10_000_000, [0.0] * 30 + [1e6] * 40 + [0.0] * 130)
    estimate = PeriodEstimate(status="periodic", reason="made", period_s=1.0, starts_s=np.array([0.3]), method="made")
    (up,) = _ups(extract_phases(series, estimate))
    assert up.width_s == pytest.approx(0.4, rel=0.02)
