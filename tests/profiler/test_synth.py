from __future__ import annotations

import numpy as np
import pytest

from profiler.errors import UsageError
from profiler.synth import NON_PERIODIC, Burst, training_job, with_noise


def test_equal_seeds_give_equal_traffic() -> None:
    first, second = (
        training_job(np.random.default_rng(5), period_s=0.2, duration_s=4.0, dt_s=0.002, jitter_frac=0.1)
        for _ in range(2)
    )
    assert np.array_equal(first.series.delta_bytes, second.series.delta_bytes)


def test_bytes_are_those_of_the_bursts() -> None:
    bursts = [Burst(0.1, 0.2, 100e6), Burst(0.5, 0.3, 400e6)]
    job = training_job(np.random.default_rng(1), period_s=0.5, bursts=bursts, duration_s=50.0, dt_s=0.01)
    mean_bps = 0.2 * 100e6 + 0.3 * 400e6
    assert job.series.mean_bps == pytest.approx(mean_bps, rel=1e-6)
    assert job.series.rate_bps.max() <= 400e6 * (1 + 1e-9)


def test_the_truth_of_bursts_is_where_the_rate_is() -> None:
    job = training_job(np.random.default_rng(2), period_s=0.3, duration_s=6.0, dt_s=0.001, jitter_frac=0.05)
    t_s = (np.arange(job.series.n_samples) + 0.5) * 0.001
    up = ((t_s[:, None] >= job.up_s[:, 0]) & (t_s[:, None] < job.up_s[:, 1])).any(axis=1)
    assert np.mean(up == (job.series.rate_bps > 200e6)) > 0.99


def test_noise_has_the_asked_spread_and_never_makes_bytes_negative() -> None:
    job = training_job(np.random.default_rng(3), period_s=0.3, duration_s=60.0, dt_s=0.01)
    noisy = with_noise(np.random.default_rng(4), job, noise_bps=20e6)
    up = job.series.rate_bps > 300e6
    assert np.std(noisy.series.rate_bps[up] - job.series.rate_bps[up]) == pytest.approx(20e6, rel=0.1)
    assert noisy.series.delta_bytes.min() >= 0


@pytest.mark.parametrize("name", sorted(NON_PERIODIC))
def test_traffic_without_a_period_says_so(name: str) -> None:
    made = NON_PERIODIC[name](np.random.default_rng(6), duration_s=10.0, dt_s=0.01)
    assert made.period_s is None
    assert made.reads.t_ns.size >= 1000
    assert made.status != "periodic"


def test_times_that_make_no_job_are_refused() -> None:
    with pytest.raises(UsageError, match="positive"):
        training_job(np.random.default_rng(7), period_s=0.0, duration_s=1.0, dt_s=0.1)
