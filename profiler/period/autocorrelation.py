"""Masked autocorrelation at every scale, and how far chance alone would move it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from profiler.period.floor import noise_floor

if TYPE_CHECKING:
    from profiler.period.prepare import Prepared

__all__ = ["BLOCK_LAGS", "Autocorrelation", "autocorrelations"]

BLOCK_LAGS: Final = 32
"""Lags of which the highest is kept: of a long stretch about as many are then looked at as it has blocks."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Autocorrelation:
    """Autocorrelation ``r`` at lags 0, 1, 2, … bins of ``bin_s``; float64, shape (n_lags,).

    ``sigma`` is the standard deviation that a lag's ``r`` would have if the series were nothing but its own noise
    floor; it holds for lags that most of the series can support.
    """

    r: NDArray[np.float64]
    sigma: float
    bin_s: float
    cumulative: NDArray[np.float64] = field(init=False)
    """Sums of r before each lag, shape (n_lags + 1,), so that the mean over any stretch of lags is cheap."""

    highest: NDArray[np.float64] = field(init=False)
    """The highest r of each whole block of `BLOCK_LAGS` lags."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cumulative", np.concatenate(([0.0], np.cumsum(self.r))))
        n_blocks = self.r.size // BLOCK_LAGS
        blocks = self.r[: n_blocks * BLOCK_LAGS].reshape(n_blocks, BLOCK_LAGS)
        object.__setattr__(self, "highest", blocks.max(axis=1))


def autocorrelations(prepared: Prepared, *, min_bins: int) -> list[Autocorrelation]:
    """Return the autocorrelation up to half the series' length at bins of 1, 2, 4, … times its own.

    A burst has a texture of its own (windows of the transport, chunks of the collective), which at fine bins hides the
    iteration and at coarse ones averages out.

    Parameters
    ----------
    prepared
        The series.
    min_bins
        Scales with fewer bins than this are left out.

    Notes
    -----
    With weights w and values x (zero where w is), ``r[k] = sum x[i] x[i+k] / sum w[i] w[i+k]``, over ``r[0]``: holes
    neither add nor take away. Bins twice as wide have ``(r[2k-1] + 2 r[2k] + r[2k+1]) / 4``, so that one transform
    serves every scale. Bartlett's formula gives the variance of ``r[k]`` at lags past the noise's own memory,
    ``sum_j rho[j]**2 / n``, which is ``n_f * sum F**2 / (sum S)**2 / n`` for a noise spectrum F within a total
    spectrum S; bins twice as wide weigh both with ``cos(pi f)**2``, the next with ``cos(2 pi f)**2``, which is
    ``(2 cos(pi f)**2 - 1)**2``. Cost O(n log n).

    References
    ----------
    .. [1] M. S. Bartlett, "On the theoretical specification and sampling properties of autocorrelated time-series",
       Suppl. J. Royal Stat. Soc. 8 (1946).
    """
    n_bins = prepared.n_bins
    n_fft = scipy.fft.next_fast_len(2 * n_bins, real=True)
    total = np.abs(scipy.fft.rfft(prepared.x, n_fft)) ** 2
    r = _products(total, prepared, n_fft=n_fft)
    floor, total = noise_floor(total[1:]), total[1:]
    n_known = max(1.0, float(prepared.weight.sum()))
    gain = np.cos(np.pi * np.arange(1, (floor.size + 1) // 2 + 1) / n_fft) ** 2
    found: list[Autocorrelation] = []
    width = 1
    while n_bins // width >= min_bins and r[0] > 0:
        sigma = np.sqrt(floor.size * np.dot(floor, floor) * width / n_known) / total.sum()
        found.append(Autocorrelation(r=r / r[0], sigma=float(sigma), bin_s=prepared.dt_s * width))
        r = _twice_as_wide(r)
        # Bins twice as wide have no frequencies above half of those that these have.
        half = (floor.size + 1) // 2
        floor, total, width = floor[:half] * gain[:half], total[:half] * gain[:half], 2 * width
        gain = (2 * gain[:half] - 1) ** 2
    return found


def _products(total: NDArray[np.float64], prepared: Prepared, *, n_fft: int) -> NDArray[np.float64]:
    """Return the mean product of values each lag apart, shape (n_bins // 2 + 1,)."""
    n_lags = prepared.n_bins // 2 + 1
    products: NDArray[np.float64] = scipy.fft.irfft(total, n_fft)[:n_lags]
    if prepared.weight.all():
        return products / (prepared.n_bins - np.arange(n_lags))
    pairs: NDArray[np.float64] = scipy.fft.irfft(np.abs(scipy.fft.rfft(prepared.weight, n_fft)) ** 2, n_fft)[:n_lags]
    means: NDArray[np.float64] = products / np.maximum(pairs, 1.0)
    return means


def _twice_as_wide(r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the autocorrelation of the series in bins twice as wide."""
    before = np.concatenate((r[1:2], r[:-1]))
    after = np.concatenate((r[1:], r[-1:]))
    wide: NDArray[np.float64] = (0.25 * before + 0.5 * r + 0.25 * after)[::2]
    return wide
