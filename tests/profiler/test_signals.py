from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.errors import BadInput, UsageError
from profiler.period import detect_period
from profiler.rates import rate_series
from profiler.schema import Flag
from profiler.signals import RateSeries, unit_error
from profiler.store import Series

SECOND = 1_000_000_000
PORT = Series(host="h", device="eth0", direction="transmit", layer="netdev")


def _steady(bytes_per_s: float, *, n_seconds: int = 100) -> RateSeries:
    return RateSeries.from_deltas(np.arange(n_seconds + 1) * SECOND, np.full(n_seconds, bytes_per_s))


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


@pytest.mark.parametrize("width_bits", [0, 65, -1])
def test_a_width_that_no_counter_has_is_refused(width_bits: int) -> None:
    with pytest.raises(UsageError, match="from 1 to 64 bits"):
        RateSeries.from_counter([0, 1], [0, 1], width_bits=width_bits)


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


def test_a_wrap_of_a_32_bit_counter_keeps_its_bytes() -> None:
    series = RateSeries.from_counter([0, 1, 2], [2**32 - 100, 50, 150], width_bits=32)
    assert series.delta_bytes.tolist() == [150.0, 100.0]
    assert series.flags.tolist() == [Flag.WRAP, 0]
    assert series.known.all()


@pytest.mark.parametrize("range_bytes", [2**32, 2**32 * 4, 2**40, 2**48, 2**64])
def test_a_counter_told_to_have_64_bits_that_wraps_earlier_keeps_its_bytes(range_bytes: int) -> None:
    total = [(range_bytes - 50_400 + 1000 * i) % range_bytes for i in range(100)]
    series = RateSeries.from_counter(np.arange(100) * SECOND, total)
    assert series.delta_bytes.tolist() == [1000.0] * 99
    assert np.flatnonzero(series.flags == Flag.WRAP).tolist() == [50]
    assert series.known.all()
    assert any("wraps at" in note for note in series.notes) == (range_bytes < 2**64)


def test_a_step_back_from_near_a_width_that_traffic_does_not_explain_is_a_reset() -> None:
    value = 2**32 - 10**8 + np.arange(100) * 1000
    value[60:] = np.arange(40) * 1000
    series = RateSeries.from_counter(np.arange(100) * SECOND, value)
    assert np.flatnonzero(series.flags).tolist() == [59]
    assert series.flags[59] == Flag.RESET
    assert not series.known[59]
    assert series.notes == ()


def test_a_wrap_that_no_port_could_carry_is_a_reset() -> None:
    value = np.append(3_000_000_000 + np.arange(20) * 1000, np.arange(20) * 1000)
    in_ms = RateSeries.from_counter(np.arange(40) * 10**6, value, width_bits=32)
    assert (in_ms.flags[19], in_ms.delta_bytes[19]) == (Flag.RESET, 0.0)
    in_s = RateSeries.from_counter(np.arange(40) * SECOND, value, width_bits=32)
    assert (in_s.flags[19], in_s.delta_bytes[19]) == (Flag.WRAP, 2**32 - 3_000_019_000.0)


def test_a_hole_in_which_a_narrow_counter_may_wrap_several_times_says_so() -> None:
    t_s = np.append(np.arange(100), np.arange(400, 500))
    series = RateSeries.from_counter(t_s * SECOND, t_s * 10**8 % 2**32, width_bits=32)
    assert np.flatnonzero(series.flags & Flag.MISSED).tolist() == [99]
    assert not series.known[99]
    assert series.known.sum() == 198
    assert "several wraps of the 32-bit counter" in series.notes[0]
    assert series.delta_bytes[99] == 301 * 10**8 % 2**32


def test_a_counter_that_wraps_several_times_between_any_two_reads_is_not_known() -> None:
    rng = np.random.default_rng(1)
    total = np.cumsum(rng.integers(0, 25 * 10**9, 500))
    series = RateSeries.from_counter(np.arange(500) * SECOND, total % 2**32, width_bits=32)
    assert not series.known.any()
    assert "several wraps" in series.notes[0]


def test_a_reset_is_no_wrap_and_its_window_is_not_known() -> None:
    series = RateSeries.from_counter([0, 1, 2], [10**15, 40, 90])
    assert series.delta_bytes.tolist() == [40.0, 50.0]
    assert series.flags.tolist() == [Flag.RESET, 0]
    assert series.known.tolist() == [False, True]


