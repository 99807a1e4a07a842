from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler import RateSeries
from profiler.period import detect_period
from profiler.rates import rate_series
from profiler.refresh import at_ticks, refresh_of_moves
from profiler.refresh.lines import Events, clocks_near
from profiler.schema import Flag
from profiler.store import Series
from profiler.synth import training_job
from tests.data import SAMPLE_DATA, rates_of, shared

TICK_S = 1.0
PHASE_S = 0.37
FULL_BYTES_PER_S = 50e9 / 8
T0_NS = 1_716_480_000_000_000_000

Floats = NDArray[np.floating[Any]]
Whole = NDArray[np.int64]
Total = Callable[[Floats], Floats]


def _job(
    rng: np.random.Generator,
    *,
    period_s: float,
    duty_frac: float,
    duration_s: float,
    jitter_frac: float = 0.0,
    chatter_bytes_per_s: float = 0.0,
) -> Total:
    """Return the cumulative bytes of a job with one burst an iteration, and nothing else but chatter."""
    n_cycles = int(duration_s / period_s * 1.3) + 3
    lengths_s = period_s * (1 + jitter_frac * np.clip(rng.standard_normal(n_cycles), -2.5, 2.5))
    starts_s = np.cumsum(lengths_s) - lengths_s[0] - rng.uniform(0, period_s)
    knots_s = np.stack([starts_s, starts_s + duty_frac * period_s], axis=1).ravel()
    up_s = np.cumsum(np.tile([0.0, duty_frac * period_s], n_cycles))
    return lambda t_s: np.floor(
        np.interp(t_s, knots_s, up_s) * FULL_BYTES_PER_S + np.maximum(t_s, 0) * chatter_bytes_per_s
    )


def _copied(total: Total, polls_s: Floats, ticks_s: Floats) -> Whole:
    """Read a counter that is copied at its ticks."""
    return total(ticks_s[np.searchsorted(ticks_s, polls_s, side="right") - 1]).astype(np.int64)


def _ns(t_s: Floats) -> Whole:
    return T0_NS + np.round(t_s * 1e9).astype(np.int64)


def _uneven_polls(rng: np.random.Generator, *, duration_s: float) -> Floats:
    """Poll as the recorder of a real fabric does."""
    polls_s = np.cumsum(rng.choice([0.5, 0.566, 0.632, 0.824], size=int(2 * duration_s), p=[0.2, 0.5, 0.2, 0.1]))
    return polls_s[polls_s < duration_s]


def _fabric(rng: np.random.Generator, *, period_s: float, duration_s: float) -> tuple[Whole, Whole]:
    polls_s = _uneven_polls(rng, duration_s=duration_s)
    total = _job(rng, period_s=period_s, duty_frac=0.45, duration_s=duration_s, jitter_frac=0.002)
    ticks_s = np.arange(-2, duration_s) * TICK_S + PHASE_S
    return _ns(polls_s), _copied(total, polls_s, ticks_s)


def test_the_refresh_of_a_counter_is_found_with_its_phase() -> None:
    t_ns, value = _fabric(np.random.default_rng(1), period_s=11.404, duration_s=3000.0)
    found = refresh_of_moves(t_ns, np.diff(value).astype(np.float64))
    assert found is not None
    assert found.interval_s == pytest.approx(TICK_S, rel=1e-4)
    tick_s = (found.t0_ns - T0_NS) / 1e9 + found.phase_s
    assert abs((tick_s - PHASE_S + 0.5) % 1.0 - 0.5) < 0.02


def test_a_series_rebuilt_at_its_ticks_has_the_bytes_of_each_tick() -> None:
    rng = np.random.default_rng(2)
    polls_s = _uneven_polls(rng, duration_s=1800.0)
    total = _job(rng, period_s=25.63, duty_frac=0.45, duration_s=1800.0, chatter_bytes_per_s=1e4)
    ticks_s = np.arange(-2, 1800) * TICK_S + PHASE_S
    series = RateSeries.from_counter(_ns(polls_s), _copied(total, polls_s, ticks_s))
    edges_s = (series.edges_ns - T0_NS) / 1e9
    true_s = np.round(edges_s - PHASE_S) + PHASE_S
    assert np.abs(edges_s - true_s).max() < 0.02
    expected = np.diff(total(true_s))
    assert np.mean(series.delta_bytes == expected) > 0.98
    assert series.delta_bytes.sum() == pytest.approx(expected.sum(), abs=FULL_BYTES_PER_S)


