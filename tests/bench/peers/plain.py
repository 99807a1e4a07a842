"""The two methods that everyone tries first; neither can say that there is no period."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.bench.peers.uniform import filled

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["fft_argmax", "highest_acf_peak"]

STEADY = 1e-3
"""A rate that varies less than this fraction of its mean has no highest line worth the name."""


def fft_argmax(series: RateSeries) -> tuple[float, ...]:
    """Return the period of the highest line of the spectrum."""
    rate_bps, dt_s = filled(series)
    if rate_bps.std() < STEADY * rate_bps.mean():
        return ()
    power = np.abs(np.fft.rfft(rate_bps - rate_bps.mean())) ** 2
    return (float(dt_s * rate_bps.size / (1 + int(np.argmax(power[1:])))),)


def highest_acf_peak(series: RateSeries) -> tuple[float, ...]:
    """Return the lag of the highest peak of the autocorrelation, up to a third of the series."""
    rate_bps, dt_s = filled(series)
    centred = rate_bps - rate_bps.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * centred.size)) ** 2
    r = np.fft.irfft(spectrum)[: centred.size // 3]
    peaks = np.flatnonzero((r[1:-1] > r[:-2]) & (r[1:-1] >= r[2:]) & (r[1:-1] > 0)) + 1
    return (dt_s * float(peaks[np.argmax(r[peaks])]),) if peaks.size else ()
