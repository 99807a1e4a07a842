"""Parts of the regression of a port on templates, against arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.fft

from profiler.ports.calm import calmed
from profiler.ports.regression import evidence_of, regressed
from profiler.ports.tapers import edge_taper

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_BINS = 1024


def _spectrum(wave: NDArray[np.float64]) -> NDArray[np.complex128]:
    spectrum: NDArray[np.complex128] = scipy.fft.rfft(wave)[1:]
    return spectrum


def test_a_taper_rises_at_both_ends_of_what_is_known_and_counts_the_rest_fully() -> None:
    known = np.ones(1000, dtype=np.bool_)
    known[:100] = known[500] = False
    weight = edge_taper(known)
    assert (weight[~known] == 0).all()
    assert (np.delete(weight[145:955], 500 - 145) == 1).all()
    assert weight[100] < 0.01
    assert weight[100:145] == pytest.approx(weight[955:1000][::-1])
    # Half a cosine falls to its half in the middle.
    assert weight[100 + 22] == pytest.approx(0.5, abs=0.01)


def test_nothing_known_has_no_weight() -> None:
    assert not edge_taper(np.zeros(8, dtype=np.bool_)).any()


def test_outbursts_are_cut_down_to_the_usual_and_the_rest_is_left() -> None:
    rng = np.random.default_rng(1)
    wave = rng.standard_normal(N_BINS)
    wave[[100, 700]] += 50.0
    calm, kept_frac = calmed(_spectrum(wave - wave.mean()), known=np.ones(N_BINS, dtype=np.bool_))
    cut = scipy.fft.irfft(np.append(0, calm), N_BINS)
    assert cut.max() < 2.0
    is_usual = np.abs(wave) < 1.0
    assert np.ptp((cut - wave)[is_usual]) < 1e-9
    # Of normal values 18 % are more than 1.345 standard deviations off.
    assert kept_frac == pytest.approx(0.82, abs=0.03)


def test_a_share_is_found_beside_outbursts_and_told_surer_than_least_squares_does() -> None:
    rng = np.random.default_rng(2)
    template = np.sign(np.sin(2 * np.pi * np.arange(N_BINS) / 16))
    wave = 0.5 * template + 0.5 * rng.standard_normal(N_BINS)
    wave[rng.choice(N_BINS, 20, replace=False)] += 30.0
    lines = np.where(np.abs(_spectrum(template)) > 100, _spectrum(template), 0.0)[None]
    known, drawn = np.ones(N_BINS, dtype=np.bool_), np.zeros(N_BINS // 2, dtype=np.bool_)
    regression = regressed(_spectrum(wave), lines, drawn=drawn, known=known)
    assert regression.calm.share[0] == pytest.approx(0.5, abs=0.06)
    found = evidence_of(lines, 0, regression=regression)
    assert found is not None
    assert found.z > 10
    assert found.part_frac == np.inf
    assert 1 / found.error_frac < found.z / 2


def test_what_is_carried_backwards_is_not_carried() -> None:
    rng = np.random.default_rng(3)
    template = np.sign(np.sin(2 * np.pi * np.arange(N_BINS) / 16))
    lines = _spectrum(template)[None]
    known, drawn = np.ones(N_BINS, dtype=np.bool_), np.zeros(N_BINS // 2, dtype=np.bool_)
    whole = _spectrum(rng.standard_normal(N_BINS) - 0.5 * template)
    assert evidence_of(lines, 0, regression=regressed(whole, lines, drawn=drawn, known=known)) is None
