from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.errors import BadInput, UsageError
from profiler.period import detect_period
from profiler.rates import rate_series
from profiler.schema import Flag
from profiler.signals import RateSeries
from profiler.store import Series

SECOND = 1_000_000_000


def test_rates_are_bits_per_second_of_each_window() -> None:
    series = RateSeries.from_counter([0, SECOND, 3 * SECOND], [1000, 1125, 1375])
    assert series.rate_bps.tolist() == [1000.0, 1000.0]
    assert series.mean_bps == 1000.0
    assert series.duration_s == 3.0


def test_a_wrap_of_a_32_bit_counter_keeps_its_bytes() -> None:
    series = RateSeries.from_counter([0, 1, 2], [2**32 - 100, 50, 150], width_bits=32)
    assert series.delta_bytes.tolist() == [150.0, 100.0]
    assert series.flags.tolist() == [Flag.WRAP, 0]
    assert series.known.all()


def test_a_reset_is_no_wrap_and_its_window_is_not_known() -> None:
    series = RateSeries.from_counter([0, 1, 2], [10**15, 40, 90])
    assert series.delta_bytes.tolist() == [40.0, 50.0]
    assert series.flags.tolist() == [Flag.RESET, 0]
    assert series.known.tolist() == [False, True]


def test_a_counter_stuck_at_its_end_is_saturated_and_not_known() -> None:
    series = RateSeries.from_counter([0, 1, 2], [2**32 - 2, 2**32 - 1, 2**32 - 1], width_bits=32)
    assert series.flags.tolist() == [Flag.SATURATED, Flag.SATURATED]
    assert not series.known.any()


def test_late_reads_are_put_in_order_and_repeated_ones_dropped() -> None:
    series = RateSeries.from_counter([0, 2, 1, 2], [0, 20, 10, 20])
    assert series.delta_bytes.tolist() == [10.0, 10.0]
    assert (series.n_late, series.n_duplicate) == (1, 1)


def test_a_hole_keeps_its_bytes_but_not_their_shape() -> None:
    t_ns = np.append(np.arange(10), [500, 501]) * SECOND
    series = RateSeries.from_counter(t_ns, np.arange(12) * 1000)
    assert series.known.sum() == 10
    assert series.delta_bytes.sum() == 11_000
    uniform = series.resample(1.0)
    assert not uniform.known[10:499].any()
    assert uniform.rate_bps[uniform.known] == pytest.approx(8000.0)


def test_negative_or_unfinite_values_name_their_place() -> None:
    with pytest.raises(BadInput, match=r"value\[1\] = -5"):
        RateSeries.from_counter([0, 1], [0, -5])
    with pytest.raises(BadInput, match=r"value\[0\] = nan"):
        RateSeries.from_counter([0, 1], [float("nan"), 1])
    with pytest.raises(BadInput, match=r"delta_bytes\[0\] = -1"):
        RateSeries.from_deltas([0, 1], [-1])
    with pytest.raises(BadInput, match="one more time"):
        RateSeries.from_deltas([0, 1], [1, 2])
    with pytest.raises(BadInput, match=r"t_ns\[2\] does not come after"):
        RateSeries.from_deltas([0, 2, 2], [1, 2])
    with pytest.raises(BadInput, match="63 bits"):
        RateSeries.from_counter(np.array([0, 2**63], dtype=np.uint64), [0, 1])
    with pytest.raises(BadInput, match="2\\*\\*64"):
        RateSeries.from_counter([0, 1], [0, 2**64])


def test_nothing_and_one_read_make_an_empty_series() -> None:
    for series in (RateSeries.from_counter([], []), RateSeries.from_counter([5], [5])):
        assert (series.n_samples, series.duration_s, series.mean_bps, series.dt_s) == (0, 0.0, 0.0, 0.0)
        with pytest.raises(UsageError, match="need one window"):
            series.resample(1.0)


def test_a_part_of_a_series_has_its_windows_and_edges() -> None:
    series = RateSeries.from_counter(np.arange(11) * SECOND, np.arange(11) * 10)
    part = series.between(3, 6)
    assert (part.n_samples, part.duration_s) == (3, 3.0)
    assert part.edges_ns[0] == 3 * SECOND
    assert series.between(4, 4).n_samples == 0


