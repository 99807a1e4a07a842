from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler.period.choice import Choice, choice_of, choose
from profiler.period.comb import Comb
from profiler.period.confidence import CONFIDENCE_ACCEPT, confidence, is_enough
from profiler.period.spectrum import line_spectrum
from tests.profiler.arithmetic import boxes, prepared_of


def _choice(values: NDArray[np.float64]) -> Choice | None:
    prepared = prepared_of(values)
    return choose(prepared, line_spectrum(prepared))


def _accepts(choice: Choice | None) -> bool:
    return choice is not None and choice.accepted and is_enough(choice)


def _starts(n: int, *, period: float, jitter: float, seed: int) -> NDArray[np.float64]:
    return np.cumsum(period * (1 + jitter * np.random.default_rng(seed).uniform(-1, 1, n)))


@pytest.mark.parametrize("period", [9.7, 31.4, 120.0])
@pytest.mark.parametrize("jitter", [0.0, 0.03, 0.15])
def test_the_period_of_equal_bursts_is_chosen_whether_they_keep_time_or_wander(period: float, jitter: float) -> None:
    values = boxes(_starts(60, period=period, jitter=jitter, seed=1), 0.25 * period, n_bins=round(60 * period))
    choice = _choice(values + 0.05 * np.random.default_rng(2).standard_normal(values.size))
    assert choice is not None
    assert _accepts(choice)
    assert choice.period_s == pytest.approx(period, rel=0.05)


@pytest.mark.parametrize("n_fine", [5, 8, 12])
def test_bursts_of_fine_bursts_have_the_period_of_the_iteration(n_fine: int) -> None:
    fine = np.concatenate([200.0 * i + 10.0 * np.arange(n_fine) for i in range(40)])
    choice = _choice(boxes(fine, 5.0, n_bins=8000))
    assert choice is not None
    assert choice.period_s == pytest.approx(200.0, rel=0.01)


def test_noise_of_every_colour_is_worth_no_answer() -> None:
    accepted = 0
    for seed in range(60):
        white = np.random.default_rng(seed).standard_normal(3000)
        red = np.convolve(white, 0.97 ** np.arange(200), mode="valid")
        walk = np.cumsum(white)
        accepted += sum(_accepts(_choice(values)) for values in (white, red, walk))
    assert accepted == 0


def test_a_series_that_is_level_has_nothing_to_choose() -> None:
    prepared = replace(prepared_of(np.random.default_rng(1).standard_normal(400)), x=np.zeros(400))
    assert choose(prepared, line_spectrum(prepared)) is None


def _of(*, evidence: float, z: float, margin: float = 2.0) -> Choice:
    comb = Comb(freq=0.05, evidence=evidence, n_lines=5, n_harmonics=6)
    return replace(choice_of(comb, dt_s=1.0), comb=comb if evidence else None, z=z, margin=margin)


def test_more_of_anything_never_makes_an_answer_less_sure() -> None:
    for clocked in (False, True):
        by_z = [confidence(_of(evidence=8.0, z=z), clocked=clocked) for z in (0.0, 8.0, 40.0, 200.0, 1e6)]
        by_margin = [
            confidence(_of(evidence=8.0, z=20.0, margin=m), clocked=clocked) for m in (0.5, 1.0, 2.0, 4.0, 1e9)
        ]
        for sure in (by_z, by_margin):
            assert sure == sorted(sure)
            assert all(0 < value < 1 for value in sure)
    assert confidence(_of(evidence=0.0, z=40.0), clocked=False) == pytest.approx(
        confidence(_of(evidence=0.0, z=40.0, margin=9.0), clocked=False)
    )


def test_enough_needs_a_comb_or_a_repetition_or_some_of_both() -> None:
    assert is_enough(_of(evidence=12.0, z=0.0))
    assert is_enough(_of(evidence=0.0, z=60.0))
    assert is_enough(_of(evidence=5.0, z=12.0))
    assert not is_enough(_of(evidence=3.0, z=8.0))
    assert not is_enough(_of(evidence=3.0, z=-50.0))
    assert 0.5 <= CONFIDENCE_ACCEPT < 1
