from __future__ import annotations

import numpy as np
import pytest

from profiler.errors import UsageError
from profiler.synth import NON_PERIODIC, Burst, Labelled, draw_iterations, training_job, with_noise

BURSTS = [Burst(0.1, 0.2, 100e6), Burst(0.5, 0.3, 400e6)]


def _job(seed: int, *, jitter_frac: float = 0.0) -> Labelled:
    rng = np.random.default_rng(seed)
    return training_job(rng, period_s=0.5, bursts=BURSTS, duration_s=50.0, dt_s=0.01, jitter_frac=jitter_frac)


def test_equal_seeds_give_equal_traffic() -> None:
    first, second = (_job(5, jitter_frac=0.02) for _ in range(2))
    assert np.array_equal(first.series.delta_bytes, second.series.delta_bytes)
    assert not np.array_equal(first.series.delta_bytes, _job(6, jitter_frac=0.02).series.delta_bytes)


def test_bytes_are_those_of_the_bursts() -> None:
    job = _job(1)
    # 50 s are 100 whole iterations, wherever in one of them the recording begins.
    expected_bytes = 100 * 0.5 * (0.2 * 100e6 + 0.3 * 400e6) / 8
    assert job.series.delta_bytes.sum() == pytest.approx(expected_bytes, abs=1)
    assert job.series.rate_bps.max() <= 400e6 + 8 / 0.01


def test_a_counter_moves_by_whole_bytes() -> None:
    volumes = _job(2, jitter_frac=0.01).series.delta_bytes
    assert np.array_equal(volumes, np.rint(volumes))


def test_the_period_is_the_median_of_iterations_recorded_whole() -> None:
    made = draw_iterations(np.random.default_rng(3), period_s=0.5, duration_s=50.0, jitter_frac=0.1)
    ends_s = made.starts_s + made.lengths_s
    whole = made.lengths_s[(made.starts_s >= 0) & (ends_s <= 50)]
    assert made.median_s(50.0) == np.median(whole)
    rng = np.random.default_rng(3)
    assert training_job(rng, period_s=0.5, duration_s=50.0, dt_s=0.01, jitter_frac=0.1).period_s == np.median(whole)


def test_jitter_has_the_asked_spread_and_accumulates() -> None:
    made = draw_iterations(np.random.default_rng(4), period_s=2.0, duration_s=4000.0, jitter_frac=0.05)
    # Cut off at 2.5 standard deviations, which takes about 2 % off the spread.
    assert made.lengths_s.std() / 2.0 == pytest.approx(0.05 * 0.98, rel=0.05)
    assert np.array_equal(np.diff(made.starts_s).round(9), made.lengths_s[:-1].round(9))


def test_drift_is_the_growth_of_iterations_over_the_recording() -> None:
    made = draw_iterations(np.random.default_rng(5), period_s=1.0, duration_s=1000.0, drift_frac=0.04)
    whole = made.whole(1000.0)
    assert made.lengths_s[whole[-1]] - made.lengths_s[whole[0]] == pytest.approx(0.04, rel=0.01)
    assert made.median_s(1000.0) == pytest.approx(1.0, rel=1e-3)


def test_a_delay_moves_all_that_comes_after_and_nothing_before() -> None:
    made = draw_iterations(np.random.default_rng(6), period_s=1.0, duration_s=20.0)
    later = made.delayed(np.array([3]), by_s=np.array([0.7]))
    assert np.allclose(later.starts_s - made.starts_s, np.where(np.arange(made.starts_s.size) > 3, 0.7, 0.0))
    assert np.allclose(later.bursts_from_s - made.bursts_from_s, later.starts_s - made.starts_s)
    assert later.lengths_s[3] == pytest.approx(1.7)


def test_noise_has_the_asked_spread_and_never_makes_bytes_negative() -> None:
    job = training_job(np.random.default_rng(3), period_s=0.3, duration_s=60.0, dt_s=0.01)
    noisy = with_noise(np.random.default_rng(4), job, noise_bps=20e6)
    up = job.series.rate_bps > 300e6
    assert np.std(noisy.series.rate_bps[up] - job.series.rate_bps[up]) == pytest.approx(20e6, rel=0.1)
    assert noisy.series.delta_bytes.min() >= 0
    assert noisy.series.delta_bytes.sum() == noisy.reads.total_bytes


@pytest.mark.parametrize("name", sorted(NON_PERIODIC))
def test_traffic_without_a_period_says_so(name: str) -> None:
    made = NON_PERIODIC[name](np.random.default_rng(6), duration_s=10.0, dt_s=0.01)
    assert made.period_s is None
    assert made.periods_s == ()
    assert made.status in ("aperiodic", "constant")
    assert 950 <= made.series.n_samples <= 1000 or name == "poll_artefacts"
    assert made.series.mean_bps > 1e5


def test_times_that_make_no_job_are_refused() -> None:
    with pytest.raises(UsageError, match="positive"):
        training_job(np.random.default_rng(7), period_s=0.0, duration_s=1.0, dt_s=0.1)
    with pytest.raises(UsageError, match="not negative"):
        draw_iterations(np.random.default_rng(7), period_s=1.0, duration_s=1.0, jitter_frac=-0.1)


@pytest.mark.parametrize("parts", [(-0.1, 0.2, 1e6), (0.2, 0.0, 1e6), (0.7, 0.4, 1e6), (float("nan"), 0.1, 1e6)])
def test_a_burst_outside_its_iteration_is_refused(parts: tuple[float, float, float]) -> None:
    with pytest.raises(UsageError, match="within its iteration"):
        Burst(*parts)


@pytest.mark.parametrize("rate_bps", [-1.0, float("inf"), float("nan")])
def test_a_burst_of_no_real_rate_is_refused(rate_bps: float) -> None:
    with pytest.raises(UsageError, match="rate_bps"):
        Burst(0.1, 0.2, rate_bps)
