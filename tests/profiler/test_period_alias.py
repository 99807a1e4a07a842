from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from profiler import RateSeries
from profiler.period import PeriodEstimate, detect_period
from profiler.period.alias import N_DEMANDS, N_PARTS, AliasTest, rule_out_aliases
from profiler.period.folding import Fold
from profiler.period.spectrum import alias_periods
from tests.profiler.arithmetic import boxes, uniform_of
from tests.reference import demand_misfit

N_BINS = 6000
PERIODS = (2.317, 2.737, 3.371, 4.393, 5.639, 7.119)


def _tested(parts: NDArray[np.float64], period: float, *, first: float = 0.3) -> AliasTest:
    return rule_out_aliases(uniform_of(parts), np.arange(first, N_BINS, period), period_s=period)


@pytest.mark.parametrize("empty", [0.15, 0.3])
@pytest.mark.parametrize("period", PERIODS)
def test_aliases_are_ruled_out_where_windows_miss_the_burst(period: float, empty: float) -> None:
    """A burst of width u seen through windows of f cycles leaves 1 - u - f of the phases empty.

    A demand averaged over 1 - f, or over whole turns and more, leaves none empty but by being nil nearly everywhere.
    """
    width = 1 - 1 / period - empty
    found = _tested(boxes(np.arange(0.3, N_BINS, period), width * period, n_bins=N_BINS), period)
    assert found.misfit < 0.015
    assert found.ruled_out


@pytest.mark.parametrize("covered", [1.0, 1.1])
@pytest.mark.parametrize("period", PERIODS)
def test_they_are_not_where_every_window_meets_the_burst(period: float, covered: float) -> None:
    """Then a burst of the part of the iteration that is quiet gives the alias the very same windows.

    Averaging over f cycles of a demand, and over the 1 - f that are left, add up to the whole of it.
    """
    width = min(covered - 1 / period, 0.97)
    if width + 1 / period < 1:
        pytest.skip("no burst within an iteration is so wide")
    assert not _tested(boxes(np.arange(0.3, N_BINS, period), width * period, n_bins=N_BINS), period).ruled_out


@pytest.mark.parametrize("period", PERIODS)
def test_the_misfit_is_that_of_the_best_demand_found_step_by_step(period: float) -> None:
    rng = np.random.default_rng(5)
    parts = boxes(np.arange(0.3, N_BINS, period), 0.3 * period, n_bins=N_BINS) + 0.1 * rng.random(N_BINS)
    # Windows whose rates lie in no order fit no demand well.
    parts[::7] = parts[::7][::-1]
    starts = np.arange(0.3, N_BINS, period)
    fold = Fold.of(starts, np.arange(N_BINS, dtype=np.float64), period_s=period, n_parts=N_PARTS)
    means = fold.means(uniform_of(parts).rate_bps, np.ones(N_BINS))
    assert np.ptp(fold.counts(np.ones(N_BINS))) <= 0.2 * N_BINS / N_PARTS
    expected = demand_misfit(means.tolist(), window=1 / period, n_demands=N_DEMANDS, n_sweeps=300)
    assert _tested(parts, period).misfit == pytest.approx(expected, rel=0.2, abs=2e-3)


@given(freq=st.floats(0.01, 0.49), dt_s=st.floats(1e-3, 10.0))
@settings(max_examples=50, deadline=None)
def test_aliases_of_an_alias_are_the_same_periods(freq: float, dt_s: float) -> None:
    periods_s = alias_periods(freq / dt_s, dt_s=dt_s)
    assert list(periods_s) == sorted(periods_s, reverse=True)
    index = np.arange(40)
    waves = [np.cos(2 * np.pi * index * dt_s / period_s) for period_s in periods_s]
    assert all(wave == pytest.approx(waves[0], abs=1e-6) for wave in waves)


def test_a_fold_counts_every_bin_once_and_puts_it_where_its_iteration_is() -> None:
    starts = np.array([2.0, 12.0, 23.0, 33.0, 53.0])
    times = np.arange(60, dtype=np.float64) + 0.5
    fold = Fold.of(starts, times, period_s=10.0, n_parts=10)
    assert fold.counts(np.ones(60)).sum() == 60
    # Before the first and after the last start by the period, in a long iteration by its own length, and across a lost
    # start as two.
    assert fold.part[[0, 1, 2, 11, 12, 22, 23, 43, 53, 59]].tolist() == [8, 9, 0, 9, 0, 9, 0, 0, 0, 6]
    assert fold.means(times, (times == 7.5).astype(float))[5] == 7.5
    assert fold.spread(np.arange(10.0))[7] == 5.0


def _read_in_bunches(period_s: float, *, seed: int) -> PeriodEstimate:
    """Return what is found of 2 MB an iteration, read each 2 ms by a busy host: in bunches, 14 ms at random apart."""
    rng = np.random.default_rng(seed)
    gaps_s = np.where(rng.random(1200) < 0.6, rng.uniform(0.8e-3, 1.4e-3, 1200), rng.uniform(5e-3, 19e-3, 1200))
    t_s = np.cumsum(gaps_s)
    value = np.floor((np.floor(t_s / period_s) + np.minimum(t_s % period_s / 1e-3, 1)) * 2e6)
    return detect_period(RateSeries.from_counter(np.round(t_s * 1e9).astype(np.int64), value.astype(np.uint64)))


def test_reads_at_irregular_times_tell_a_period_of_a_few_windows() -> None:
    for seed in range(6):
        assert _read_in_bunches(0.1, seed=seed).period_s == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("period_s", [0.0043, 0.0071, 0.0113, 0.0131])
def test_reads_at_irregular_times_make_no_slow_period_of_a_fast_one(period_s: float) -> None:
    for seed in range(3):
        assert _read_in_bunches(period_s, seed=seed).period_s is None
