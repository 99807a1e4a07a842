from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiler.synth import T0_NS, Burst, Counter, Labelled, Traffic, draw_trace, training_job
from profiler.synth.labelled import label

bursts = st.lists(st.tuples(st.integers(-50, 1000), st.integers(0, 300)), max_size=15)
widths = st.lists(st.integers(1, 60), min_size=1, max_size=40)


def _labelled(*jobs_ms: list[tuple[int, int]], edges_ms: list[int]) -> Labelled:
    """Return a steady series read at these times, with jobs whose bursts are given as (start, width)."""
    reads = Counter().read(Traffic.steady(8e6, duration_s=10.0), np.array(edges_ms) / 1000)
    in_s = [np.array([[start, start + width] for start, width in job]).reshape(-1, 2) / 1000 for job in jobs_ms]
    return label(reads.to_series(), reads=reads, status="periodic", periods_s=[0.1] * len(in_s), bursts_s=in_s)


@given(bursts, bursts, widths, st.integers(0, 20))
def test_a_window_is_up_if_half_of_it_lies_in_bursts_of_any_job(
    one: list[tuple[int, int]], other: list[tuple[int, int]], widths_ms: list[int], first_ms: int
) -> None:
    edges_ms = (first_ms + np.concatenate(([0], np.cumsum(widths_ms)))).tolist()
    busy = np.zeros(4000, dtype=bool)
    for start, width in one + other:
        busy[max(0, start) : max(0, start + width)] = True
    expected = [2 * np.count_nonzero(busy[a:b]) >= b - a for a, b in pairwise(edges_ms)]
    assert _labelled(one, other, edges_ms=edges_ms).up_mask().tolist() == expected


def test_a_mask_may_be_asked_for_other_windows_than_those_of_the_series() -> None:
    made = _labelled([(20, 10), (40, 20)], edges_ms=[10, 30, 50, 70])
    edges_ns = T0_NS + np.arange(10, 71, 10) * 10**6
    assert made.up_mask(edges_ns).tolist() == [False, True, False, True, True, False]
    assert made.up_mask(edges_ns[:1]).size == 0


def test_times_of_the_truth_count_from_the_first_edge_of_the_series() -> None:
    made = _labelled([(5, 10), (40, 20), (95, 10), (200, 10)], edges_ms=[10, 50, 100])
    assert (made.up_s * 1000).round(6).tolist() == [[0, 5], [30, 50], [85, 90]]


def test_bursts_of_all_jobs_are_in_order_and_each_jobs_apart() -> None:
    made = _labelled([(10, 5), (60, 5)], [(30, 5)], edges_ms=[0, 50, 100])
    assert (made.up_s[:, 0] * 1000).round(6).tolist() == [10, 30, 60]
    assert [len(up_s) for up_s in made.up_by_job_s] == [2, 1]
    assert made.period_s == made.periods_s[0]


def test_the_mask_of_a_job_is_where_its_rate_is() -> None:
    job = training_job(np.random.default_rng(2), period_s=0.3, duration_s=6.0, dt_s=0.001, jitter_frac=0.05)
    assert np.array_equal(job.up_mask(), job.series.rate_bps >= 200e6 - 8000)


def test_the_mask_of_two_levels_holds_both() -> None:
    levels = [Burst(0.3, 0.2, 400e6), Burst(0.5, 0.3, 100e6)]
    job = training_job(np.random.default_rng(3), period_s=0.3, bursts=levels, duration_s=6.0, dt_s=0.001)
    assert job.up_mask().mean() == np.float64(0.5)


def test_a_refreshed_series_and_its_truth_share_their_time() -> None:
    for seed in range(4):
        made = draw_trace("refreshed", seed=seed)
        up = made.up_mask()
        assert made.series.rate_bps[up].mean() > 3 * made.series.rate_bps[~up].mean()


def test_traffic_without_bursts_is_never_up() -> None:
    assert not _labelled(edges_ms=[0, 50, 100]).up_mask().any()