@pytest.mark.parametrize("period_s", [11.404, 25.63])
def test_neither_the_refresh_nor_its_beat_with_the_polls_is_a_period(period_s: float) -> None:
    t_ns, value = _fabric(np.random.default_rng(3), period_s=period_s, duration_s=3600.0)
    series = Series(host="leaf", device="p1", direction="receive", layer="netdev")
    deltas = np.diff(value)
    for rate in (
        rate_series(series, t_ns=t_ns, value=value),
        RateSeries.from_counter(t_ns, value),
        RateSeries.from_deltas(t_ns, deltas),
    ):
        assert rate.refresh_s == pytest.approx(TICK_S, rel=1e-4)
        assert rate.delta_bytes.sum() == deltas.sum()
        assert detect_period(rate).period_s == pytest.approx(period_s, rel=0.01)


def test_ticks_that_were_read_twice_are_stale_and_those_between_reads_missed() -> None:
    rng = np.random.default_rng(4)
    t_ns, value = _fabric(rng, period_s=7.0, duration_s=900.0)
    keep = (t_ns - T0_NS) // 10**9 % 100 != 50
    series = RateSeries.from_counter(t_ns[keep], value[keep])
    n_reads = np.histogram(t_ns[keep], np.append(series.edges_ns, t_ns[-1] + 1))[0]
    stale = (series.flags & Flag.STALE) != 0
    assert np.mean(stale == (n_reads[1:] > 1)) > 0.98
    assert series.n_stale == keep.sum() - series.edges_ns.size
    missed = np.flatnonzero(series.flags & Flag.MISSED)
    seen = np.unique(np.floor((t_ns[keep] - T0_NS) / 1e9 - PHASE_S))
    assert missed.size == np.count_nonzero(np.diff(seen) > 1) > 3
    assert np.diff(series.edges_ns)[missed] == pytest.approx(2e9, rel=0.01)


@pytest.mark.parametrize(
    ("poll_s", "refresh_s"),
    [
        (0.001, 0.05),
        (0.001, 0.0103),
        (0.01, 1.0),
        (0.001, 0.0035),
        (0.1, 0.24),
        (1.0, 1.3),
        (1.0, 1.1),
        (1.0, 1.03),
        (0.6, 1.0),
    ],
)
@pytest.mark.parametrize("chatter_bytes_per_s", [0.0, 1e5])
def test_clocks_from_just_slower_to_far_slower_than_the_polls_are_found(
    poll_s: float, refresh_s: float, chatter_bytes_per_s: float
) -> None:
    rng = np.random.default_rng(5)
    duration_s = poll_s * 8192
    total = _job(
        rng,
        period_s=9.7 * refresh_s,
        duty_frac=0.5,
        duration_s=duration_s,
        jitter_frac=0.002,
        chatter_bytes_per_s=chatter_bytes_per_s,
    )
    polls_s = np.arange(8192) * poll_s
    ticks_s = (np.arange(-2, duration_s / refresh_s + 1) + 0.37) * refresh_s
    series = RateSeries.from_counter(_ns(polls_s), _copied(total, polls_s, ticks_s))
    assert series.refresh_s == pytest.approx(refresh_s, rel=1e-3)
    ticks = (series.edges_ns - T0_NS) / 1e9 / refresh_s - 0.37
    assert np.abs(ticks - np.round(ticks)).max() < max(0.02, 0.5 * poll_s / refresh_s)
    seen = np.round(ticks)
    expected = np.diff(total((seen + 0.37) * refresh_s))
    assert np.mean(np.abs(series.delta_bytes - expected) <= 1) > 0.97


