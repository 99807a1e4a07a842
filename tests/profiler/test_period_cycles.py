from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler.period.comb import find_combs
from profiler.period.cycles import GOOD_FRAC, N_ROUNDS, REACH_FRAC, SEED_CYCLES, track
from profiler.period.groups import group_order
from profiler.period.onsets import find_onsets
from profiler.period.rivals import settled
from profiler.period.spectrum import line_spectrum
from tests.profiler.arithmetic import boxes, prepared_of, uniform_of
from tests.reference import tracked_cycles

if TYPE_CHECKING:
    from profiler.period.prepare import Prepared

PERIOD = 30.0


def _wandering(n_cycles: int, *, period: float = PERIOD, jitter: float, seed: int) -> NDArray[np.float64]:
    return np.cumsum(period * (1 + jitter * np.random.default_rng(seed).uniform(-1, 1, n_cycles))) - 0.3 * period


@pytest.mark.parametrize("period", [12, 23])
@pytest.mark.parametrize("seed", range(3))
def test_cycles_are_those_of_direct_correlation(period: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts = _wandering(24, period=period, jitter=0.1, seed=seed)
    values = boxes(starts, 0.4 * period, n_bins=24 * period) + 0.2 * rng.standard_normal(24 * period)
    prepared = prepared_of(values)
    found = track(prepared, float(period))
    expected, fit = tracked_cycles(
        prepared.x.tolist(),
        period,
        reach=round(REACH_FRAC * period),
        n_rounds=N_ROUNDS,
        n_seed=SEED_CYCLES,
        good_frac=GOOD_FRAC,
    )
    assert found.starts_s.size == len(expected)
    assert np.abs(found.starts_s - expected).max() <= 0.5 + 1e-9
    assert found.fit == pytest.approx(fit, abs=1e-6)


@pytest.mark.parametrize("jitter", [0.0, 0.05, 0.1])
def test_every_iteration_of_a_job_that_wanders_is_followed(jitter: float) -> None:
    starts = _wandering(80, jitter=jitter, seed=1)
    cycles = track(prepared_of(boxes(starts, 9.0, n_bins=80 * 30)), PERIOD)
    assert cycles.good.mean() > 0.95
    offsets = cycles.starts_s[:, None] - starts[None]
    # A cycle begins at any one point of the iteration, the same for all but for the part of a period that jitter takes.
    nearest = offsets[np.arange(cycles.starts_s.size), np.abs(offsets).argmin(axis=1)]
    turned = (nearest - np.median(nearest) + PERIOD / 2) % PERIOD - PERIOD / 2
    assert np.quantile(np.abs(turned), 0.9) < 1.0 + 0.5 * jitter * PERIOD
    assert abs(cycles.starts_s.size - 79) <= 2


def test_few_cycles_outside_the_time_in_which_a_job_runs_are_good() -> None:
    noise = 0.02 * np.random.default_rng(3).standard_normal(3000)
    cycles = track(prepared_of(boxes(np.arange(900.0, 2000.0, 30.0), 9.0, n_bins=3000) + noise), PERIOD)
    good_s = cycles.starts_s[cycles.good]
    while_running = (good_s > 840) & (good_s < 2010)
    assert np.count_nonzero(while_running) == pytest.approx(37, abs=2)
    # Chance makes a stretch of noise a little like anything.
    assert np.count_nonzero(~while_running) <= 0.2 * (cycles.starts_s.size - 37)


def _onsets(starts: NDArray[np.float64], width: float, *, n_bins: int) -> NDArray[np.float64] | None:
    parts = boxes(starts, width, n_bins=n_bins)
    return find_onsets(uniform_of(parts), track(prepared_of(parts), PERIOD), period_s=PERIOD)


def test_onsets_are_the_bins_in_which_bursts_begin() -> None:
    starts = np.round(_wandering(60, jitter=0.06, seed=2)) + 60.0
    onsets = _onsets(starts, 9.0, n_bins=1950)
    assert onsets is not None
    assert onsets.tolist() == starts[starts + 1 < 1950].tolist()


def test_a_burst_already_under_way_has_no_onset() -> None:
    starts = -4.0 + PERIOD * np.arange(60, dtype=np.float64)
    onsets = _onsets(starts, 9.0, n_bins=1790)
    assert onsets is not None
    assert onsets.tolist() == starts[1:].tolist()


def test_two_bursts_an_iteration_have_one_onset_after_the_longer_pause() -> None:
    first = 12.0 + PERIOD * np.arange(60, dtype=np.float64)
    onsets = _onsets(np.sort(np.concatenate([first, first + 9])), 6.0, n_bins=1830)
    assert onsets is not None
    assert onsets.tolist() == first.tolist()


def test_bursts_that_a_blink_parts_have_no_onsets() -> None:
    starts = PERIOD * np.arange(60, dtype=np.float64)
    assert _onsets(starts, PERIOD - 1.0, n_bins=1800) is None
    assert _onsets(starts, PERIOD - 5.0, n_bins=1800) is not None


def _in_turn(order: int, *, n_cycles: int, seed: int, differ: float) -> Prepared:
    """Cycles of 30 bins, of which the first of every ``order`` bursts carries more, with a little noise."""
    rng = np.random.default_rng(seed)
    parts = boxes(PERIOD * np.arange(n_cycles, dtype=np.float64) + 8.0, 9.0, n_bins=30 * n_cycles)
    scale = np.where(np.arange(n_cycles) % order == 0, 1 + differ, 1.0)
    return prepared_of(parts * np.repeat(scale, 30) + 0.03 * rng.standard_normal(parts.size))


@pytest.mark.parametrize("order", [2, 3, 5])
def test_cycles_that_differ_in_turn_are_a_group_of_as_many(order: int) -> None:
    prepared = _in_turn(order, n_cycles=72, seed=order, differ=1.0)
    group = group_order(prepared, track(prepared, PERIOD), period_s=PERIOD)
    assert group.order == order
    assert group.period_s == pytest.approx(order * PERIOD, rel=0.01)


def test_cycles_that_are_alike_or_differ_by_chance_are_no_group() -> None:
    for seed in range(12):
        alike = _in_turn(2, n_cycles=72, seed=seed, differ=0.0)
        assert group_order(alike, track(alike, PERIOD), period_s=PERIOD).order == 1
        scale = np.random.default_rng(100 + seed).uniform(0.7, 1.3, 72)
        parts = boxes(PERIOD * np.arange(72, dtype=np.float64) + 8.0, 9.0, n_bins=2160)
        chance = prepared_of(parts * np.repeat(scale, 30))
        assert group_order(chance, track(chance, PERIOD), period_s=PERIOD).order == 1


@pytest.mark.parametrize("order", [2, 3])
def test_of_a_period_and_its_part_the_cycles_decide(order: int) -> None:
    for differ in (0.0, 1.0):
        prepared = _in_turn(order, n_cycles=72, seed=order, differ=differ)
        combs = settled(find_combs(line_spectrum(prepared), 6), prepared, disturbed=False)
        assert combs[0].period_bins == pytest.approx(PERIOD * (order if differ else 1), rel=0.01)


def test_a_rival_that_is_no_whole_multiple_changes_nothing() -> None:
    prepared = prepared_of(
        boxes(np.arange(5.0, 3000.0, 30.0), 8.0, n_bins=3000) + boxes(np.arange(2.0, 3000.0, 43.7), 9.0, n_bins=3000)
    )
    combs = [
        comb
        for comb in find_combs(line_spectrum(prepared), 6)
        if min(abs(comb.period_bins / period - 1) for period in (30.0, 43.7)) < 0.01
    ]
    assert len(combs) == 2
    assert settled(combs, prepared, disturbed=False) == combs
