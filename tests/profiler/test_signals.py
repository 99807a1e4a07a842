from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.errors import BadInput, UsageError
from profiler.rates import rate_series
from profiler.schema import Flag
from profiler.signals import RateSeries
from profiler.store import Series

SECOND = 1_000_000_000
PORT = Series(host="h", device="eth0", direction="transmit", layer="netdev")


def test_rates_are_bits_per_second_of_each_window() -> None:
    series = RateSeries.from_counter([0, SECOND, 3 * SECOND], [1000, 1125, 1375])
    assert series.rate_bps.tolist() == [1000.0, 1000.0]
    assert series.mean_bps == 1000.0
    assert series.duration_s == 3.0


def test_negative_or_unfinite_values_name_their_place() -> None:
    with pytest.raises(BadInput, match=r"value\[1\] = -5"):
        RateSeries.from_counter([0, 1], [0, -5])
    with pytest.raises(BadInput, match=r"value\[0\] = nan"):
        RateSeries.from_counter([0, 1], [float("nan"), 1])
    with pytest.raises(BadInput, match=r"delta_bytes\[0\] = -1"):
        RateSeries.from_deltas([0, 1], [-1])
    with pytest.raises(BadInput, match=r"delta_bytes\[1\] = inf"):
        RateSeries.from_deltas([0, 1, 2], [1, np.inf])
    with pytest.raises(BadInput, match=r"t_ns\[1\] = nan"):
        RateSeries.from_deltas([0, float("nan")], [1])
    with pytest.raises(BadInput, match="one more time"):
        RateSeries.from_deltas([0, 1], [1, 2])
    with pytest.raises(BadInput, match="one time for each"):
        RateSeries.from_counter([0, 1], [1])
    with pytest.raises(BadInput, match=r"t_ns\[2\] does not come after"):
        RateSeries.from_deltas([0, 2, 2], [1, 2])
    with pytest.raises(BadInput, match="63 bits"):
        RateSeries.from_counter(np.array([0, 2**63], dtype=np.uint64), [0, 1])


@pytest.mark.parametrize("wrong", ["12", None, 2**64, 1e20, True])
def test_what_is_no_number_of_64_bits_is_refused(wrong: Any) -> None:
    with pytest.raises(BadInput, match=r"value\["):
        RateSeries.from_counter([0, 1], [0, wrong] if wrong is not True else [False, True])


def test_bytes_that_no_counter_can_move_between_two_reads_are_refused() -> None:
    with pytest.raises(BadInput, match=r"delta_bytes\[1\] = 1e\+156 does not fit 64 bits"):
        RateSeries.from_deltas([0, 1, 2], [0.0, 1e156])
    assert RateSeries.from_deltas([0, 1], np.array([2**64 - 1], dtype=np.uint64)).delta_bytes.tolist() == [2.0**64]


def test_what_is_no_list_of_numbers_is_refused_with_what_to_give() -> None:
    listed: list[Any] = [[0, 1, [2]], [[0], [1, 2]]]
    for ragged in listed:
        with pytest.raises(BadInput, match="t_ns: cannot be read as numbers"):
            RateSeries.from_deltas(ragged, [1, 2])
    with pytest.raises(BadInput, match=r"value: shape \(2, 3\); give one list"):
        RateSeries.from_counter(np.arange(6), np.arange(6).reshape(2, 3))
    with pytest.raises(BadInput, match=r"t_ns: shape \(\)"):
        RateSeries.from_counter(5, 5)


def test_masked_values_are_refused_and_a_mask_of_nothing_is_none() -> None:
    with pytest.raises(BadInput, match=r"delta_bytes\[1\] is masked: leave such reads out"):
        RateSeries.from_deltas([0, 1, 2], np.ma.masked_array([5.0, 7.0], [False, True]))
    series = RateSeries.from_deltas([0, 1, 2], np.ma.masked_array([5.0, 7.0], [False, False]))
    assert series.delta_bytes.tolist() == [5.0, 7.0]


@pytest.mark.parametrize("width_bits", [0, 65, -1, 32.0, "a", True, None])
def test_a_width_that_no_counter_has_is_refused(width_bits: Any) -> None:
    with pytest.raises(UsageError, match="from 1 to 64 bits"):
        RateSeries.from_counter([0, 1], [0, 1], width_bits=width_bits)
    assert RateSeries.from_counter([0, 1], [0, 1], width_bits=np.int32(32)).n_samples == 1  # type: ignore[arg-type]


