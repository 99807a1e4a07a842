"""The spectrum of a prepared series: power over its noise floor, and the lines that stand out of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from profiler.period.floor import noise_floor

if TYPE_CHECKING:
    from profiler.period.prepare import Prepared

__all__ = ["N_LINES", "Spectrum", "alias_periods", "line_spectrum"]

PADDING: Final = 2
"""Zero padding of the transform: a line between two frequencies is then seen by its neighbours almost in full."""
FIRST_CYCLES: Final = 2.7
"""A line must make about so many cycles in the series to be told from a trend."""
LINE_NATS: Final = 12.0
"""A line is real if noise makes one as strong anywhere with a chance of exp(-12)."""
N_LINES: Final = 24
"""Lines that are looked at."""
N_ALIASES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spectrum:
    """Power spectrum of a series of ``n_bins`` bins.

    ``power`` and ``log_ratio``, its natural logarithm over the noise floor (not below 0), are given at frequencies
    ``k / n_fft`` cycles a bin, k = 0, 1, …; float64, shape (n_freqs,).
    """

    power: NDArray[np.float64]
    log_ratio: NDArray[np.float64]
    n_fft: int
    n_bins: int

    def lines(self, n_lines: int) -> NDArray[np.int64]:
        """Return the indices of the peaks that stand highest over the floor, highest first; shape (<= n_lines,)."""
        first = max(1, int(FIRST_CYCLES * self.n_fft / self.n_bins))
        values = self.log_ratio[first - 1 :]
        peaks = np.flatnonzero((values[1:-1] > values[:-2]) & (values[1:-1] >= values[2:]))
        if peaks.size > n_lines:
            peaks = peaks[np.argpartition(-values[peaks + 1], n_lines)[:n_lines]]
        ordered: NDArray[np.int64] = peaks[np.argsort(-values[peaks + 1], kind="stable")] + first
        return ordered

    @property
    def chance_log_ratio(self) -> float:
        """Log ratio that noise alone exceeds anywhere in the spectrum with a chance of exp(-`LINE_NATS`)."""
        return float(np.log(np.log(self.n_bins) + LINE_NATS))

    def strongest(self, lines: NDArray[np.int64]) -> int:
        """Return the index of the line of most power among those that are real, or else of all; 0 if there is none."""
        if not lines.size:
            return 0
        real = lines[self.log_ratio[lines] > self.chance_log_ratio]
        among = real if real.size else lines
        return int(among[np.argmax(self.power[among])])


def line_spectrum(prepared: Prepared, *, filled: NDArray[np.float64] | None = None) -> Spectrum:
    """Return a Hann-windowed periodogram over a fitted red-noise floor.

    Parameters
    ----------
    prepared
        The series.
    filled
        The same with all bins known, shape (n_bins,), where more is known of them than what is around them.

    Notes
    -----
    For noise, power over floor is exponentially distributed, so that a line at ratio q has chance ``n_freqs * exp(-q)``
    of being noise anywhere. Bins that are not known are filled with what is around them: left at the mean, their
    pattern would put lines of its own beside every other. Cost O(n log n).
    """
    n_bins = prepared.n_bins
    n_fft = scipy.fft.next_fast_len(PADDING * n_bins, real=True)
    power = np.abs(scipy.fft.rfft((prepared.filled if filled is None else filled) * _window(n_bins), n_fft)) ** 2
    log_ratio = np.zeros(power.size)
    if power[1:].any():
        log_ratio[1:] = np.log(np.maximum(power[1:] / noise_floor(power[1:]), 1.0))
    return Spectrum(power=power, log_ratio=log_ratio, n_fft=n_fft, n_bins=n_bins)


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


@lru_cache(maxsize=8)
def _window(n_bins: int) -> NDArray[np.float64]:
    return np.hanning(n_bins)
