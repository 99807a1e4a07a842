"""Masked autocorrelation, and how far chance alone would move it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft
from numpy.typing import NDArray

if TYPE_CHECKING:
    from profiler.period.prepare import Prepared

__all__ = ["Autocorrelation", "autocorrelate", "noise_floor"]

BINS_PER_OCTAVE: Final = 12
FLOOR_OCTAVES: Final = 1.5
LEVEL_FREQS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Autocorrelation:
    """Autocorrelation ``r`` at lags 0, 1, 2, … bins; float64, shape (n_lags,).

    ``sigma`` is the standard deviation that a lag's ``r`` would have if the series were nothing but its own noise
    floor; it holds for lags that most of the series can support.
    """

    r: NDArray[np.float64]
    sigma: float
    cumulative: NDArray[np.float64] = field(init=False)
    """Sums of r before each lag, shape (n_lags + 1,), so that the mean over any stretch of lags is cheap."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cumulative", np.concatenate(([0.0], np.cumsum(self.r))))


def autocorrelate(prepared: Prepared) -> Autocorrelation:
    """Return the autocorrelation of a prepared series up to half its length.

    Notes
    -----
    With weights w and values x (zero where w is), ``r[k] = sum x[i] x[i+k] / sum w[i] w[i+k]``, over ``r[0]``: holes
    neither add nor take away. Bartlett's formula gives the variance of ``r[k]`` at lags past the noise's own memory,
    ``sum_j rho[j]**2 / n``, which is ``n_f * sum F**2 / (sum S)**2 / n`` for a noise spectrum F within a total
    spectrum S. Cost O(n log n).

    References
    ----------
    .. [1] M. S. Bartlett, "On the theoretical specification and sampling properties of autocorrelated time-series",
       Suppl. J. Royal Stat. Soc. 8 (1946).
    """
    n_bins = prepared.n_bins
    n_fft = scipy.fft.next_fast_len(2 * n_bins, real=True)
    n_lags = n_bins // 2 + 1
    spectrum = np.abs(scipy.fft.rfft(prepared.x, n_fft)) ** 2
    products = scipy.fft.irfft(spectrum, n_fft)[:n_lags]
    pairs = scipy.fft.irfft(np.abs(scipy.fft.rfft(prepared.weight, n_fft)) ** 2, n_fft)[:n_lags]
    r = products / np.maximum(pairs, 1.0)
    if r[0] <= 0:
        return Autocorrelation(r=np.zeros(n_lags), sigma=1.0)
    floor = noise_floor(spectrum[1:])
    variance = floor.size * np.sum(floor**2) / np.sum(spectrum[1:]) ** 2 / max(1.0, prepared.weight.sum())
    return Autocorrelation(r=r / r[0], sigma=float(np.sqrt(variance)))


def noise_floor(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the red-noise floor under a power spectrum's lines.

    Parameters
    ----------
    power
        Power at frequencies 1, 2, … (any unit), shape (n_freqs,); frequency 0 left out.

    Returns
    -------
    ndarray of float64, shape (n_freqs,)
        The median power in a window of `FLOOR_OCTAVES` octaves to each side, over ln 2, which makes it the mean of the
        exponentially distributed powers of noise; interpolated on log frequency.
    """
    n_freqs = power.size
    index = np.arange(1, n_freqs + 1)
    n_knots = max(2, int(np.log2(n_freqs) * BINS_PER_OCTAVE / 4))
    knots = np.unique(np.round(np.geomspace(1, n_freqs, n_knots)).astype(np.int64))
    reach = 2.0**FLOOR_OCTAVES
    levels = np.array([_level(power, first=max(0, int(k / reach) - 1), end=int(k * reach)) for k in knots])
    tiny = np.finfo(np.float64).tiny
    floor: NDArray[np.float64] = np.exp(np.interp(np.log(index), np.log(knots), np.log(levels / np.log(2) + tiny)))
    return floor


def _level(power: NDArray[np.float64], *, first: int, end: int) -> float:
    """Return the median power of a stretch of at least 5 frequencies, of at most `LEVEL_FREQS` evenly picked ones."""
    stretch = power[first : max(end, first + 6)]
    return float(np.median(stretch[:: 1 + stretch.size // LEVEL_FREQS]))
