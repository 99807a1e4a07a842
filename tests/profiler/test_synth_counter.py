from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.errors import UsageError
from profiler.refresh import refresh_of_moves
from profiler.schema import Flag
from profiler.synth import T0_NS, Counter, Reads, Traffic
from profiler.synth.polls import (
    draw_holes,
    exponential_polls,
    jittered_polls,
    regular_polls,
    repeating_polls,
    without,
)
from profiler.synth.reads import duplicated, late, lost, stale

STEADY = Traffic.steady(8000.0, duration_s=1000.0)
"""A thousand bytes each second."""
POLLS_S = np.arange(101.0)

intervals = st.lists(
    st.tuples(st.integers(0, 64_000), st.integers(0, 8_000), st.integers(0, 400_000_000)), min_size=1, max_size=12
)


def _traffic(parts: list[tuple[int, int, int]]) -> Traffic:
    """Return traffic of intervals given in 1/64 s, which floats hold exactly."""
    edges_s = np.array([[start / 64, (start + width) / 64] for start, width, _ in parts])
    return Traffic(edges_s=edges_s, rate_bps=np.array([float(rate) for *_, rate in parts]))


def _bytes_by(parts: list[tuple[int, int, int]], ticks: int) -> int:
    """Return the whole bytes that have passed by an instant, in exact fractions."""
    bits = sum((Fraction(rate * min(max(ticks - start, 0), width), 64) for start, width, rate in parts), Fraction(0))
    return floor(bits / 8)


@given(intervals, st.integers(0, 80_000))
def test_bytes_by_an_instant_are_exact_to_the_integer(parts: list[tuple[int, int, int]], ticks: int) -> None:
    (found,) = _traffic(parts).bytes_at(np.array([ticks / 64]))
    assert found == _bytes_by(parts, ticks)


@given(intervals, st.integers(30, 62), st.data())
def test_no_byte_is_lost_by_a_narrow_counter_that_is_read_often(
    parts: list[tuple[int, int, int]], width_bits: int, data: st.DataObject
) -> None:
    start_bytes = data.draw(st.integers(0, 2**width_bits - 1))
    traffic = _traffic(parts)
    # In no window does the sum of all rates go through more than a quarter of the counter's range.
    dt_s = 2.0 ** (width_bits - 2) * 8 / max(1.0, traffic.rate_bps.sum())
    polls_s = np.linspace(0.0, 1200.0, int(np.ceil(1200.0 / dt_s)) + 2)
    reads = Counter(width_bits=width_bits, start_bytes=start_bytes).read(traffic, polls_s)
    assert reads.total_bytes == _bytes_by(parts, 1200 * 64)
    assert reads.to_series(width_bits=width_bits).delta_bytes.sum() == reads.total_bytes


def test_a_counter_of_32_bits_wraps() -> None:
    reads = Counter(width_bits=32, start_bytes=2**32 - 50_500).read(STEADY, POLLS_S)
    assert reads.value[50] == 2**32 - 500
    assert reads.value[51] == 500
    assert reads.total_bytes == 100_000
    for series in (reads.to_series(width_bits=32), reads.to_series()):
        assert np.flatnonzero(series.flags == Flag.WRAP).tolist() == [50]
        assert series.delta_bytes.tolist() == [1000.0] * 100


def test_a_counter_of_64_bits_wraps() -> None:
    reads = Counter(start_bytes=2**64 - 50_500).read(STEADY, POLLS_S)
    assert reads.value.dtype == np.uint64
    assert [int(value) for value in reads.value[50:52]] == [2**64 - 500, 500]
    assert reads.total_bytes == 100_000
    assert reads.to_series().delta_bytes.tolist() == [1000.0] * 100


def test_values_below_63_bits_are_signed_integers() -> None:
    assert Counter(start_bytes=2**62).read(STEADY, POLLS_S).value.dtype == np.int64


@pytest.mark.parametrize("width_bits", [32, 48, 64])
def test_a_counter_that_saturates_stays_at_its_end(width_bits: int) -> None:
    end = 2**width_bits - 1
    reads = Counter(width_bits=width_bits, at_end="saturate", start_bytes=end - 50_500).read(STEADY, POLLS_S)
    assert {int(value) for value in reads.value[51:]} == {end}
    assert int(reads.value[50]) == end - 500
    assert reads.total_bytes == 100_000


def test_a_reset_starts_again_at_zero_and_the_truth_keeps_its_bytes() -> None:
    reads = Counter(start_bytes=10**6, resets_s=(20.25, 70.5)).read(STEADY, POLLS_S)
    assert reads.value[[20, 21, 70, 71, 100]].tolist() == [1_020_000, 750, 49_750, 500, 29_500]
    assert reads.total_bytes == 100_000
    series = reads.to_series()
    assert np.flatnonzero(series.flags & Flag.RESET).tolist() == [20, 70]
    # What passed between the read before a reset and the reset itself is what no reader can know.
    assert series.delta_bytes.sum() == 100_000 - 250 - 500


