from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.period.clock import clocked_starts
from profiler.period.length import typical_length
from profiler.period.medians import median, robust_spread, upper_quartile
from profiler.period.timekeeping import fit_clock, lag1
from tests.profiler.arithmetic import boxes, prepared_of

PERIOD_S, DT_S = 1.037, 0.01


def _read(starts_s: np.ndarray, dt_s: float) -> np.ndarray:
    """Return instants as a sampler sees them: at the end of the window before."""
    return np.floor(starts_s / dt_s) * dt_s


@pytest.mark.parametrize(("error_s", "n_starts"), [(0.0, 40), (0.002, 40), (0.02, 60), (0.08, 200)])
def test_a_clock_read_with_errors_is_found_and_its_error_holds_the_truth(error_s: float, n_starts: int) -> None:
    held, n_found = 0, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        starts_s = 0.4 + PERIOD_S * np.arange(n_starts) + error_s * rng.standard_normal(n_starts) + rng.random()
        clock = fit_clock(_read(starts_s, DT_S), period_s=PERIOD_S, dt_s=DT_S)
        if clock is not None:
            n_found += 1
            held += abs(clock.period_s - PERIOD_S) <= 1.96 * clock.error_s
    # Where chance hides the clock the median speaks, whose interval is the wider one.
    assert n_found >= 160
    assert held >= 0.95 * n_found


@pytest.mark.parametrize("jitter_s", [0.02, 0.05, 0.1])
def test_iterations_that_wait_for_one_another_keep_no_clock(jitter_s: float) -> None:
    clocks = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        starts_s = np.cumsum(PERIOD_S + jitter_s * rng.standard_normal(80))
        clocks.append(fit_clock(_read(starts_s, DT_S), period_s=PERIOD_S, dt_s=DT_S))
    assert sum(clock is not None for clock in clocks) <= 5


def test_a_clock_survives_missing_starts_stalls_and_a_late_one() -> None:
    keep = np.ones(60, dtype=bool)
    keep[[5, 6, 7, 30]] = False
    starts_s = 3.0 + PERIOD_S * np.arange(60)
    starts_s[20] += 0.4
    clock = fit_clock(_read(starts_s, DT_S)[keep], period_s=1.03, dt_s=DT_S)
    assert clock is not None
    assert clock.period_s == pytest.approx(PERIOD_S, abs=2e-4)
    assert clock.nearest(3.0 + 10.3 * PERIOD_S) == pytest.approx(3.0 + 10 * PERIOD_S, abs=2 * DT_S)


def test_seven_starts_are_too_few_for_a_clock() -> None:
    starts_s = PERIOD_S * np.arange(8, dtype=np.float64)
    assert fit_clock(starts_s[:7], period_s=PERIOD_S, dt_s=DT_S) is None
    assert fit_clock(starts_s, period_s=PERIOD_S, dt_s=DT_S) is not None


def test_lengths_are_correlated_by_minus_a_half_for_a_clock_and_not_at_all_where_errors_add_up() -> None:
    noise = np.random.default_rng(1).standard_normal(20_000)
    assert lag1(np.diff(noise)) == pytest.approx(-0.5, abs=0.02)
    assert lag1(noise) == pytest.approx(0.0, abs=0.02)
    assert lag1(np.full(5, 3.0)) == 0.0


@pytest.mark.parametrize(("jitter_frac", "n_lengths"), [(0.03, 40), (0.05, 60), (0.1, 150)])
def test_the_interval_of_a_median_length_holds_the_truth_95_times_in_100(jitter_frac: float, n_lengths: int) -> None:
    held = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        starts_s = _read(np.cumsum(PERIOD_S * (1 + jitter_frac * rng.standard_normal(n_lengths + 1))), DT_S)
        length = typical_length(starts_s, np.diff(starts_s), dt_s=DT_S)
        held += length.low_s <= PERIOD_S <= length.high_s
        assert length.low_s <= length.period_s <= length.high_s
    assert held >= 0.92 * 300


@pytest.mark.parametrize("period", [5.317, 9.713, 24.61])
@pytest.mark.parametrize("wander", [0.0, 0.1])
def test_clocked_starts_lie_one_period_apart_and_follow_a_clock_that_wanders(period: float, wander: float) -> None:
    n_bins = round(200 * period)
    cycles = np.arange(-1, 203)
    true_starts = period * (cycles + wander * np.sin(2 * np.pi * cycles / 100))
    prepared = prepared_of(boxes(true_starts, 0.3 * period, n_bins=n_bins))
    starts = clocked_starts(prepared, period)
    assert 198 <= starts.size <= 201
    away = starts[:, None] - true_starts[None]
    nearest = away[np.arange(starts.size), np.abs(away).argmin(axis=1)]
    # The same point of every iteration: that at which the folded iteration rises most.
    assert np.abs(nearest - np.median(nearest)).max() < 0.1 * period
    assert abs(np.median(nearest)) < 0.5 + 0.1 * period


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_medians_are_those_of_numpy(values: list[float]) -> None:
    array = np.array(values)
    assert median(array) == pytest.approx(np.median(array), rel=1e-12, abs=1e-9)
    assert robust_spread(array) == pytest.approx(1.4826 * np.median(np.abs(array - np.median(array))), abs=1e-6)
    assert upper_quartile(array) == np.sort(array)[3 * array.size // 4]
