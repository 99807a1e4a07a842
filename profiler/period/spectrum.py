"""Spectral lines that are too fast for an autocorrelation to tell: periods of a few bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft

from profiler.period.autocorrelation import noise_floor
from profiler.period.evidence import MIN_LAG_BINS

if TYPE_CHECKING:
    from profiler.period.prepare import Prepared

__all__ = ["alias_periods", "fast_line_hz"]

P_CHANCE: Final = 1e-9
"""Chance that noise alone makes a line this strong anywhere in the spectrum."""
N_ALIASES: Final = 4


def fast_line_hz(prepared: Prepared) -> float | None:
    """Return the frequency of the spectrum's strongest line if its period is under `MIN_LAG_BINS` bins, else None.

    Notes
    -----
    Hann-windowed periodogram over a fitted red-noise floor; for noise, power over floor is exponentially distributed,
    so a line at ratio q has chance ``n_freqs * exp(-q)`` of being noise.
    """
    window = np.hanning(prepared.n_bins)
    power = np.abs(scipy.fft.rfft(prepared.x * window)) ** 2
    ratio = power[1:] / noise_floor(power[1:])
    strongest = int(np.argmax(power[1:]))
    freq_hz = (strongest + 1) / (prepared.n_bins * prepared.dt_s)
    is_fast = freq_hz * MIN_LAG_BINS * prepared.dt_s > 1
    is_line = ratio.size * np.exp(-min(700.0, float(ratio[strongest]))) < P_CHANCE
    return freq_hz if is_fast and is_line else None


def alias_periods(freq_hz: float, *, dt_s: float) -> tuple[float, ...]:
    """Return the periods that a sampler every ``dt_s`` cannot tell from a line at ``freq_hz``, longest first.

    A line at f and lines at m / dt - f and m / dt + f look the same at whole multiples of dt.

    Examples
    --------
    >>> [round(period_s, 3) for period_s in alias_periods(0.4, dt_s=1.0)]
    [2.5, 1.667, 0.714, 0.625, 0.417]
    """
    sampling_hz = 1 / dt_s
    freqs_hz = [freq_hz, *(m * sampling_hz + sign * freq_hz for m in range(1, N_ALIASES) for sign in (-1, 1))]
    return tuple(1 / f for f in sorted(freqs_hz)[: N_ALIASES + 1])