def test_a_refreshed_counter_shows_the_state_of_its_last_copy() -> None:
    counter = Counter(refresh_s=2.5, phase_s=0.75)
    polls_s = np.array([0.8, 3.2, 3.3, 5.7, 5.8])
    assert counter.seen_s(polls_s).tolist() == [0.75, 0.75, 3.25, 3.25, 5.75]
    assert counter.read(STEADY, polls_s).value.tolist() == [750, 750, 3250, 3250, 5750]


def test_the_clock_of_a_refreshed_counter_can_be_found_in_its_reads() -> None:
    rng = np.random.default_rng(1)
    polls_s = repeating_polls(rng, duration_s=1000.0, dt_s=0.57)
    reads = Counter(refresh_s=1.0, phase_s=0.4).read(STEADY, polls_s)
    stale_frac = np.mean(np.diff(reads.value) == 0)
    assert 0.3 < stale_frac < 0.5
    found = refresh_of_moves(reads.t_ns, np.diff(np.asarray(reads.value, dtype=np.float64)))
    assert found is not None
    assert found.interval_s == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"width_bits": 0},
        {"width_bits": 65},
        {"width_bits": 8, "start_bytes": 256},
        {"start_bytes": -1},
        {"refresh_s": 0.0},
        {"resets_s": (2.0, 1.0)},
    ],
)
def test_a_counter_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(reversed(wrong))):
        Counter(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("edges_s", "rate_bps"),
    [([[0.0, 1.0]], [1.0, 2.0]), ([[1.0, 0.0]], [1.0]), ([[0.0, np.inf]], [1.0]), ([[0.0, 1.0]], [-1.0])],
)
def test_traffic_that_cannot_be_is_refused(edges_s: list[list[float]], rate_bps: list[float]) -> None:
    with pytest.raises(UsageError, match="Traffic"):
        Traffic(edges_s=np.array(edges_s), rate_bps=np.array(rate_bps))


def _reads() -> Reads:
    return Counter().read(STEADY, POLLS_S)


def test_lost_reads_leave_the_first_the_last_and_every_byte() -> None:
    reads = lost(np.random.default_rng(1), _reads(), lost_frac=0.4)
    assert 40 < reads.t_ns.size < 80
    assert (reads.t_ns[[0, -1]] == T0_NS + np.array([0, 100 * 10**9])).all()
    assert reads.to_series().delta_bytes.sum() == reads.total_bytes == 100_000


def test_late_and_repeated_reads_are_put_right_by_the_series() -> None:
    rng = np.random.default_rng(2)
    reads = duplicated(rng, late(rng, _reads(), n_reads=7), n_reads=4)
    assert np.count_nonzero(np.diff(reads.t_ns) < 0) == 7
    series = reads.to_series()
    assert (series.n_late, series.n_duplicate) == (7, 4)
    assert series.delta_bytes.tolist() == [1000.0] * 100


def test_a_stale_read_sees_what_the_read_before_saw() -> None:
    reads = stale(np.random.default_rng(3), _reads(), stale_frac=0.3)
    steps = np.diff(reads.value)
    assert 15 < np.count_nonzero(steps == 0) < 45
    assert set(np.unique(steps) % 1000) == {0}
    assert steps.sum() == 100_000


def test_polls_keep_their_mean_interval_and_increase() -> None:
    rng = np.random.default_rng(4)
    made = {
        "regular": regular_polls(duration_s=600.0, dt_s=0.1),
        "jittered": jittered_polls(rng, duration_s=600.0, dt_s=0.1, jitter_frac=0.9),
        "exponential": exponential_polls(rng, duration_s=600.0, dt_s=0.1),
        "repeating": repeating_polls(rng, duration_s=600.0, dt_s=0.1),
    }
    for polls_s in made.values():
        assert polls_s[0] == pytest.approx(0.0, abs=0.1)
        assert (np.diff(polls_s) > 1e-3).all()
        assert np.diff(polls_s).mean() == pytest.approx(0.1, rel=0.1)
    spreads = {name: float(np.std(np.diff(polls_s))) for name, polls_s in made.items()}
    assert spreads["regular"] < 1e-12
    assert spreads["exponential"] == pytest.approx(0.1, rel=0.1)


def test_long_gaps_of_a_busy_poller_come_again_at_an_interval() -> None:
    gaps_s = np.diff(repeating_polls(np.random.default_rng(5), duration_s=600.0, dt_s=0.1))
    long = np.flatnonzero(gaps_s > 0.19)
    assert long.size > 20
    assert set(np.diff(long)) <= {26, 53, 105}
    assert len(set(np.diff(long))) == 1


def test_no_poll_lies_in_a_hole() -> None:
    polls_s = without(regular_polls(duration_s=10.0, dt_s=1.0), [(2.0, 4.0), (6.5, 6.9)])
    assert polls_s.tolist() == [0, 1, 4, 5, 6, 7, 8, 9, 10]
    for seed in range(20):
        holes_s = draw_holes(np.random.default_rng(seed), duration_s=100.0, dt_s=0.1)
        assert 1 <= len(holes_s) <= 4
        assert all(start_s >= 0 and 1.0 <= end_s - start_s <= 12.5 and end_s <= 100 for start_s, end_s in holes_s)
