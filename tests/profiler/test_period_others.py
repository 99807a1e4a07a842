from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler.period import detect_period
from profiler.period.others import hear_other, leaves_little, without_job
from tests.profiler.arithmetic import boxes, prepared_of, series_of, uniform_of

N_BINS = 6000
FIRST = 100.0
RATIOS = (0.377, 0.618, 0.713, 0.829, 1.273, 1.618)


def _job(period: float, *, width_frac: float = 0.25, first: float = 7.0) -> NDArray[np.float64]:
    return boxes(np.arange(first, N_BINS, period), width_frac * period, n_bins=N_BINS)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_second_job_is_heard_in_a_sum_of_two(ratio: float) -> None:
    both = prepared_of(_job(FIRST) + 0.8 * _job(ratio * FIRST, first=31.0))
    heard = hear_other(both, np.arange(7.0, N_BINS, FIRST), period_s=FIRST)
    assert heard is not None
    assert heard.choice.period_s == pytest.approx(ratio * FIRST, rel=0.01)
    assert np.diff(heard.starts_s) == pytest.approx(ratio * FIRST, rel=0.05)


@pytest.mark.parametrize("ratio", RATIOS)
def test_both_jobs_of_a_sum_are_given_whatever_their_ratio(ratio: float) -> None:
    found = detect_period(series_of(_job(FIRST) + 0.8 * _job(ratio * FIRST, first=31.0)))
    periods_s = sorted(one.period_s or 0.0 for one in (found, *found.others))
    assert periods_s == pytest.approx(sorted((1.0, ratio)), rel=0.02)


@pytest.mark.parametrize("width_frac", [0.1, 0.25, 0.5])
@pytest.mark.parametrize("jitter", [0.0, 0.02, 0.1])
def test_no_second_job_is_heard_in_one(width_frac: float, jitter: float) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        starts = np.cumsum(FIRST * (1 + jitter * rng.uniform(-1, 1, 58)))
        parts = boxes(starts, width_frac * FIRST, n_bins=N_BINS) * (1 + 0.02 * rng.standard_normal(N_BINS))
        parts = np.maximum(parts, 0.0)
        assert hear_other(prepared_of(parts), starts, period_s=FIRST) is None
        found = detect_period(series_of(parts))
        assert found.period_s == pytest.approx(1.0, rel=0.03)
        assert found.others == ()


def test_no_second_job_is_heard_in_two_bursts_an_iteration_of_unlike_size() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rate, begin = rng.uniform(0.3, 1.0), rng.uniform(0.2, 0.8)
        starts = FIRST * np.arange(59, dtype=np.float64)
        parts = boxes(starts, 0.15 * FIRST, n_bins=N_BINS)
        parts += rate * boxes(starts + begin * FIRST, 0.1 * FIRST, n_bins=N_BINS)
        found = detect_period(series_of(parts))
        assert found.period_s == pytest.approx(1.0, rel=0.01)
        assert found.others == ()


def test_one_clocked_job_leaves_little_and_two_leave_much() -> None:
    starts = np.arange(7.0, N_BINS, FIRST)
    assert leaves_little(prepared_of(_job(FIRST)), starts, period_s=FIRST)
    assert not leaves_little(prepared_of(_job(FIRST) + 0.8 * _job(61.8)), starts, period_s=FIRST)


def test_what_a_job_leaves_over_is_the_other_job() -> None:
    other = _job(61.8, first=31.0)
    rate = uniform_of(_job(FIRST) + other)
    left, _ = without_job(rate, np.arange(7.0, N_BINS, FIRST), period_s=FIRST)
    assert np.corrcoef(left.rate_bps, other)[0, 1] > 0.97
    assert left.rate_bps.min() >= 0
