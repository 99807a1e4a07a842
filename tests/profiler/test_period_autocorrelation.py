from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.period.autocorrelation import autocorrelations
from profiler.period.evidence import MULTIPLES, SLACK_FRAC, propose, weigh
from tests.profiler.arithmetic import boxes, prepared_of
from tests.reference import masked_autocorrelation, repetition_contrast, widened_autocorrelation

MIN_BINS = 12


@settings(max_examples=20, deadline=None)
@given(n_bins=st.integers(30, 150), hidden=st.floats(0.0, 0.6), seed=st.integers(0, 10**6))
def test_the_autocorrelation_of_single_bins_is_the_direct_sum_over_known_pairs(
    n_bins: int, hidden: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weight = (rng.random(n_bins) >= hidden).astype(np.float64)
    weight[:2] = 1.0
    prepared = prepared_of(rng.gamma(1.0, 1.0, n_bins), weight=weight)
    finest = autocorrelations(prepared, min_bins=MIN_BINS)[0]
    expected = masked_autocorrelation(prepared.x.tolist(), weight.astype(int).tolist(), n_bins // 2 + 1)
    assert finest.r == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_bins", [96, 101, 256])
def test_every_scale_is_the_direct_sum_over_all_pairs_of_its_bins(n_bins: int) -> None:
    prepared = prepared_of(np.random.default_rng(n_bins).gamma(1.0, 1.0, n_bins))
    scales = autocorrelations(prepared, min_bins=MIN_BINS)
    single = masked_autocorrelation(prepared.x.tolist(), [1] * n_bins, n_bins // 2 + 1)
    assert [acf.bin_s for acf in scales] == [2.0**i for i in range(len(scales))]
    assert n_bins / scales[-1].bin_s >= MIN_BINS > n_bins / (2 * scales[-1].bin_s)
    for acf in scales:
        expected = widened_autocorrelation(single, int(acf.bin_s))
        n_lags = min(len(expected), acf.r.size - 1)
        assert n_lags >= acf.r.size - 3
        assert acf.r[:n_lags] == pytest.approx(expected[:n_lags], abs=1e-9)


def test_sigma_is_how_far_white_noise_moves_a_lag_at_every_scale() -> None:
    lags_of: list[list[float]] = []
    sigmas: list[list[float]] = []
    for seed in range(60):
        scales = autocorrelations(prepared_of(np.random.default_rng(seed).standard_normal(2048)), min_bins=64)
        lags_of.append([float(np.mean(acf.r[4 : acf.r.size // 2] ** 2)) for acf in scales])
        sigmas.append([acf.sigma for acf in scales])
    moved = np.sqrt(np.mean(lags_of, axis=0))
    ratios = np.mean(sigmas, axis=0) / moved
    # Lags up to a quarter of the series lack up to a quarter of its pairs; what is too large is on the safe side.
    assert ratios.min() > 0.9
    assert ratios.max() < 1.4


@pytest.mark.parametrize(
    ("n_bins", "lag"), [(400, 7.0), (400, 12.5), (400, 20.0), (400, 23.3), (20_000, 801.0), (20_000, 1600.7)]
)
def test_the_contrast_is_the_rise_over_the_means_half_way_between(n_bins: int, lag: float) -> None:
    prepared = prepared_of(np.random.default_rng(3).gamma(1.0, 1.0, n_bins))
    (acf, *_) = autocorrelations(prepared, min_bins=n_bins // 2 + 1)
    for most in (1, MULTIPLES):
        expected = repetition_contrast(acf.r.tolist(), lag, n_multiples=most, slack_frac=SLACK_FRAC)
        assert weigh(acf, lag, most=most).contrast == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("period", [10.0, 17.0, 33.0])
def test_a_strict_repetition_has_nearly_all_the_contrast_there_is_and_is_proposed(period: float) -> None:
    prepared = prepared_of(boxes(np.arange(0.0, 900.0, period), 0.3 * period, n_bins=900))
    (acf, *_) = autocorrelations(prepared, min_bins=800)
    # A box of duty d has an autocorrelation of 1 at its period and -d / (1 - d) half-way, where it never meets itself.
    assert weigh(acf, period).contrast == pytest.approx(1 + 0.3 / 0.7, abs=0.15)
    assert min(abs(evidence.period_s / period - 1) for evidence in propose(acf)) < 0.01


def test_white_noise_rises_nowhere_by_much() -> None:
    for seed in range(20):
        scales = autocorrelations(prepared_of(np.random.default_rng(seed).standard_normal(3000)), min_bins=24)
        assert max((evidence.contrast for acf in scales[:3] for evidence in propose(acf)), default=0.0) < 0.15