@pytest.mark.parametrize(
    ("end", "width_bits"), [(2**32 - 1, 32), (2**32 - 1, 64), (4 * (2**32 - 1), 34), (4 * (2**32 - 1), 64)]
)
def test_a_counter_stuck_at_its_end_is_saturated_and_not_known(end: int, width_bits: int) -> None:
    value = np.minimum(end, end - 200_000 + 10_000 * np.arange(60))
    series = RateSeries.from_counter(np.arange(60) * SECOND, value, width_bits=width_bits)
    assert np.flatnonzero(series.flags == Flag.SATURATED).tolist() == list(range(19, 59))
    assert series.known.tolist() == [True] * 19 + [False] * 40
    assert detect_period(series).status == "no_data"


def test_a_counter_that_passes_the_end_of_a_narrower_one_is_not_stuck() -> None:
    value = 2**32 - 1 + 10_000 * np.arange(-20, 20)
    assert not RateSeries.from_counter(np.arange(40) * SECOND, value).flags.any()


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


@pytest.mark.parametrize("n_pairs", [20, 21])
@pytest.mark.parametrize("n_last", [1, 2])
def test_reads_in_pairs_do_not_make_the_time_within_a_pair_the_window(n_pairs: int, n_last: int) -> None:
    t_s = np.sort(np.concatenate((np.arange(n_pairs) * 300.0, np.arange(n_pairs - 2 + n_last) * 300.0 + 0.6)))
    series = RateSeries.from_counter((t_s * 1e9).astype(np.int64), (t_s * 1000).astype(np.int64))
    assert series.dt_s == pytest.approx(299.4)
    assert series.known.all()
    uniform = series.resample(300.0)
    assert uniform.rate_bps == pytest.approx(8000.0)


def test_gaps_between_reads_that_repeat_are_reported() -> None:
    rng = np.random.default_rng(2)
    t_s = np.cumsum(rng.uniform(0.9, 1.1, 4000))
    assert RateSeries.from_deltas(np.append(0, t_s * 1e9).astype(np.int64), np.ones(4000)).poll_periods_s == ()
    pauses = np.floor(t_s / 15.0)
    t_s = t_s[np.append(True, np.diff(pauses) == 0)]
    found = RateSeries.from_deltas((t_s * 1e9).astype(np.int64), np.ones(t_s.size - 1)).poll_periods_s
    assert any(period_s == pytest.approx(15.0, rel=0.01) for period_s in found)
    assert all(15.0 / period_s == pytest.approx(round(15.0 / period_s), rel=0.02) for period_s in found)


def test_reads_lost_because_traffic_is_heavy_do_not_make_the_job_a_pause_of_the_poller() -> None:
    rng = np.random.default_rng(8)
    t_s = np.arange(6000) * 0.5
    is_up = t_s % 25.63 < 12.0
    total = np.cumsum(np.where(is_up, 5e9, 1e6) * rng.uniform(0.9, 1.1, 6000)).astype(np.int64)
    kept = (rng.random(6000) > np.where(is_up, 0.3, 0.02)) & (np.arange(6000) % 60 > 2)
    found = RateSeries.from_counter((t_s[kept] * 1e9).astype(np.int64), total[kept]).poll_periods_s
    assert any(period_s == pytest.approx(30.0, rel=0.01) for period_s in found)
    assert not any(period_s == pytest.approx(25.63, rel=0.01) for period_s in found)


def test_missed_ticks_at_random_do_not_repeat() -> None:
    rng = np.random.default_rng(3)
    for miss_frac in (0.003, 0.05, 0.3):
        t_ns = np.arange(20_000)[rng.random(20_000) > miss_frac] * 10**6
        assert RateSeries.from_deltas(t_ns, np.ones(t_ns.size - 1)).poll_periods_s == ()


def test_stale_reads_are_put_together_with_the_window_that_catches_up() -> None:
    rng = np.random.default_rng(4)
    total = np.cumsum(rng.integers(900, 1100, 1000))
    seen = np.arange(1000)
    for i in (100, 300, 500, 700, 701, 900):
        seen[i] = seen[i - 1]
    series = RateSeries.from_counter(np.arange(1000) * SECOND, total[seen])
    assert series.n_stale == 6
    assert np.count_nonzero(series.flags == Flag.STALE) == 5
    assert series.rate_bps.min() >= 7200 * 0.99
    assert series.rate_bps.max() <= 8800 * 1.01
    assert series.delta_bytes.sum() == total[-1] - total[0]


