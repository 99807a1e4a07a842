"""The two methods that everyone tries first; neither can say that there is no period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fft_argmax", "highest_acf_peak"]

STEADY: Final = 1e-3
"""A rate that varies less than this fraction of its mean has no highest line worth the name."""


def fft_argmax(rate_bps: NDArray[np.float64], dt_s: float) -> tuple[float, ...]:
    """Return the period of the highest line of the spectrum."""
    if rate_bps.std() < STEADY * rate_bps.mean():
        return ()
    power = np.abs(np.fft.rfft(rate_bps - rate_bps.mean())) ** 2
    return (float(dt_s * rate_bps.size / (1 + int(np.argmax(power[1:])))),)


def highest_acf_peak(rate_bps: NDArray[np.float64], dt_s: float) -> tuple[float, ...]:
    """Return the lag of the highest peak of the autocorrelation, up to a third of the series."""
    centred = rate_bps - rate_bps.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * centred.size)) ** 2
    r = np.fft.irfft(spectrum)[: centred.size // 3]
    peaks = np.flatnonzero((r[1:-1] > r[:-2]) & (r[1:-1] >= r[2:]) & (r[1:-1] > 0)) + 1
    return (dt_s * float(peaks[np.argmax(r[peaks])]),) if peaks.size else ()
