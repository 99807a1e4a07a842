from __future__ import annotations

import numpy as np
import pytest

from pipeline.discover.matches import match, stand_out
from pipeline.discover.spectra import Spectra
from pipeline.discover.templates import Template, template_of
from pipeline.discover.ticks import Ticks
from profiler.ports.fits import MIN_SHIFT, N_SHIFTS, fit_z

N_FREQS = 600
AT = np.arange(20, N_FREQS, 29)


def _fleet(*, n_ports: int) -> tuple[Spectra, Template]:
    """Return ports of which the first third do as the template does, and the others' lines are elsewhere."""
    rng = np.random.default_rng(3)
    white = (rng.normal(size=(n_ports, N_FREQS)) + 1j * rng.normal(size=(n_ports, N_FREQS))) / np.sqrt(2)
    turned = np.exp(2j * np.pi * rng.uniform(size=AT.size)) * 3.0
    white[: n_ports // 3, AT] += turned
    white[n_ports // 3 :, AT + 7] += turned
    ticks = Ticks(t0_s=0.0, dt_s=1.0, n_ticks=2 * N_FREQS)
    spectra = Spectra(ticks=ticks, white=white.astype(np.complex64), power=(np.abs(white) ** 2).astype(np.float32))
    return spectra, template_of(spectra, [0], lags_s=np.zeros(1), period_s=None)


@pytest.mark.parametrize("n_freqs", [96, 577, 1800])
def test_the_spread_of_chance_fits_is_that_of_each_shift_one_by_one(n_freqs: int) -> None:
    rng = np.random.default_rng(n_freqs)
    own, rest = rng.normal(size=(2, n_freqs)) + 1j * rng.normal(size=(2, n_freqs))
    noise = rng.uniform(0.5, 2.0, n_freqs)
    noise[::17] = np.inf
    white, left = own / np.sqrt(noise), rest / np.sqrt(noise)
    each = range(MIN_SHIFT, MIN_SHIFT + N_SHIFTS // 2)
    fits = [np.vdot(white, np.roll(left, -shift)) for by in each for shift in (by, -by)]
    told = 0.3 * np.sum(np.abs(white) ** 2) / np.sqrt(np.mean(0.5 * np.abs(fits) ** 2))
    assert fit_z(own, rest, share=0.3, noise=noise) == pytest.approx(told, rel=1e-9)


def test_chances_up_to_the_limit_are_those_without_one() -> None:
    spectra, template = _fleet(n_ports=30)
    rows, limit = np.arange(30), float(np.log(1e-4))
    whole = match(template, spectra, rows=rows)
    bounded = match(template, spectra, rows=rows, limit=limit)
    is_less = whole.log_chance <= limit
    assert 0 < np.count_nonzero(is_less) < 30
    np.testing.assert_array_equal(bounded.log_chance <= limit, is_less)
    np.testing.assert_array_equal(bounded.log_chance[is_less], whole.log_chance[is_less])


def test_only_ports_that_do_something_at_the_lines_are_compared() -> None:
    spectra, template = _fleet(n_ports=30)
    np.testing.assert_array_equal(stand_out(template, spectra, rows=np.arange(30)), np.arange(30) < 10)
