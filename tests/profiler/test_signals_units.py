from __future__ import annotations

import numpy as np
import pytest

from profiler.errors import UsageError
from profiler.rates import rate_series
from profiler.schema import Flag
from profiler.signals import RateSeries, unit_error
from profiler.store import Series

SECOND = 1_000_000_000
PORT = Series(host="h", device="eth0", direction="transmit", layer="netdev")


def _steady(bytes_per_s: float, *, n_seconds: int = 100) -> RateSeries:
    return RateSeries.from_deltas(np.arange(n_seconds + 1) * SECOND, np.full(n_seconds, bytes_per_s))


def test_a_window_over_capacity_is_impossible_and_not_known() -> None:
    volumes = np.full(100, 1e9)
    volumes[40] = 1e11
    series = RateSeries.from_deltas(np.arange(101) * SECOND, volumes, capacity_bps=10e9)
    assert np.flatnonzero(series.flags == Flag.IMPOSSIBLE).tolist() == [40]
    assert np.flatnonzero(~series.known).tolist() == [40]
    assert series.delta_bytes.sum() == volumes.sum()
    for capacity_bps in (0.0, -1.0, np.nan):
        with pytest.raises(UsageError, match="positive"):
            RateSeries.from_deltas([0, 1], [1], capacity_bps=capacity_bps)


def test_reads_timed_a_little_off_do_not_make_a_full_link_impossible() -> None:
    rng = np.random.default_rng(5)
    t_ns = np.arange(2001) * 10**6 + rng.integers(0, 10**5, 2001)
    series = RateSeries.from_counter(t_ns, np.arange(2001) * 1_250_000, capacity_bps=10e9)
    assert (series.rate_bps > 1.05 * 10e9).any()
    assert not series.flags.any()


def test_words_counted_twice_over_are_a_unit_error_not_traffic() -> None:
    assert unit_error(_steady(1e9), capacity_bps=10e9) is None
    said = unit_error(_steady(4e9), capacity_bps=10e9)
    assert said is not None
    assert "divide by 4" in said
    assert "bits for bytes" in str(unit_error(_steady(8e9), capacity_bps=10e9))
    assert "no unit explains" in str(unit_error(_steady(40e9), capacity_bps=10e9))


def test_one_window_over_capacity_is_no_unit_error() -> None:
    volumes = np.full(1000, 1e9)
    volumes[40] = 1e11
    assert unit_error(RateSeries.from_deltas(np.arange(1001) * SECOND, volumes), capacity_bps=10e9) is None


def test_two_ends_that_differ_by_four_say_which_is_wrong() -> None:
    here, there = _steady(4e9), _steady(1.003e9)
    assert unit_error(here, other_end=_steady(3.99e9)) is None
    assert "4 times what the other end" in str(unit_error(here, other_end=there))
    assert "a quarter of what the other end" in str(unit_error(there, other_end=here))
    assert "divide by 4" in str(unit_error(here, capacity_bps=10e9, other_end=there))
    assert "the other end" in str(unit_error(there, capacity_bps=10e9, other_end=here))
    assert unit_error(here, other_end=_steady(1.5e9)) is None


def test_a_series_with_a_wrong_unit_is_noted_where_the_capacity_is_known() -> None:
    t_ns, value = np.arange(100) * SECOND, np.arange(100) * 4 * 10**9
    wrong = rate_series(PORT, t_ns=t_ns, value=value, capacity_bps=10e9)
    assert "divide by 4" in wrong.notes[0]
    assert not wrong.flags.any()
    right = rate_series(PORT, t_ns=t_ns, value=value, capacity_bps=100e9)
    assert right.notes == ()