@pytest.mark.parametrize("refresh_s", [0.75, 0.9, 0.97, 0.985])
def test_a_clock_a_little_faster_than_the_polls_draws_no_beat(refresh_s: float) -> None:
    rng = np.random.default_rng(11)
    polls_s = np.arange(6000) * 1.0
    ticks_s = (np.arange(-2, 6002 / refresh_s) + 0.37) * refresh_s
    steady = _copied(lambda t_s: (t_s + 2) * 1e9, polls_s, ticks_s)
    series = RateSeries.from_counter(_ns(polls_s), steady)
    assert series.refresh_s == pytest.approx(refresh_s, rel=1e-4)
    assert series.rate_bps == pytest.approx(8e9, rel=0.01)
    assert detect_period(series).period_s is None
    job = _job(rng, period_s=33.3, duty_frac=0.5, duration_s=6000.0, jitter_frac=0.01, chatter_bytes_per_s=1e8)
    found = detect_period(RateSeries.from_counter(_ns(polls_s), _copied(job, polls_s, ticks_s)))
    assert found.period_s == pytest.approx(33.3, rel=0.02)


def test_a_clock_whose_ticks_come_a_few_per_cent_early_or_late_is_found() -> None:
    rng = np.random.default_rng(6)
    total = _job(rng, period_s=0.51, duty_frac=0.5, duration_s=20.0, jitter_frac=0.005)
    polls_s = np.arange(20_000) * 0.001
    for ticks_s in (
        (np.arange(-2, 402) + rng.uniform(-0.03, 0.03, 404)) * 0.05,
        np.cumsum(0.05 * (1 + 0.03 * rng.standard_normal(430))) - 0.1,
    ):
        series = RateSeries.from_counter(_ns(polls_s), _copied(total, polls_s, ticks_s))
        assert series.refresh_s == pytest.approx(0.05, rel=0.01)
        edges_s = (series.edges_ns - T0_NS) / 1e9
        moved = total(edges_s[1:]) - total(edges_s[:-1])
        assert np.abs(series.delta_bytes - moved).mean() < 0.05 * FULL_BYTES_PER_S * 0.05


def test_a_steady_stream_behind_a_slow_clock_has_no_period() -> None:
    polls_s = np.arange(20_000) * 0.001
    value = _copied(lambda t_s: (t_s + 1) * 1e9, polls_s, np.arange(-1, 402) * 0.05 + 0.013)
    series = RateSeries.from_counter(_ns(polls_s), value)
    assert series.refresh_s == pytest.approx(0.05, rel=1e-4)
    assert series.delta_bytes[1:] == pytest.approx(0.05e9)
    assert detect_period(series).period_s is None


