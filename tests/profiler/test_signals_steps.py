from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.period import detect_period
from profiler.rates import rate_series
from profiler.schema import Flag
from profiler.signals import RateSeries
from profiler.store import Series

SECOND = 1_000_000_000


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
