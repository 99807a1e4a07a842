from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from profiler.period import detect_period
from profiler.period.events import LEAST_EVERY, find_events
from tests.profiler.arithmetic import series_of

PERIOD, WIDTH = 20, 6


def _bursts(n_bursts: int, *, large: list[int], factor: float) -> NDArray[np.float64]:
    """Bursts of rate 1, one every 20 bins, of which some carry ``factor`` times as much."""
    rate = np.zeros(PERIOD * n_bursts)
    for i in range(n_bursts):
        rate[PERIOD * i + 5 : PERIOD * i + 5 + WIDTH] = factor if i in large else 1.0
    return rate


def _masked(indices: list[int], n_bins: int) -> NDArray[np.bool_]:
    mask = np.zeros(n_bins, dtype=bool)
    for i in indices:
        mask[PERIOD * i + 4 : PERIOD * i + 6 + WIDTH] = True
    return mask


@settings(max_examples=40, deadline=None)
@given(
    n_bursts=st.integers(2 * LEAST_EVERY, 80),
    factor=st.floats(2.5, 1000.0),
    chosen=st.data(),
)
def test_exactly_the_large_bursts_and_the_bins_beside_them_are_masked(
    n_bursts: int, factor: float, chosen: st.DataObject
) -> None:
    n_large = chosen.draw(st.integers(1, n_bursts // LEAST_EVERY))
    large = chosen.draw(st.lists(st.integers(0, n_bursts - 1), min_size=n_large, max_size=n_large, unique=True))
    rate = _bursts(n_bursts, large=large, factor=factor)
    found = find_events(rate, cut_bps=0.5)
    assert found is not None
    assert np.array_equal(found.mask, _masked(large, rate.size))
    assert found.n_bursts_each == n_bursts / n_large


@pytest.mark.parametrize("factor", [1.0, 1.5, 1.9])
def test_a_burst_of_less_than_twice_the_usual_bytes_is_no_event(factor: float) -> None:
    assert find_events(_bursts(40, large=[7, 20], factor=factor), cut_bps=0.5) is None


def test_what_comes_with_every_eighth_burst_or_oftener_is_part_of_the_iteration() -> None:
    for every in (2, 4, 8):
        assert find_events(_bursts(72, large=list(range(0, 72, every)), factor=5.0), cut_bps=0.5) is None
    assert find_events(_bursts(72, large=list(range(0, 72, 9)), factor=5.0), cut_bps=0.5) is not None


def test_ten_small_bursts_and_a_large_one_are_one_iteration() -> None:
    rate = np.zeros(60 * 200)
    for start in range(0, rate.size, 200):
        rate[start : start + 60] = 1.0
        for i in range(10):
            first = start + 80 + 10 * i
            rate[first : first + 4] = 0.5
    found = detect_period(series_of(rate, dt_s=0.005))
    assert found.period_s == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("every", [10, 14, 25])
def test_a_job_with_a_checkpoint_every_so_many_iterations_has_its_own_period(every: int) -> None:
    starts = np.arange(200) + 1.0 * (np.arange(200) // every)
    rate = np.zeros(round(20 * (starts[-1] + 2)))
    for i, start in enumerate(starts):
        first = round(20 * start) + 5
        rate[first : first + (30 if i % every == every - 1 else 6)] = 1.0
    found = detect_period(series_of(rate, dt_s=0.05))
    assert found.period_s == pytest.approx(1.0, rel=0.01)