@pytest.mark.parametrize("jitter_frac", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("duty_frac", [0.1, 0.3, 0.6, 0.9])
def test_the_silence_of_a_job_is_no_stale_counter(duty_frac: float, jitter_frac: float) -> None:
    for seed, n_windows in enumerate((20.0, 25.5, 57.3, 100.0, 255.0, 801.7)):
        rng = np.random.default_rng([7, seed])
        duration_s = 10.0
        total = _job(
            rng, period_s=n_windows * 0.001, duty_frac=duty_frac, duration_s=duration_s, jitter_frac=jitter_frac
        )
        polls_s = np.arange(10_000) * 0.001 + rng.uniform(0, 1e-4, 10_000)
        value = total(polls_s).astype(np.int64)
        assert (np.diff(value) == 0).mean() > 0.9 * (1 - duty_frac) - 0.05
        assert RateSeries.from_counter(_ns(polls_s), value).refresh_s is None
        assert RateSeries.from_deltas(_ns(polls_s), np.diff(value)).refresh_s is None


def test_two_silences_of_a_poll_in_each_iteration_are_no_stale_counter() -> None:
    polls_s = np.arange(8000) * 0.001
    for period_s, gap_s in ((0.0157, 0.0021), (0.0301, 0.0017), (0.096, 0.0015)):
        in_cycle_s = polls_s % period_s
        silent = (in_cycle_s < gap_s) | (np.abs(in_cycle_s - 0.45 * period_s) < 0.5 * gap_s)
        volumes = np.where(silent, 0, 6_000_000)[1:]
        assert RateSeries.from_deltas(_ns(polls_s), volumes).refresh_s is None


def test_random_transfers_shorter_than_a_poll_are_no_clock() -> None:
    for seed in range(10):
        rng = np.random.default_rng([8, seed])
        moved = rng.uniform(size=8000) < rng.choice([0.02, 0.1, 0.5, 0.95])
        volumes = np.where(moved, rng.integers(1, 10**6, 8000), 0)
        polls_s = np.cumsum(rng.uniform(0.8, 1.2, 8001)) * 0.01
        assert RateSeries.from_deltas(_ns(polls_s), volumes).refresh_s is None


def test_a_hole_of_minutes_and_a_clock_that_wanders_keep_the_ticks() -> None:
    rng = np.random.default_rng(9)
    polls_s = _uneven_polls(rng, duration_s=3000.0)
    polls_s = polls_s[(polls_s < 700) | (polls_s > 950)]
    total = _job(rng, period_s=9.0, duty_frac=0.5, duration_s=3000.0, chatter_bytes_per_s=1e5)
    ticks_s = np.arange(-2, 3002.0) + 0.37
    ticks_s += 0.05 * np.sin(ticks_s / 500)
    value = _copied(total, polls_s, ticks_s)
    series = RateSeries.from_counter(_ns(polls_s), value)
    assert series.refresh_s == pytest.approx(1.0, rel=1e-3)
    assert series.delta_bytes.sum() == value[-1] - value[0]
    edges_s = (series.edges_ns - T0_NS) / 1e9
    nearest_s = ticks_s[np.searchsorted(ticks_s, edges_s + 0.5) - 1]
    assert np.abs(edges_s - nearest_s).mean() < 0.03
    hole = int(np.argmax(np.diff(series.edges_ns)))
    assert not series.known[hole]
    assert series.flags[hole] & Flag.MISSED


def test_the_first_and_the_last_poll_are_always_read() -> None:
    t_ns, value = _fabric(np.random.default_rng(10), period_s=7.0, duration_s=300.0)
    found = refresh_of_moves(t_ns, np.diff(value).astype(np.float64))
    assert found is not None
    ticks = at_ticks(t_ns, found)
    assert (ticks.i_poll[0], ticks.i_poll[-1]) == (0, t_ns.size - 1)
    assert (np.diff(ticks.i_poll) > 0).all()
    assert (np.diff(ticks.t_ns) > 0).all()
    assert ticks.n_polls.sum() == t_ns.size


def test_polls_that_keep_their_own_time_have_no_refresh() -> None:
    job = training_job(np.random.default_rng(4), period_s=0.255, duration_s=20.0, dt_s=0.001)
    assert refresh_of_moves(job.series.edges_ns, job.series.delta_bytes) is None
    assert refresh_of_moves(np.arange(10), np.ones(9)) is None
    assert refresh_of_moves(np.zeros(0, dtype=np.int64), np.zeros(0)) is None


@pytest.mark.parametrize("name", ["solo", "free", "paced", "unequal"])
def test_counters_of_the_rig_have_no_refresh(name: str) -> None:
    assert all(rate.refresh_s is None for rate in rates_of(shared(f"rig/{name}.csv.gz")).values())


@pytest.mark.parametrize("name", ["alone_a", "alone_b", "shared"])
def test_counters_of_the_sample_data_have_no_refresh(name: str) -> None:
    assert all(rate.refresh_s is None for rate in rates_of(SAMPLE_DATA / f"{name}.csv.gz").values())


def test_a_clock_seen_in_the_first_quarter_only_is_found() -> None:
    mid_s = np.arange(4000, dtype=np.float64) * 0.6
    is_stale = np.diff(np.floor(0.6 * np.arange(4001) + 0.3)) == 0
    happened = is_stale & (np.arange(4000) < 900)
    best = next(clocks_near(Events(mid_s=mid_s, happened=happened, phase=0.0), low_hz=0.5, high_hz=1.5))
    assert best.interval_s == pytest.approx(1.0, rel=1e-3)
    assert best.knots_s.shape == best.knots_ticks.shape
