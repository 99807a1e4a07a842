from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import get_args

import numpy as np
import pytest

from profiler.errors import UsageError
from profiler.period import STATUSES
from profiler.schema import Flag
from profiler.synth import (
    FAMILIES,
    HARD,
    IDLE,
    NON_PERIODIC,
    PERIODIC,
    RECURRENT,
    SHARED,
    UNDERSAMPLED,
    Labelled,
    TrueStatus,
    draw_trace,
    random_bursts,
)
from profiler.synth.pairs import SMALL_RATIOS

SEEDS = range(6)
LARGEST_N_SAMPLES = 10_000
ALL = FAMILIES | HARD


@cache
def _traces(family: str) -> tuple[Labelled, ...]:
    return tuple(draw_trace(family, seed=seed) for seed in SEEDS)


def _samples_per_period(made: Labelled) -> float:
    assert made.period_s is not None
    return made.period_s / made.series.dt_s


def test_every_family_stands_in_one_set() -> None:
    sets = [PERIODIC, UNDERSAMPLED, NON_PERIODIC, IDLE, SHARED, RECURRENT]
    assert sum(map(len, sets)) == len(FAMILIES) + len(HARD) == len(ALL)
    assert {name for names in sets for name in names} == set(ALL)


def test_what_is_true_is_something_a_detector_can_say() -> None:
    assert set(get_args(TrueStatus)) < set(STATUSES)


@pytest.mark.parametrize("family", sorted(ALL))
def test_equal_seeds_give_equal_traces_and_others_differ(family: str) -> None:
    again = draw_trace(family, seed=SEEDS[0])
    first, second, *_ = _traces(family)
    assert np.array_equal(first.reads.t_ns, again.reads.t_ns)
    assert np.array_equal(first.reads.value, again.reads.value)
    assert np.array_equal(first.up_s, again.up_s)
    assert first.periods_s == again.periods_s
    assert not np.array_equal(first.reads.t_ns, second.reads.t_ns)


@pytest.mark.parametrize("family", sorted(ALL))
def test_a_trace_is_of_the_promised_size_and_its_truth_lies_in_it(family: str) -> None:
    for made in _traces(family):
        assert 0 < made.series.n_samples <= LARGEST_N_SAMPLES
        assert ((made.up_s >= 0) & (made.up_s <= made.series.duration_s)).all()
        assert (np.diff(made.up_s, axis=1) >= 0).all()
        assert made.up_mask().shape == (made.series.n_samples,)
        assert len(made.up_by_job_s) in (len(made.periods_s), 1)


@pytest.mark.parametrize("family", sorted({*PERIODIC, *UNDERSAMPLED, *SHARED}))
def test_jobs_have_a_period_in_range_and_enough_iterations(family: str) -> None:
    for made in _traces(family):
        assert made.status == ("undersampled" if family in UNDERSAMPLED else "periodic")
        assert all(0.019 <= period_s <= 130 for period_s in made.periods_s)
        assert made.series.duration_s / max(made.periods_s) >= 4.9
    periods_s = [made.periods_s[0] for made in _traces(family)]
    assert max(periods_s) > 3 * min(periods_s)


@pytest.mark.parametrize("family", sorted({*NON_PERIODIC, *RECURRENT, *IDLE}))
def test_other_traffic_has_none(family: str) -> None:
    for made in _traces(family):
        assert made.periods_s == ()
        assert made.period_s is None
        assert made.status == {"constant": "constant", "idle_keepalives": "idle"}.get(family, "aperiodic")


@pytest.mark.parametrize("family", sorted({*ALL} - {"resets", "wrap", "refreshed", "poll_artefacts"}))
def test_the_series_has_every_byte_that_passed(family: str) -> None:
    for made in _traces(family):
        assert made.series.delta_bytes.sum() == made.reads.total_bytes


@pytest.mark.parametrize(
    "family", ["accumulation", "gpt", "near_pairs", "nested", "square", "three_lengths", "two_jobs", "two_level", "vgg"]
)
def test_bursts_are_where_the_traffic_is(family: str) -> None:
    for made in _traces(family):
        up, rate_bps = made.up_mask(), made.series.rate_bps
        # Other traffic on the wire is at most a twentieth of a burst; windows at an edge are partly Up.
        assert np.median(rate_bps[up]) > 3 * np.median(rate_bps[~up])


@pytest.mark.parametrize(
    ("family", "low", "high"),
    [("coarse", 2.9, 5.2), ("medium_coarse", 5.8, 12.4), ("aliased", 0.5, 1.95), ("gpt", 58, 310), ("square", 19, 210)],
)
def test_jobs_are_read_as_often_a_period_as_their_family_says(family: str, low: float, high: float) -> None:
    assert all(low <= _samples_per_period(made) <= high for made in _traces(family))


