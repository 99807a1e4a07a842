from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from profiler.period import comb as comb_module
from profiler.period.comb import find_combs
from profiler.period.floor import noise_floor
from profiler.period.spectrum import N_LINES, Spectrum, line_spectrum
from tests.profiler.arithmetic import boxes, prepared_of
from tests.reference import CombRule, comb_evidence

N_BINS = 2048
RULE = CombRule(
    cap=comb_module.CAP_NATS,
    price=comb_module.PRICE_NATS,
    reach=comb_module.REACH,
    widening=comb_module.REACH_FINAL,
    most_widened=comb_module.MAX_WIDENED,
    most_harmonics=comb_module.MAX_HARMONICS,
    without_strongest=comb_module.NOT_STRONGEST_FRAC,
)


def _line_spectrum(freqs: NDArray[np.float64], nats: NDArray[np.float64]) -> Spectrum:
    """A spectrum that is its floor everywhere but at lines as wide as a Hann window makes them."""
    n_fft = 2 * N_BINS
    at = np.arange(n_fft // 2 + 1)
    log_ratio = np.zeros(at.size)
    for freq, height in zip(freqs, nats, strict=True):
        away = np.abs(at - freq * n_fft) / 4
        log_ratio = np.maximum(log_ratio, np.where(away < 1, height * (1 - away**2), 0.0))
    return Spectrum(power=np.exp(log_ratio), log_ratio=log_ratio, n_fft=n_fft, n_bins=N_BINS)


@settings(max_examples=40, deadline=None)
@given(period=st.floats(18.0, 150.0), n_lines=st.integers(4, 8), seed=st.integers(0, 10**6))
def test_the_comb_of_a_period_beats_those_of_its_double_and_half(period: float, n_lines: int, seed: int) -> None:
    orders = np.arange(1, n_lines + 1)
    nats = np.random.default_rng(seed).uniform(3.0, 9.0, n_lines)
    combs = find_combs(_line_spectrum(orders / period, nats), 6)
    assert combs[0].period_bins == pytest.approx(period, rel=0.005)
    others = [comb for comb in combs[1:] if abs(comb.period_bins / (2 * period) - 1) < 0.01]
    others += [comb for comb in combs[1:] if abs(comb.period_bins / (period / 2) - 1) < 0.01]
    assert all(comb.evidence < combs[0].evidence for comb in others)


@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_of_combs_is_the_plain_sum_over_their_harmonics(seed: int) -> None:
    rng = np.random.default_rng(seed)
    period = rng.uniform(20.0, 60.0)
    values = boxes(np.arange(0.0, N_BINS, period), 0.3 * period, n_bins=N_BINS) + 0.5 * rng.standard_normal(N_BINS)
    spectrum = line_spectrum(prepared_of(values))
    combs = [comb for comb in find_combs(spectrum, 6) if comb.period_bins > comb_module.COARSE_BINS]
    assert len(combs) >= 2
    strongest = spectrum.strongest(spectrum.lines(N_LINES))
    for comb in combs:
        expected = comb_evidence(
            spectrum.log_ratio.tolist(),
            comb.freq,
            n_fft=spectrum.n_fft,
            n_bins=spectrum.n_bins,
            strongest=strongest,
            rule=RULE,
        )
        assert comb.evidence == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("period", [2.557, 3.31, 4.73, 9.6, 11.4, 57.3, 200.0])
def test_the_comb_of_a_clocked_burst_is_at_its_period_however_few_bins_it_has(period: float) -> None:
    values = boxes(np.arange(0.3, 4096.0, period), 0.3 * period, n_bins=4096)
    values += 0.02 * np.random.default_rng(1).standard_normal(4096)
    best = find_combs(line_spectrum(prepared_of(values)), 6)[0]
    assert best.period_bins == pytest.approx(period, rel=0.002)


def test_no_comb_of_white_noise_has_the_evidence_of_a_job() -> None:
    evidence = [
        max((comb.evidence for comb in find_combs(line_spectrum(prepared_of(noise)), 6)), default=0.0)
        for noise in (np.random.default_rng(seed).standard_normal(N_BINS) for seed in range(60))
    ]
    job = boxes(np.arange(0.0, N_BINS, 41.3), 12.0, n_bins=N_BINS)
    assert max(evidence) < 0.25 * find_combs(line_spectrum(prepared_of(job)), 1)[0].evidence


def test_a_spectrum_without_lines_has_no_comb() -> None:
    assert find_combs(_line_spectrum(np.zeros(0), np.zeros(0)), 6) == []


@pytest.mark.parametrize(("slope", "within"), [(0.0, 0.15), (1.0, 0.5)])
def test_the_floor_is_the_noise_and_lines_do_not_lift_it(slope: float, within: float) -> None:
    freqs = np.arange(1, 4097)
    true_floor = freqs**-slope
    power = true_floor * np.random.default_rng(2).exponential(size=freqs.size)
    floor = noise_floor(power)
    # The median over octaves to both sides leans towards the side with more frequencies.
    assert np.median(np.abs(np.log(floor / true_floor)[20:])) < within
    power[39::40] *= 50
    lifted = noise_floor(power)
    assert np.median(np.abs(np.log(lifted / floor)[20:])) < 0.1
