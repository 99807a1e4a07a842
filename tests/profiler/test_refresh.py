from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.period import detect_period
from profiler.rates import rate_series
from profiler.refresh import at_ticks, find_refresh
from profiler.store import Series
from profiler.synth import training_job
from tests.data import rates_of, shared

if TYPE_CHECKING:
    from profiler.signals import RateSeries

TICK_S = 1.0
PHASE_S = 0.37


def _polled(rng: np.random.Generator, series: RateSeries, *, duration_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Copy a counter each second at a phase of its own, and poll the copy unevenly, as a real fabric does."""
    polls_s = np.cumsum(rng.choice([0.5, 0.566, 0.632, 0.824], size=int(duration_s), p=[0.2, 0.5, 0.2, 0.1]))
    polls_s = polls_s[polls_s < duration_s - 2]
    t_s = (series.edges_ns - series.edges_ns[0]) / 1e9
    total = np.concatenate(([0.0], np.cumsum(series.delta_bytes)))
    copied_s = np.floor((polls_s - PHASE_S) / TICK_S) * TICK_S + PHASE_S
    return (polls_s * 1e9).astype(np.int64), np.interp(copied_s, t_s, total).astype(np.int64)


def test_the_refresh_of_a_counter_is_found_with_its_phase() -> None:
    rng = np.random.default_rng(1)
    job = training_job(rng, period_s=11.404, duration_s=3600.0, dt_s=0.05, jitter_frac=0.002)
    found = find_refresh(*_polled(rng, job.series, duration_s=3600.0))
    assert found is not None
    assert found.interval_s == pytest.approx(TICK_S, rel=1e-4)
    first_poll_s = 0.0
    off_s = (found.phase_s + found.t0_ns / 1e9 + first_poll_s - PHASE_S + 0.5) % 1.0 - 0.5
    assert abs(off_s) < 0.1


def test_a_series_rebuilt_at_its_ticks_has_the_bytes_of_each_tick() -> None:
    rng = np.random.default_rng(2)
    job = training_job(rng, period_s=25.63, duration_s=1800.0, dt_s=0.05)
    t_ns, value = _polled(rng, job.series, duration_s=1800.0)
    found = find_refresh(t_ns, value)
    assert found is not None
    ticks_ns, at = at_ticks(t_ns, value, refresh=found)
    assert (np.diff(ticks_ns) > 0).all()
    assert at[-1] - at[0] == value[np.searchsorted(t_ns, ticks_ns[-1])] - value[0]


@pytest.mark.parametrize("period_s", [11.404, 25.63])
def test_neither_the_refresh_nor_its_beat_with_the_polls_is_a_period(period_s: float) -> None:
    rng = np.random.default_rng(3)
    job = training_job(rng, period_s=period_s, duration_s=3600.0, dt_s=0.05, jitter_frac=0.002)
    t_ns, value = _polled(rng, job.series, duration_s=3600.0)
    series = Series(host="leaf", device="p1", direction="receive", layer="netdev")
    rate = rate_series(series, t_ns=t_ns, value=value)
    assert rate.refresh_s == pytest.approx(TICK_S, rel=1e-4)
    assert detect_period(rate).period_s == pytest.approx(period_s, rel=0.01)


def test_polls_that_keep_their_own_time_have_no_refresh() -> None:
    job = training_job(np.random.default_rng(4), period_s=0.255, duration_s=20.0, dt_s=0.001)
    total = np.concatenate(([0.0], np.cumsum(job.series.delta_bytes))).astype(np.int64)
    assert find_refresh(job.series.edges_ns, total) is None
    assert find_refresh(np.arange(10), np.arange(10)) is None
    assert find_refresh(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)) is None


@pytest.mark.parametrize("name", ["solo", "free"])
def test_counters_of_the_rig_have_no_refresh(name: str) -> None:
    assert all(rate.refresh_s is None for rate in rates_of(shared(f"rig/{name}.csv.gz")).values())