def _lengths_s(made: Labelled) -> np.ndarray:
    return np.diff(made.up_by_job_s[0][1:, 0])


def test_iterations_of_the_jitter_family_vary_by_5_to_10_per_cent() -> None:
    for made in _traces("jitter"):
        assert made.period_s is not None
        assert 0.035 < np.std(_lengths_s(made)) / made.period_s < 0.12


def test_iterations_of_the_drift_family_change_slowly() -> None:
    for made in _traces("drift"):
        assert made.period_s is not None
        third = len(_lengths_s(made)) // 3
        first, last = _lengths_s(made)[:third], _lengths_s(made)[-third:]
        change = abs(last.mean() - first.mean()) / made.period_s
        assert 0.003 < change < 0.05


def test_the_family_of_few_periods_has_4_to_8_whole_iterations() -> None:
    assert all(4 <= made.series.duration_s / (made.period_s or 0.0) <= 9.2 for made in _traces("few_periods"))


def test_the_noise_of_a_noise_floor_is_up_to_twice_the_burst() -> None:
    for made in _traces("noise_floor"):
        up, rate_bps = made.up_mask(), made.series.rate_bps
        contrast = rate_bps[up].mean() - rate_bps[~up].mean()
        assert 0.15 < np.std(rate_bps[up]) / contrast < 5


def test_a_twentieth_of_the_samples_is_missing() -> None:
    for made in _traces("missing"):
        gaps = np.diff(made.series.edges_ns) / np.median(np.diff(made.series.edges_ns))
        assert np.sum(gaps.round() - 1) / np.sum(gaps.round()) == pytest.approx(0.05, abs=0.03)
        assert made.series.n_late > 0
        assert made.series.n_duplicate > 0


def test_irregular_polls_are_jittered_or_random() -> None:
    spreads = [np.std(np.diff(m.series.edges_ns)) / np.mean(np.diff(m.series.edges_ns)) for m in _traces("irregular")]
    assert min(spreads) > 0.05
    assert min(spreads) < 0.5 < max(spreads)


def test_holes_are_not_known() -> None:
    assert all(1 <= np.count_nonzero(~made.series.known) <= 4 for made in _traces("holes"))


def test_repeating_holes_come_evenly_and_are_of_one_length_of_at_most_six_tenths() -> None:
    for made in _traces("repeating_holes"):
        starts_s = made.series.edges_ns[:-1][~made.series.known] / 1e9
        lengths_s = np.diff(made.series.edges_ns)[~made.series.known] / 1e9
        assert starts_s.size >= 3
        every_s, dt_s = np.median(np.diff(starts_s)), made.series.dt_s
        assert np.diff(starts_s) == pytest.approx(every_s, abs=2 * dt_s)
        assert lengths_s[1:-1] == pytest.approx(np.median(lengths_s), abs=2 * dt_s)
        assert np.median(lengths_s) < 0.61 * every_s + 2 * dt_s
        if dt_s >= 0.1:
            assert 7.5 < every_s < 121
            assert 4 < np.median(lengths_s) < 62
        else:
            assert 75 < every_s / dt_s < 1210
            assert 40 < np.median(lengths_s) / dt_s < 620


def test_repeating_holes_have_lengths_of_seconds_where_polls_are_slow() -> None:
    assert any(draw_trace("repeating_holes", seed=seed).series.dt_s >= 0.1 for seed in range(30))


def test_a_base_load_steps_under_a_job_whose_bursts_stand_on_it() -> None:
    n_levels = []
    for seed in range(8):
        made = draw_trace("stepping_base", seed=seed)
        up, rate_bps = made.up_mask(), made.series.rate_bps
        inside = ~up[1:-1] & ~up[:-2] & ~up[2:]
        steps = np.abs(np.diff(rate_bps[1:-1][inside])) > 0.02 * rate_bps.max()
        n_levels.append(int(np.count_nonzero(steps)))
    # Each change is one step between two quiet windows, or two where a window that is Up in part lies between.
    assert min(n_levels) >= 1
    assert max(n_levels) <= 16


def test_resets_and_wraps_step_back() -> None:
    for made in _traces("resets"):
        assert 1 <= np.count_nonzero(np.diff(made.reads.value) < 0) <= 4
        assert (made.series.flags & Flag.RESET).any()
    for made in _traces("wrap"):
        steps = np.diff(made.reads.value)
        assert np.count_nonzero(steps < 0) >= 2
        assert int(made.reads.value.max()) < 2**32
        assert made.reads.to_series(width_bits=32).delta_bytes.sum() == made.reads.total_bytes


def test_stale_reads_hold_bytes_back() -> None:
    for made in _traces("stale"):
        up = made.up_mask(made.reads.t_ns)
        inside = up[1:-1] & up[:-2] & up[2:]
        assert 0.03 < np.mean(np.diff(made.reads.value)[1:-1][inside] == 0) < 0.35


