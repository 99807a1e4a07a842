"""The parts of watching by themselves: memory, bins, lengths, repetitions, the tracker, and how doubt is settled."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.errors import UsageError
from profiler.live import LiveCounter
from profiler.live.bins import Bins
from profiler.live.doubt import Doubt
from profiler.live.history import COARSE_READS, FINE_READS, History
from profiler.live.lengths import Lengths
from profiler.live.repeat import repeat_bins
from profiler.live.ring import Ring
from profiler.live.shape import Shape, fold
from profiler.live.tracker import Tracker
from profiler.phases import profile
from tests.profiler.streams import SERIES, T0_NS, job, joined, played


def seconds(t_ns: int) -> float:
    return (t_ns - T0_NS) / 1e9


def lengths_of(*values_s: float) -> Lengths:
    lengths = Lengths()
    for value_s in values_s:
        lengths.add(value_s, is_regular=True)
    return lengths


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=9), max_size=9), st.integers(1, 7))
def test_a_ring_holds_the_newest_rows_in_order(parts: list[list[int]], capacity: int) -> None:
    ring = Ring(capacity, [np.int64])
    for part in parts:
        ring.extend(np.array(part))
    everything = [value for part in parts for value in part]
    assert ring.columns()[0].tolist() == everything[-capacity:]
    assert len(ring) == min(capacity, len(everything))


def test_memory_of_a_counter_is_taken_once() -> None:
    # The newest hour is looked at: the detector's own time is not at issue here.
    counter = LiveCounter(
        SERIES, detect=lambda rate: profile(rate.between(max(0, rate.n_samples - 2000), rate.n_samples))
    )
    before = counter.nbytes
    assert before == (FINE_READS + COARSE_READS) * (8 + 8 + 2)
    stretch = job(60.0, duration_s=43_200.0, dt_s=2.0, jitter_frac=0.02)
    stream = joined(stretch, dt_s=2.0)
    half = stream.t_ns.size // 2

    def watch(first: int, end: int) -> None:
        for i in range(first, end, 600):
            counter.add(stream.t_ns[i : min(end, i + 600)], stream.value[i : min(end, i + 600)])
            counter.look()

    watch(0, half)
    tracemalloc.start()
    watch(half, stream.t_ns.size)
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counter.nbytes == before
    # Results of the second half replace those of the first: what is new is no more than one profile.
    assert kept_bytes < 300_000
    assert counter.state().period_s == pytest.approx(60.0, rel=0.01)


def test_the_coarse_memory_reaches_back_an_hour_and_conserves_bytes() -> None:
    history = History(SERIES)
    n_reads = 3_600_000
    t_ns = T0_NS + 1_000_000 * np.arange(n_reads, dtype=np.int64)
    value = 125 * np.arange(n_reads, dtype=np.int64)
    for first in range(0, n_reads, 100_000):
        part = slice(first, first + 100_000)
        history.add(t_ns[part], value[part], flags=np.zeros(100_000, dtype=np.uint16))
    recent, long = history.recent(), history.long()
    assert long is not None
    assert recent.duration_s == pytest.approx(FINE_READS * 0.001, abs=0.01)
    assert long.duration_s == pytest.approx(3600.0, abs=0.1)
    assert long.dt_s == pytest.approx(0.05)
    assert recent.mean_bps == pytest.approx(1e6)
    assert long.mean_bps == pytest.approx(1e6)


def test_bins_conserve_bytes_however_they_come() -> None:
    draw = np.random.default_rng(1)
    ends_ns = np.cumsum(draw.integers(1_000_000, 3_000_000, 5000))
    delta_bytes = draw.integers(0, 1000, 5000).astype(np.float64)
    bins = Bins(origin_ns=0, bin_s=0.01, n_kept=5000, hole_s=1.0)
    for first in range(0, 5000, 7):
        bins.add(ends_ns[first : first + 7], delta_bytes[first : first + 7])
    total = np.concatenate(([0.0], np.cumsum(delta_bytes)))
    expected = np.interp(bins.end * 0.01e9, np.concatenate(([0], ends_ns)), total)
    assert bins.between(0, bins.end).sum() * 0.01 / 8 == pytest.approx(expected)


def test_bins_in_a_hole_are_unknown_and_old_ones_are_forgotten() -> None:
    bins = Bins(origin_ns=0, bin_s=0.1, n_kept=50, hole_s=0.5)
    bins.add(np.array([10**9, 3 * 10**9, 4 * 10**9]), np.array([1.0, 1.0, 1.0]))
    assert np.isnan(bins.between(10, 30)).all()
    bins.add(np.arange(41, 500) * 10**8, np.ones(459))
    assert bins.end in (498, 499)
    assert bins.first > 0
    assert bins.between(bins.end - 50, bins.end).size == 50


def test_a_single_stall_is_no_change_of_length() -> None:
    draw = np.random.default_rng(2)
    usual = draw.normal(0.25, 0.005, 60).tolist()
    assert lengths_of(*usual, 0.7, *usual[:1]).changed() is None
    assert lengths_of(*usual, 0.9, 0.4, 0.6).changed() is None


def test_three_iterations_alike_are_a_change_and_it_began_with_the_first_of_them() -> None:
    draw = np.random.default_rng(3)
    change = lengths_of(*draw.normal(0.25, 0.005, 60), 0.325, 0.33, 0.32).changed()
    assert change is not None
    assert change.length_s == pytest.approx(0.325)
    assert change.lasted_s == pytest.approx(0.975)


def test_jitter_of_a_tenth_is_no_change_in_four_thousand_iterations() -> None:
    draw = np.random.default_rng(4)
    lengths = Lengths()
    for length_s in 0.25 * (1 + 0.1 * np.clip(draw.standard_normal(4_000), -2.5, 2.5)):
        lengths.add(length_s, is_regular=True)
        assert lengths.changed() is None


@pytest.mark.parametrize("period", [12, 40, 75])
def test_what_comes_four_times_repeats(period: int) -> None:
    cycle = np.where(np.arange(period) < 0.4 * period, 1.0, 0.0)
    rate_bps = np.concatenate((np.zeros(20), np.tile(cycle, 5)))
    found = repeat_bins(rate_bps, old_bps=cycle, least_likeness=0.8, least_variance=0.01)
    assert found == pytest.approx(period, rel=0.02)


def test_two_bursts_of_an_iteration_are_no_repetition() -> None:
    cycle = np.zeros(60)
    cycle[:15], cycle[30:42] = 1.0, 0.9
    found = repeat_bins(np.tile(cycle, 5), old_bps=cycle, least_likeness=0.6, least_variance=0.01)
    assert found == pytest.approx(60, rel=0.02)


def test_noise_and_steady_traffic_do_not_repeat() -> None:
    draw = np.random.default_rng(5)
    old_bps = np.where(np.arange(64) < 25, 1.0, 0.0)
    for _ in range(20):
        noise = draw.standard_normal(600)
        assert repeat_bins(noise, old_bps=old_bps, least_likeness=0.55, least_variance=0.01) is None
    assert repeat_bins(np.ones(600), old_bps=old_bps, least_likeness=0.55, least_variance=0.01) is None


def test_a_fold_begins_with_the_first_burst_after_the_longest_silence() -> None:
    cycle = np.zeros(40)
    cycle[30:36], cycle[2:6] = 1.0, 1.5
    mean_bps, turned = fold(np.tile(cycle, 3), n_bins=40)
    assert turned == 30
    np.testing.assert_allclose(mean_bps, np.roll(cycle, -30))


def test_a_shape_matches_itself_and_nothing_unknown() -> None:
    cycle = np.where(np.arange(32) < 12, 4e8, 0.0)
    shape = Shape(cycle)
    rate_bps = np.tile(cycle, 3)
    fits = shape.match(rate_bps)
    assert np.flatnonzero(fits > 0.999).tolist() == [32 - shape.lead, 64 - shape.lead]
    rate_bps[50] = np.nan
    assert (shape.match(rate_bps)[19:51] == -1).all()


@pytest.mark.parametrize("n_cycles", [4, 13])
def test_a_shape_is_found_beneath_other_traffic_but_not_where_it_is_not(n_cycles: int) -> None:
    cycle = np.where(np.arange(32) < 12, 4e8, 0.0)
    shape = Shape(cycle)
    other = np.where(np.arange(32 * n_cycles) % 51 < 20, 4e8, 0.0)
    part, off = shape.part_in(np.roll(np.tile(cycle, n_cycles), 7), start=5.0, length=32.0)
    assert part == pytest.approx(1.0, abs=0.1)
    assert off == pytest.approx(2.0, abs=1.5)
    assert shape.part_in(np.tile(cycle, n_cycles) + other, start=0.0, length=32.0)[0] > 0.5
    assert shape.part_in(other, start=0.0, length=32.0)[0] < 0.38


def test_a_tracker_follows_starts_and_says_how_far_they_moved() -> None:
    dt_s, period_s = 0.01, 1.0
    # Each iteration is 1 % longer than the period that the tracker was told.
    delta_bytes = job(1.01 * period_s, duration_s=60.0, dt_s=dt_s, seed=4)
    ends_ns = T0_NS + np.round(np.arange(1, delta_bytes.size + 1) * dt_s * 1e9).astype(np.int64)
    first_up = int(np.flatnonzero((delta_bytes[1:] > 0) & (delta_bytes[:-1] == 0))[0]) + 1
    tracker = Tracker(
        period_s=period_s,
        rate_bps=np.where(np.arange(100) < 40, 4e8, 0.0),
        origin_ns=T0_NS,
        start_ns=int(ends_ns[first_up - 1]),
        sample_s=dt_s,
    )
    assert tracker.add(ends_ns, delta_bytes) == []
    assert tracker.beat == "held"
    assert tracker.drift_frac == pytest.approx(0.01, abs=0.002)
    assert tracker.moved_s == pytest.approx(0.01 * tracker.n_regular, abs=0.03)
    assert tracker.mean_s == pytest.approx(1.01, abs=0.001)


def test_a_tracker_tells_the_same_whatever_the_pieces() -> None:
    delta_bytes = np.concatenate((job(0.5, duration_s=20.0, dt_s=0.01), job(0.8, duration_s=10.0, dt_s=0.01, seed=2)))
    ends_ns = T0_NS + np.arange(1, delta_bytes.size + 1) * 10_000_000
    told = []
    for n_piece in (1, 33, 3000):
        tracker = Tracker(
            period_s=0.5,
            rate_bps=np.where(np.arange(50) < 20, 4e8, 0.0),
            origin_ns=T0_NS,
            start_ns=T0_NS,
            sample_s=0.01,
        )
        for first in range(0, ends_ns.size, n_piece):
            tracker.add(ends_ns[first : first + n_piece], delta_bytes[first : first + n_piece])
        told.append((tracker.new_period_s, tracker.since_ns, tracker.noticed_ns))
    assert told[0] == told[1] == told[2]
    assert told[0][0] == pytest.approx(0.8, rel=0.02)


def test_a_tracker_needs_samples_enough() -> None:
    with pytest.raises(UsageError, match="has 5 samples"):
        Tracker(period_s=0.05, rate_bps=np.ones(10), origin_ns=0, start_ns=0, sample_s=0.01)


def test_a_contrary_detection_is_believed_only_if_it_lasts() -> None:
    doubt = Doubt()
    for i in range(10):
        assert not doubt.add(0.5, from_ns=i, to_ns=i + 100, saw_more=False)
    assert doubt.add(0.5, from_ns=100, to_ns=200, saw_more=False)
    doubt.clear()
    believed = [doubt.add(0.5, from_ns=0, to_ns=100, saw_more=True) for _ in range(5)]
    assert believed == [False, False, False, False, True]
    assert not doubt.add(0.25, from_ns=0, to_ns=100, saw_more=True)


@pytest.mark.parametrize("n_periods", [5, 39, 41, 1000])
def test_a_hole_in_the_samples_is_told_as_such(n_periods: int) -> None:
    period_s, first_after = 0.25, 5000
    stream = joined(job(period_s, duration_s=40.0))
    is_after = np.arange(stream.t_ns.size) >= first_after
    per_period = int(stream.value[first_after] * period_s / seconds(stream.t_ns[first_after]))
    t_ns = stream.t_ns + is_after * round(n_periods * period_s * 1e9)
    value = stream.value + is_after * n_periods * per_period
    counter, events = played(replace(stream, t_ns=t_ns, value=value))
    assert [event.kind for event in events] == ["found", "paused", "resumed"]
    assert events[1].reason == "no samples"
    assert events[2].gap_s == pytest.approx(n_periods * period_s, abs=4 * period_s)
    assert counter.state().lock == "held"
    assert counter.state().period_s == pytest.approx(period_s, rel=0.002)


def test_bins_of_a_hole_of_years_are_not_made() -> None:
    bins = Bins(origin_ns=0, bin_s=0.001, n_kept=100, hole_s=2.0)
    bins.add(np.array([10**9]), np.array([1000.0]))
    tracemalloc.start()
    bins.add(np.array([10**18, 10**18 + 10**9, 10**18 + 2 * 10**9]), np.array([5.0, 1000.0, 1000.0]))
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < 100_000
    assert bins.end - bins.first <= 200
    assert bins.between(bins.end - 100, bins.end) == pytest.approx(8e3, rel=0.2)