def test_silences_of_the_traffic_are_not_stale() -> None:
    volumes = np.where(np.random.default_rng(7).random(1000) < 0.15, 0, 1000)
    for volume in (volumes, np.where(np.arange(1000) % 50 < 20, volumes, 0)):
        series = RateSeries.from_deltas(np.append(0, np.cumsum(np.full(1000, SECOND))), volume)
        assert series.delta_bytes.tolist() == volume.tolist()


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


@given(st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=50), st.integers(0, 2**32 - 1))
def test_a_wrapping_counter_moves_the_same_bytes_as_one_that_does_not(volumes: list[int], start: int) -> None:
    total = start + np.concatenate(([0], np.cumsum(volumes)))
    wrapped = RateSeries.from_counter(np.arange(total.size) * SECOND, total % 2**32, width_bits=32)
    assert wrapped.delta_bytes.sum() == sum(volumes)


@given(data=st.data(), width_bits=st.sampled_from([32, 34, 40, 64]), start=st.integers(0, 2**64 - 1))
def test_wraps_late_repeated_and_missing_reads_move_every_byte_once(
    data: st.DataObject, width_bits: int, start: int
) -> None:
    volumes = data.draw(st.lists(st.integers(0, 10**9), min_size=20, max_size=80))
    total = [start % 2**width_bits]
    for volume in volumes:
        total.append((total[-1] + volume) % 2**width_bits)
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    kept = np.flatnonzero(rng.random(len(total)) < 0.9)
    order = np.concatenate((kept, rng.choice(kept, 5))) if kept.size else kept
    order = order[np.argsort(order + rng.uniform(-1.5, 1.5, order.size))]
    series = RateSeries.from_counter(
        order * SECOND, np.array([total[i] for i in order], dtype=np.uint64), width_bits=width_bits
    )
    if kept.size < 2 or (series.flags & Flag.MISSED).any() or (width_bits == 64 and series.n_samples < 16):
        return
    stepped_back = width_bits == 64 and any(total[i] > total[j] for i, j in pairwise(kept))
    if not stepped_back:
        assert series.delta_bytes.sum() == sum(volumes[kept[0] : kept[-1]])
        assert series.n_duplicate == 5
        assert not (series.flags & (Flag.RESET | Flag.IMPOSSIBLE)).any()


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=2, max_size=20), min_size=1, max_size=5))
def test_resets_lose_only_what_cannot_be_known(runs: list[list[int]]) -> None:
    starts = [10**12 // 10**i for i in range(len(runs))]
    value = np.concatenate([start + np.cumsum(run) for start, run in zip(starts, runs, strict=True)])
    series = RateSeries.from_counter(np.arange(value.size) * SECOND, value)
    is_reset = np.cumsum([len(run) for run in runs])[:-1] - 1
    assert np.flatnonzero(series.flags & Flag.RESET).tolist() == is_reset.tolist()
    assert not series.known[is_reset].any()
    assert series.delta_bytes[series.known].sum() == sum(sum(run[1:]) for run in runs)
    assert series.delta_bytes[is_reset].tolist() == value[is_reset + 1].tolist()


def test_a_counter_that_sticks_is_no_idle_port() -> None:
    series = Series(host="h", device="mlx5_0", direction="transmit", layer="rdma_vport", raw_scale=4.0, width_bits=None)
    t_ns, value = np.arange(200) * 10**7, np.full(200, (2**32 - 1) * 4)
    rate = rate_series(series, t_ns=t_ns, value=value, flags=np.full(200, Flag.SATURATED, dtype=np.uint16))
    found = detect_period(rate)
    assert found.status == "no_data"
    assert "maximum" in found.reason


def test_an_impossible_reading_is_left_out() -> None:
    value = np.array([0, 10, 2**63 - 4, 30])
    flags = np.array([0, 0, Flag.IMPOSSIBLE, 0], dtype=np.uint16)
    rate = rate_series(PORT, t_ns=np.arange(4) * 10**9, value=value, flags=flags)
    assert rate.delta_bytes.tolist() == [10.0, 20.0]