def test_refreshed_counters_are_rebuilt_at_their_own_clock() -> None:
    for made in _traces("refreshed"):
        polls_s = np.median(np.diff(made.reads.t_ns)) / 1e9
        assert made.series.refresh_s is not None
        assert 0.45 < polls_s / made.series.refresh_s < 0.7


def test_two_jobs_are_of_comparable_volume_and_in_no_small_ratio() -> None:
    for made in _traces("two_jobs"):
        assert len(made.periods_s) == len(made.up_by_job_s) == 2
        ratio = min(made.periods_s) / max(made.periods_s)
        assert min(abs(ratio / small - 1) for small in SMALL_RATIOS) > 0.02


def test_near_pairs_differ_by_1_5_to_5_per_cent_and_run_through_each_other() -> None:
    for made in _traces("near_pairs"):
        short_s, long_s = sorted(made.periods_s)
        assert 0.01 < long_s / short_s - 1 < 0.055
        assert made.series.duration_s * (1 / short_s - 1 / long_s) > 1.6


def test_ratio_pairs_are_near_a_small_ratio_and_each_has_a_jitter_of_its_own() -> None:
    for made in _traces("ratio_pairs"):
        short_s, long_s = sorted(made.periods_s)
        assert min(abs(long_s / short_s / ratio - 1) for ratio in (3 / 2, 4 / 3, 2)) < 0.015


def test_three_jobs_are_of_comparable_volume_and_no_two_in_a_small_ratio() -> None:
    for made in _traces("three_jobs"):
        assert len(made.periods_s) == len(made.up_by_job_s) == 3
        for one_s, other_s in combinations(made.periods_s, 2):
            ratio = min(one_s, other_s) / max(one_s, other_s)
            assert min(abs(ratio / small - 1) for small in SMALL_RATIOS) > 0.02


def test_bursts_at_random_and_of_three_lengths_vary_by_four_tenths_of_their_mean() -> None:
    for family in ("random_bursts", "poll_artefacts", "three_lengths"):
        spreads = [_gap_spread(draw_trace(family, seed=seed)) for seed in range(60)]
        assert np.quantile(spreads, 0.1) > 0.37
        assert max(spreads) < 1.2


def test_three_lengths_are_three_and_keep_no_common_clock() -> None:
    for made in _traces("three_lengths"):
        gaps_s = np.diff(made.up_by_job_s[0][1:, 0])
        lengths_s = np.unique(gaps_s.round(9))
        assert sum(np.diff(lengths_s, prepend=0.0) > 1e-6 * lengths_s[0]) == 3
        lengths_s = lengths_s[np.diff(lengths_s, prepend=0.0) > 1e-6 * lengths_s[0]]
        for pace_s in (lengths_s[0], lengths_s[0] / 2):
            # What one draw of a length leaves of the phase: after twenty bursts hardly a third.
            assert abs(np.exp(2j * np.pi * lengths_s / pace_s).mean()) < 0.95


@pytest.mark.parametrize("spread_frac", [0.25, 0.4, 0.9])
def test_bursts_at_random_vary_as_much_as_asked(spread_frac: float) -> None:
    made = [
        random_bursts(np.random.default_rng(seed), duration_s=60.0, dt_s=0.01, spread_frac=spread_frac)
        for seed in range(40)
    ]
    assert np.mean([_gap_spread(one) for one in made]) == pytest.approx(spread_frac, rel=0.1)


@pytest.mark.parametrize("spread_frac", [0.2, 0.95, float("nan")])
def test_a_spread_out_of_range_is_refused(spread_frac: float) -> None:
    with pytest.raises(UsageError, match=r"must be 0\.25 to 0\.9"):
        random_bursts(np.random.default_rng(1), duration_s=60.0, dt_s=0.01, spread_frac=spread_frac)


def _gap_spread(made: Labelled) -> float:
    gaps_s = np.diff(made.up_by_job_s[0][1:, 0])
    return float(gaps_s.std() / gaps_s.mean())


def test_checkpoints_are_outliers_every_10_to_50_iterations() -> None:
    for made in (*_traces("checkpoints"), *(draw_trace("checkpoints", seed=seed) for seed in range(10, 30))):
        n_iterations = len(made.up_s) / made.outliers_s.size
        assert 8 <= n_iterations <= 90
        assert ((made.outliers_s >= 0) & (made.outliers_s <= made.series.duration_s)).all()


def test_some_events_are_huge_and_some_are_silent() -> None:
    ratios = []
    for seed in range(40):
        made = draw_trace("checkpoints", seed=seed)
        up, rate_bps = made.up_mask(), made.series.rate_bps
        ratios.append(rate_bps.max() / np.median(rate_bps[up]))
    assert max(ratios) > 20
    assert min(ratios) < 1.2


def test_an_unknown_family_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="accumulation, aliased"):
        draw_trace("vgg16", seed=1)
