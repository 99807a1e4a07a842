"""The clocks of counters under jobs at round times, polled at round intervals: across holes, resets, wraps, wander."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler import RateSeries
from profiler.refresh import refresh_of_moves

Floats = NDArray[np.floating[Any]]

T0_NS = 1_796_000_000_000_000_000
BYTES_PER_S = 6e9 / 8
LENGTH_S = 3600.0


def _total(t_s: Floats, *, period_s: float, up_s: float) -> Floats:
    """Return the bytes of a job that sends for ``up_s`` in each period."""
    cycle, rest_s = np.divmod(np.maximum(t_s, 0.0), period_s)
    total: Floats = (cycle * up_s + np.minimum(rest_s, up_s)) * BYTES_PER_S
    return total


def _read(polls_s: Floats, ticks_s: Floats, *, period_s: float = 20.0, up_s: float = 8.0) -> NDArray[np.int64]:
    """Return what polls read of a counter that is copied at its ticks."""
    copied = np.floor(_total(ticks_s, period_s=period_s, up_s=up_s))
    return copied[np.searchsorted(ticks_s, polls_s, side="right") - 1].astype(np.int64)


def _series(polls_s: Floats, value: NDArray[np.int64], *, width_bits: int = 64) -> RateSeries:
    return RateSeries.from_counter(T0_NS + np.round(polls_s * 1e9).astype(np.int64), value, width_bits=width_bits)


def _up_s(series: RateSeries) -> float:
    """Return for how long there was traffic at more than half the rate that the job sends at."""
    busy = series.known & (series.rate_bps > 0.5 * 8 * BYTES_PER_S)
    return float(np.diff(series.edges_ns)[busy].sum()) / 1e9


def _ticks() -> Floats:
    return np.arange(-2, LENGTH_S + 2) + 0.7


def test_a_clock_is_found_across_two_holes_and_a_reset() -> None:
    polls_s = np.arange(0, LENGTH_S - 1, 0.4)
    polls_s = polls_s[((polls_s < 700) | (polls_s > 763.2)) & ((polls_s < 1500) | (polls_s > 1530.7))]
    value = _read(polls_s, _ticks())
    base = int(_total(np.array([2000.0]), period_s=20.0, up_s=8.0)[0])
    is_after = polls_s >= 2000.7
    series = _series(polls_s, np.where(is_after, value - base, value + 3 * 10**9))
    assert series.refresh_s == pytest.approx(1.0, rel=1e-4)
    assert series.rate_bps[series.known].max() == pytest.approx(8 * BYTES_PER_S, rel=0.04)
    # The holes hide five bursts of 8 s and 3.2 s of one more.
    assert _up_s(series) == pytest.approx(180 * 8 - 43.2, abs=4)


def test_wraps_of_a_32_bit_counter_hide_no_clock() -> None:
    polls_s = np.arange(0, LENGTH_S - 1, 0.4)
    series = _series(polls_s, _read(polls_s, _ticks()) % 2**32, width_bits=32)
    assert series.refresh_s == pytest.approx(1.0, rel=1e-4)
    assert series.rate_bps.max() == pytest.approx(8 * BYTES_PER_S, rel=0.04)


@pytest.mark.parametrize(("poll_s", "period_s"), [(0.4, 20.0), (0.4, 26.3), (0.6, 26.3)])
def test_a_clock_that_wanders_by_several_ticks_is_followed(poll_s: float, period_s: float) -> None:
    polls_s = np.arange(0, LENGTH_S - 1, poll_s)
    n = np.arange(LENGTH_S + 10)
    rng = np.random.default_rng(3)
    ticks_s = np.cumsum(1 + 0.004 * np.sin(n / 400) + 0.0005 * rng.standard_normal(n.size)) - 1.3
    series = _series(polls_s, _read(polls_s, ticks_s, period_s=period_s, up_s=8.0))
    assert series.refresh_s == pytest.approx(1.0, rel=5e-3)
    edges_s = (series.edges_ns - T0_NS) / 1e9
    nearest_s = ticks_s[np.searchsorted(0.5 * (ticks_s[1:] + ticks_s[:-1]), edges_s)]
    assert np.mean(np.abs(edges_s - nearest_s) < 0.5 * poll_s) > 0.97
    assert _up_s(series) == pytest.approx(8.0 * LENGTH_S / period_s, rel=0.04)


@pytest.mark.parametrize("poll_jitter_s", [0.0, 0.01])
@pytest.mark.parametrize(("period_s", "up_s"), [(20.0, 8.0), (20.013, 8.0), (26.3, 9.0), (40.0, 19.0)])
def test_a_clock_of_two_polls_is_found_under_bursts_of_any_period(
    poll_jitter_s: float, period_s: float, up_s: float
) -> None:
    rng = np.random.default_rng(4)
    polls_s = np.arange(7000) * 0.5 + rng.uniform(0, 1, 7000) * poll_jitter_s
    series = _series(polls_s, _read(polls_s, np.arange(-2, 3502) + 0.3, period_s=period_s, up_s=up_s))
    assert series.refresh_s == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("wander_frac", [0.0, 0.004])
def test_no_job_of_an_iteration_that_wanders_is_followed_as_a_clock(wander_frac: float) -> None:
    taken = []
    for i, period_s in enumerate(np.geomspace(1.2, 60.0, 60)):
        rng = np.random.default_rng([5, i])
        polls_s = np.arange(6000) * 0.5 + rng.uniform(0, 1, 6000) * rng.choice([0.0, 0.01])
        n = np.arange(int(3000 / period_s) + 10)
        starts_s = np.cumsum(period_s * (1 + wander_frac * np.sin(n * period_s / 400))) - period_s
        up_s = rng.uniform(0.2, 0.8) * period_s
        knots_s = np.stack([starts_s, starts_s + up_s], axis=1).ravel()
        total = np.interp(polls_s, knots_s, np.repeat(np.arange(n.size + 1.0), 2)[1:-1] * up_s * BYTES_PER_S)
        t_ns = T0_NS + np.round(polls_s * 1e9).astype(np.int64)
        if refresh_of_moves(t_ns, np.diff(np.floor(total))) is not None:
            taken.append((period_s, up_s))
    assert taken == []


@pytest.mark.parametrize(("poll_s", "period_s", "up_s"), [(0.8, 20.0, 8.0), (0.4, 26.3, 9.0), (0.4, 35.9, 14.0)])
def test_a_clock_of_which_ticks_fall_into_the_jitter_of_polls_is_found(
    poll_s: float, period_s: float, up_s: float
) -> None:
    rng = np.random.default_rng(8)
    polls_s = np.arange(1, 6000) * poll_s + rng.uniform(-0.01, 0.01, 5999)
    series = _series(polls_s, _read(polls_s, np.arange(-2.0, polls_s[-1] + 2), period_s=period_s, up_s=up_s))
    assert series.refresh_s == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(("period_s", "up_s"), [(20.0, 8.0), (20.013, 8.0), (26.3, 9.0)])
def test_a_clock_that_ticks_about_when_polls_come_is_found_by_what_they_miss_and_see_twice(
    period_s: float, up_s: float
) -> None:
    polls_s = np.arange(1.0, LENGTH_S) + np.random.default_rng(9).uniform(-0.03, 0.03, int(LENGTH_S) - 1)
    value = _read(polls_s, np.arange(-2, LENGTH_S + 2) + 0.01, period_s=period_s, up_s=up_s)
    assert np.diff(value).max() == pytest.approx(2 * BYTES_PER_S, rel=1e-6)
    series = _series(polls_s, value)
    assert series.refresh_s == pytest.approx(1.0, rel=1e-4)
    assert np.quantile(series.rate_bps, 0.98) == pytest.approx(8 * BYTES_PER_S, rel=0.04)
    assert _up_s(series) == pytest.approx(up_s * LENGTH_S / period_s, rel=0.04)
