"""How exact periods are and how often intervals hold them, against the truth's own jitter and number of iterations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from profiler.period import detect_period
from profiler.synth import Burst, Labelled, training_job, with_noise

RATE = 400e6
MEDIAN_ERROR = 1.2533
"""Standard error of the median of n normal deviates, over their standard deviation and times sqrt(n)."""
Made = tuple[Labelled, float]
"""A job, and the jitter of its iterations over their length."""


def _job(
    rng: np.random.Generator, *, period_s: float, bursts: list[Burst], n_cycles: int, per_cycle: int, jitter: float
) -> Made:
    made = training_job(
        rng,
        period_s=period_s,
        bursts=bursts,
        duration_s=n_cycles * period_s,
        dt_s=period_s / per_cycle,
        jitter_frac=jitter,
    )
    return made, jitter


def _vgg(rng: np.random.Generator) -> Made:
    bursts = [Burst(0.4, rng.uniform(0.1, 0.55), RATE)]
    return _job(rng, period_s=0.255, bursts=bursts, n_cycles=47, per_cycle=127, jitter=0.01)


def _several_bursts(rng: np.random.Generator) -> Made:
    bursts = [Burst(0.05 + 0.3 * i, 0.08, RATE * rate) for i, rate in enumerate((1.0, 0.5, 0.7))]
    return _job(rng, period_s=1.7, bursts=bursts, n_cycles=41, per_cycle=141, jitter=0.01)


def _nested(rng: np.random.Generator) -> Made:
    bursts = [Burst(0.1 + 0.05 * i, 0.02, RATE) for i in range(10)]
    return _job(rng, period_s=4.0, bursts=bursts, n_cycles=30, per_cycle=200, jitter=0.01)


def _accumulating(rng: np.random.Generator) -> Made:
    bursts = [*(Burst(i / 4, 0.04, RATE / 2) for i in range(3)), Burst(0.75, 0.15, RATE)]
    return _job(rng, period_s=25.0, bursts=bursts, n_cycles=36, per_cycle=125, jitter=0.01)


def _jittery(rng: np.random.Generator) -> Made:
    return _job(rng, period_s=0.1, bursts=[Burst(0.3, 0.45, RATE)], n_cycles=90, per_cycle=100, jitter=0.06)


def _noisy(rng: np.random.Generator) -> Made:
    bursts = [Burst(0.3, 0.45, RATE)]
    made, jitter = _job(rng, period_s=0.5, bursts=bursts, n_cycles=60, per_cycle=100, jitter=0.01)
    return with_noise(rng, made, noise_bps=0.8 * RATE), jitter


def _few(rng: np.random.Generator) -> Made:
    return _job(rng, period_s=60.0, bursts=[Burst(0.3, 0.45, RATE)], n_cycles=7, per_cycle=120, jitter=0.01)


def _coarse(rng: np.random.Generator) -> Made:
    return _job(rng, period_s=8.4, bursts=[Burst(0.3, 0.45, RATE)], n_cycles=107, per_cycle=8, jitter=0.0)


@pytest.mark.parametrize("seed", range(200, 206))
@pytest.mark.parametrize(
    "family", [_vgg, _several_bursts, _nested, _accumulating, _jittery, _noisy, _few, _coarse], ids=lambda f: f.__name__
)
def test_a_period_is_as_exact_as_its_jitter_and_number_of_iterations_allow(
    family: Callable[[np.random.Generator], Made], seed: int
) -> None:
    made, jitter = family(np.random.default_rng(seed))
    found = detect_period(made.series)
    assert found.status == "periodic", found.reason
    assert made.period_s is not None
    n_cycles = made.series.duration_s / made.period_s
    # A window's rounding at both ends of the recording, or one of each length's median; and chance, thrice.
    chance = 3 * MEDIAN_ERROR * jitter / np.sqrt(n_cycles)
    rounding = 0.5 * made.series.dt_s / made.period_s / np.sqrt(n_cycles)
    assert found.period_s == pytest.approx(made.period_s, rel=0.002 + chance + rounding)


@pytest.mark.parametrize(
    ("period_s", "jitter_frac", "seeds"),
    [(0.2, 0.04, range(120)), (0.2007, 0.02, range(60)), (0.2013, 0.06, range(60))],
)
def test_the_interval_of_a_wandering_job_holds_the_truth_nine_times_in_ten(
    period_s: float, jitter_frac: float, seeds: range
) -> None:
    held = []
    for seed in seeds:
        job = training_job(
            np.random.default_rng(seed), period_s=period_s, duration_s=12.0, dt_s=0.002, jitter_frac=jitter_frac
        )
        found = detect_period(job.series)
        assert found.period_low_s is not None
        assert found.period_high_s is not None
        held.append(found.period_low_s <= period_s <= found.period_high_s)
    assert np.mean(held) >= 0.9
