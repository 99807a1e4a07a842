"""Spectral lines that are too fast for an autocorrelation to tell: periods of a few bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft

from profiler.period.autocorrelation import noise_floor
from profiler.period.evidence import MIN_LAG_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.period.prepare import Prepared

__all__ = ["Spectrum", "alias_periods", "fast_line_hz", "is_harmonic", "line_spectrum"]

P_CHANCE: Final = 1e-9
"""Chance that noise alone makes a line this strong anywhere in the spectrum."""
N_ALIASES: Final = 4
MAX_HARMONIC: Final = 4
HARMONIC_SLACK: Final = 0.06


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spectrum:
    """Power over the noise floor at frequencies ``step_hz``, 2 ``step_hz``, …; float64, shape (n_freqs,).

    ``strongest_hz`` is the frequency of most power, whatever the floor.
    """

    ratio: NDArray[np.float64]
    step_hz: float
    strongest_hz: float

    def has_line(self, freq_hz: float) -> bool:
        """Return whether a line stands at a frequency, within a step or two."""
        i_near = round(freq_hz / self.step_hz) - 1
        near = self.ratio[max(0, i_near - 2) : i_near + 3]
        return near.size > 0 and self.ratio.size * float(np.exp(-min(700.0, float(near.max())))) < P_CHANCE


def line_spectrum(prepared: Prepared) -> Spectrum:
    """Return a Hann-windowed periodogram over a fitted red-noise floor.

    Notes
    -----
    For noise, power over floor is exponentially distributed, so that a line at ratio q has chance ``n_freqs * exp(-q)``
    of being noise anywhere.
    """
    window = np.hanning(prepared.n_bins)
    power = np.abs(scipy.fft.rfft(prepared.x * window))[1:] ** 2
    step_hz = 1 / (prepared.n_bins * prepared.dt_s)
    strongest_hz = (int(np.argmax(power)) + 1) * step_hz
    return Spectrum(ratio=power / noise_floor(power), step_hz=step_hz, strongest_hz=strongest_hz)


def fast_line_hz(spectrum: Spectrum, *, dt_s: float) -> float | None:
    """Return the frequency of the strongest line if its period is under `MIN_LAG_BINS` samples, else None."""
    is_fast = spectrum.strongest_hz * MIN_LAG_BINS * dt_s > 1
    return spectrum.strongest_hz if is_fast and spectrum.has_line(spectrum.strongest_hz) else None


def is_harmonic(freq_hz: float, *, of_period_s: float, spectrum: Spectrum) -> bool:
    """Return whether a fast line is a low harmonic of a longer period that has a line of its own.

    A period of a few samples looks the same at those of its multiples that fall near whole samples; only a line at the
    longer period itself tells that the iteration is that long.
    """
    order = freq_hz * of_period_s
    near_whole = abs(order - round(order)) < HARMONIC_SLACK and 1 <= round(order) <= MAX_HARMONIC
    return near_whole and spectrum.has_line(1 / of_period_s)


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