def test_a_single_low_read_is_dropped_and_moves_no_bytes() -> None:
    values = 10**13 + np.arange(10) * 20_000
    values[5] -= 40_000
    series = RateSeries.from_counter(np.arange(10) * 10**6, values)
    assert series.n_glitches == 1
    assert series.delta_bytes.sum() == 9 * 20_000
    assert series.known.all()


def test_a_step_back_that_is_neither_reset_nor_bad_read_moves_nothing_and_is_not_known() -> None:
    series = RateSeries.from_counter([0, 1, 2, 3], [10**13, 10**13 - 100, 10**13 - 90, 10**13 - 80])
    assert series.delta_bytes.tolist() == [0.0, 10.0, 10.0]
    assert series.flags.tolist() == [Flag.IMPOSSIBLE, 0, 0]
    assert series.known.tolist() == [False, True, True]


def test_bytes_of_a_window_that_is_not_known_do_not_leak_into_its_neighbours() -> None:
    t_ns = np.arange(20) * SECOND
    values = np.arange(20) * 1000
    values[10:] += 10**12 - 10_000_000_000
    values = np.where(np.arange(20) < 10, values + 3 * 10**12, values)
    uniform = RateSeries.from_counter(t_ns, values).resample(0.7)
    assert uniform.rate_bps[uniform.known] == pytest.approx(8000.0)


def test_what_the_recorder_knew_of_a_read_counts() -> None:
    series = RateSeries.from_counter(np.arange(4) * SECOND, [0, 10, 20, 20])
    flagged = series.flagged(np.arange(4) * SECOND, np.array([0, 0, Flag.MISSED, Flag.SATURATED], dtype=np.uint16))
    assert flagged.flags.tolist() == [0, Flag.MISSED, Flag.SATURATED]
    assert flagged.known.tolist() == [True, True, False]


@given(
    steps=st.lists(st.tuples(st.integers(1, 10**7), st.integers(0, 10**9)), min_size=4, max_size=60),
    dt_s=st.floats(1e-3, 1.0),
)
def test_resampling_conserves_bytes_up_to_the_last_whole_bin(steps: list[tuple[int, int]], dt_s: float) -> None:
    t_ns = np.concatenate(([0], np.cumsum([step for step, _ in steps]))) * 1000
    delta_bytes = [volume for _, volume in steps]
    series = RateSeries.from_deltas(t_ns, delta_bytes)
    if series.duration_s < dt_s or not series.known.all():
        return
    uniform = series.resample(dt_s)
    moved = float(np.sum(uniform.rate_bps * dt_s / 8))
    end_s = uniform.rate_bps.size * dt_s
    expected = float(np.interp(end_s, t_ns / SECOND, np.concatenate(([0.0], np.cumsum(delta_bytes)))))
    assert moved == pytest.approx(expected, rel=1e-9, abs=1e-3)


@given(st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=50), st.integers(0, 2**32 - 1))
def test_a_wrapping_counter_moves_the_same_bytes_as_one_that_does_not(volumes: list[int], start: int) -> None:
    total = start + np.concatenate(([0], np.cumsum(volumes)))
    t_ns = np.arange(total.size)
    wrapped = RateSeries.from_counter(t_ns, total % 2**32, width_bits=32)
    assert wrapped.delta_bytes.tolist() == volumes


def test_a_counter_that_sticks_is_no_idle_port() -> None:
    series = Series(host="h", device="mlx5_0", direction="transmit", layer="rdma_vport", raw_scale=4.0, width_bits=None)
    t_ns, value = np.arange(200) * 10**7, np.full(200, (2**32 - 1) * 4)
    rate = rate_series(series, t_ns=t_ns, value=value, flags=np.full(200, Flag.SATURATED, dtype=np.uint16))
    found = detect_period(rate)
    assert found.status == "no_data"
    assert "maximum" in found.reason


def test_an_impossible_reading_is_left_out() -> None:
    series = Series(host="h", device="eth0", direction="transmit", layer="netdev")
    value = np.array([0, 10, 2**63 - 4, 30])
    flags = np.array([0, 0, Flag.IMPOSSIBLE, 0], dtype=np.uint16)
    rate = rate_series(series, t_ns=np.arange(4) * 10**9, value=value, flags=flags)
    assert rate.delta_bytes.tolist() == [10.0, 20.0]
