"""How much of the time traffic without a period spends at which rate."""

from __future__ import annotations

import numpy as np
import pytest

from profiler.errors import UsageError
from profiler.phases import TrafficProfile, profile
from profiler.phases.distribution import MIN_WINDOWS, N_GROUPS, level_groups
from profiler.signals import RateSeries

BITS = 8


def series_of(rates_bps: np.ndarray, *, dt_ns: int = 1_000_000) -> RateSeries:
    return RateSeries.from_deltas(np.arange(rates_bps.size + 1) * dt_ns, rates_bps * dt_ns / 1e9 / BITS)


def test_levels_are_the_means_of_parts_of_the_windows_in_order_of_rate() -> None:
    rates_bps = np.random.default_rng(3).permutation(np.arange(1600.0)) * 8e6
    groups = np.arange(1600.0).reshape(N_GROUPS, 50).mean(axis=1) * 8e6
    assert level_groups(series_of(rates_bps)) == pytest.approx(groups.tolist())


def test_bytes_are_conserved_where_windows_differ_in_length() -> None:
    rng = np.random.default_rng(4)
    t_ns = np.cumsum(rng.integers(100_000, 5_000_000, 1_001))
    series = RateSeries.from_deltas(t_ns, rng.exponential(1e6, 1_000) * (rng.random(1_000) < 0.2))
    levels = level_groups(series)
    assert np.mean(levels) == pytest.approx(series.mean_bps)
    assert list(levels) == sorted(levels)
    # Idle in four of five windows: so are at least the quietest three quarters of the time.
    assert levels[: N_GROUPS * 3 // 4] == (0.0,) * (N_GROUPS * 3 // 4)


def test_few_windows_are_no_distribution() -> None:
    assert level_groups(series_of(np.ones(MIN_WINDOWS - 1))) == ()
    assert level_groups(RateSeries.from_deltas([], [])) == ()


def test_traffic_without_a_period_tells_its_levels_and_keeps_them_in_json() -> None:
    bursts_bps = np.random.default_rng(5).exponential(1e9, 4_000) * (np.random.default_rng(6).random(4_000) < 0.3)
    found = profile(series_of(bursts_bps))
    assert found.status == "aperiodic"
    assert np.mean(found.levels_bps) == pytest.approx(found.mean_bps)
    assert TrafficProfile.from_dict(found.to_dict()).levels_bps == found.levels_bps


def test_silent_and_constant_traffic_needs_no_levels() -> None:
    assert profile(series_of(np.zeros(4_000))).levels_bps == ()
    assert profile(series_of(np.full(4_000, 8e8))).levels_bps == ()


@pytest.mark.parametrize("level_bps", [-1.0, float("nan"), float("inf")])
def test_levels_are_rates(level_bps: float) -> None:
    with pytest.raises(UsageError, match="levels_bps"):
        TrafficProfile(status="aperiodic", levels_bps=(0.0, level_bps), fold_bps=np.zeros(0))
