from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from profiler.schema import Flag
from profiler.signals import RateSeries

SECOND = 1_000_000_000


@pytest.mark.parametrize("n_pairs", [20, 21])
@pytest.mark.parametrize("n_last", [1, 2])
def test_reads_in_pairs_do_not_make_the_time_within_a_pair_the_window(n_pairs: int, n_last: int) -> None:
    t_s = np.sort(np.concatenate((np.arange(n_pairs) * 300.0, np.arange(n_pairs - 2 + n_last) * 300.0 + 0.6)))
    series = RateSeries.from_counter((t_s * 1e9).astype(np.int64), (t_s * 1000).astype(np.int64))
    assert series.dt_s == pytest.approx(299.4)
    assert series.known.all()
    uniform = series.resample(300.0)
    assert uniform.rate_bps == pytest.approx(8000.0)


def test_gaps_between_reads_that_repeat_are_reported() -> None:
    rng = np.random.default_rng(2)
    t_s = np.cumsum(rng.uniform(0.9, 1.1, 4000))
    assert RateSeries.from_deltas(np.append(0, t_s * 1e9).astype(np.int64), np.ones(4000)).poll_periods_s == ()
    pauses = np.floor(t_s / 15.0)
    t_s = t_s[np.append(True, np.diff(pauses) == 0)]
    found = RateSeries.from_deltas((t_s * 1e9).astype(np.int64), np.ones(t_s.size - 1)).poll_periods_s
    assert any(period_s == pytest.approx(15.0, rel=0.01) for period_s in found)
    assert all(15.0 / period_s == pytest.approx(round(15.0 / period_s), rel=0.02) for period_s in found)


def test_reads_lost_because_traffic_is_heavy_do_not_make_the_job_a_pause_of_the_poller() -> None:
    rng = np.random.default_rng(8)
    t_s = np.arange(6000) * 0.5
    is_up = t_s % 25.63 < 12.0
    total = np.cumsum(np.where(is_up, 5e9, 1e6) * rng.uniform(0.9, 1.1, 6000)).astype(np.int64)
    kept = (rng.random(6000) > np.where(is_up, 0.3, 0.02)) & (np.arange(6000) % 60 > 2)
    found = RateSeries.from_counter((t_s[kept] * 1e9).astype(np.int64), total[kept]).poll_periods_s
    assert any(period_s == pytest.approx(30.0, rel=0.01) for period_s in found)
    assert not any(period_s == pytest.approx(25.63, rel=0.01) for period_s in found)


def _read_but_in(holes: Any, *, seed: int, duration_s: float, dt_s: float, heavy: bool = False) -> RateSeries:
    """Read a job but where `holes` says so; in its bursts if they are heavy."""
    rng = np.random.default_rng([9, seed])
    t_s = np.arange(0, duration_s, dt_s) + rng.uniform(0, 0.02 * dt_s, round(duration_s / dt_s))
    in_hole = holes(t_s)
    is_up = in_hole if heavy else t_s % rng.uniform(4 * dt_s, 7.0) < dt_s * 3
    total = np.cumsum(np.where(is_up, 1e8, 1e5) * rng.uniform(0.9, 1.1, t_s.size)).astype(np.int64)
    return RateSeries.from_counter((t_s[~in_hole] * 1e9).astype(np.int64), total[~in_hole])


@pytest.mark.parametrize("pause_s", [8.1, 15.0, 23.7, 41.3, 60.0, 88.8, 120.0])
@pytest.mark.parametrize("dt_s", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("hole_s", [5.0, 20.0, 60.0])
def test_the_period_of_holes_is_found(pause_s: float, dt_s: float, hole_s: float) -> None:
    longest_s = min(hole_s, 0.65 * pause_s)
    for seed in range(3):
        series = _read_but_in(lambda t_s: t_s % pause_s < longest_s, seed=seed, duration_s=900.0, dt_s=dt_s)
        assert series.poll_periods_s == pytest.approx((pause_s,), rel=0.02)


def test_holes_at_random_do_not_repeat() -> None:
    for seed in range(60):
        rng = np.random.default_rng([10, seed])
        firsts_s, hole_s = np.cumsum(rng.exponential(rng.uniform(30, 120), 200)), rng.uniform(5, 20)
        series = _read_but_in(
            lambda t_s, firsts_s=firsts_s, hole_s=hole_s: (
                t_s - np.append(-100.0, firsts_s)[np.searchsorted(firsts_s, t_s)] < hole_s
            ),
            seed=seed,
            duration_s=1800.0,
            dt_s=float(rng.choice([0.1, 0.5, 1.0])),
        )
        assert series.poll_periods_s == ()


def test_holes_in_which_traffic_is_heavy_are_the_jobs() -> None:
    series = _read_but_in(lambda t_s: t_s % 20.0 < 7.0, seed=0, duration_s=900.0, dt_s=0.5, heavy=True)
    assert series.poll_periods_s == ()


def test_missed_ticks_at_random_do_not_repeat() -> None:
    rng = np.random.default_rng(3)
    for miss_frac in (0.003, 0.05, 0.3):
        t_ns = np.arange(20_000)[rng.random(20_000) > miss_frac] * 10**6
        assert RateSeries.from_deltas(t_ns, np.ones(t_ns.size - 1)).poll_periods_s == ()


def test_stale_reads_are_put_together_with_the_window_that_catches_up() -> None:
    rng = np.random.default_rng(4)
    total = np.cumsum(rng.integers(900, 1100, 1000))
    seen = np.arange(1000)
    for i in (100, 300, 500, 700, 701, 900):
        seen[i] = seen[i - 1]
    series = RateSeries.from_counter(np.arange(1000) * SECOND, total[seen])
    assert series.n_stale == 6
    assert np.count_nonzero(series.flags == Flag.STALE) == 5
    assert series.rate_bps.min() >= 7200 * 0.99
    assert series.rate_bps.max() <= 8800 * 1.01
    assert series.delta_bytes.sum() == total[-1] - total[0]


def test_silences_of_the_traffic_are_not_stale() -> None:
    volumes = np.where(np.random.default_rng(7).random(1000) < 0.15, 0, 1000)
    for volume in (volumes, np.where(np.arange(1000) % 50 < 20, volumes, 0)):
        series = RateSeries.from_deltas(np.append(0, np.cumsum(np.full(1000, SECOND))), volume)
        assert series.delta_bytes.tolist() == volume.tolist()