def test_nothing_and_one_read_make_an_empty_series() -> None:
    for series in (
        RateSeries.from_counter([], []),
        RateSeries.from_counter([5], [5]),
        RateSeries.from_counter([5, 5, 5], [5, 6, 7]),
        RateSeries.from_deltas([], []),
        RateSeries.from_deltas([5], []),
    ):
        assert (series.n_samples, series.duration_s, series.mean_bps, series.dt_s) == (0, 0.0, 0.0, 0.0)
        with pytest.raises(UsageError, match="need one window"):
            series.resample(1.0)


def test_values_of_all_64_bits_are_differenced_as_they_are() -> None:
    value = [2**63 - 3, 2**63 + 1, 2**64 - 9, 2**64 - 2]
    for given_as in (value, np.array(value, dtype=np.uint64)):
        series = RateSeries.from_counter(np.arange(4) * SECOND, given_as)
        assert [int(volume) for volume in series.delta_bytes[[0, 2]]] == [4, 7]
        assert not series.flags.any()


def test_counters_beyond_53_bits_lose_no_byte() -> None:
    value = 2**60 + np.cumsum(np.arange(1, 100))
    assert RateSeries.from_counter(np.arange(99) * SECOND, value).delta_bytes.tolist() == list(range(2, 100))


def test_late_reads_are_put_in_order_and_repeated_ones_dropped() -> None:
    series = RateSeries.from_counter([0, 2, 1, 2], [0, 20, 10, 20])
    assert series.delta_bytes.tolist() == [10.0, 10.0]
    assert (series.n_late, series.n_duplicate) == (1, 1)
    assert RateSeries.from_counter([0, 1, 1, 2], [0, 5, 7, 9]).delta_bytes.tolist() == [7.0, 2.0]


def test_a_hole_keeps_its_bytes_but_not_their_shape() -> None:
    t_ns = np.append(np.arange(10), [500, 501]) * SECOND
    series = RateSeries.from_counter(t_ns, np.arange(12) * 1000)
    assert series.known.sum() == 10
    assert series.flags[9] == Flag.MISSED
    assert series.delta_bytes.sum() == 11_000
    uniform = series.resample(1.0)
    assert not uniform.known[10:499].any()
    assert uniform.rate_bps[uniform.known] == pytest.approx(8000.0)


def test_a_part_of_a_series_has_its_windows_and_edges() -> None:
    series = RateSeries.from_counter(np.arange(11) * SECOND, np.arange(11) * 10)
    part = series.between(3, 6)
    assert (part.n_samples, part.duration_s) == (3, 3.0)
    assert part.edges_ns[0] == 3 * SECOND
    assert series.between(4, 4).n_samples == 0


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


@pytest.mark.parametrize("dt_s", [0.001, 0.0005, 0.004, 0.0037, 1.7])
def test_a_grid_finer_coarser_or_equal_to_even_windows_gives_the_same_rates(dt_s: float) -> None:
    rng = np.random.default_rng(6)
    volumes = rng.integers(0, 10**6, 5000)
    even = RateSeries.from_deltas(np.arange(5001) * 10**6, volumes)
    uneven = RateSeries.from_deltas(np.delete(np.arange(5001) * 10**6, 2500), np.delete(volumes, 2500))
    total = np.concatenate(([0], np.cumsum(volumes)))
    grid_s = np.arange(even.resample(dt_s).rate_bps.size + 1) * dt_s
    expected_bps = np.diff(np.interp(grid_s, np.arange(5001) * 1e-3, total)) * 8 / dt_s
    assert even.resample(dt_s).rate_bps == pytest.approx(expected_bps, rel=1e-6, abs=1.0)
    untouched = grid_s[1:] < 2.49
    assert uneven.resample(dt_s).rate_bps[untouched[: uneven.resample(dt_s).rate_bps.size]] == pytest.approx(
        expected_bps[untouched], rel=1e-6, abs=1.0
    )


def test_an_impossible_reading_is_left_out() -> None:
    value = np.array([0, 10, 2**63 - 4, 30])
    flags = np.array([0, 0, Flag.IMPOSSIBLE, 0], dtype=np.uint16)
    rate = rate_series(PORT, t_ns=np.arange(4) * 10**9, value=value, flags=flags)
    assert rate.delta_bytes.tolist() == [10.0, 20.0]
