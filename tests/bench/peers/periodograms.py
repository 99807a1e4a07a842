"""astropy's two periodograms, of sines (Lomb-Scargle) and of boxes (BLS), on the windows as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["box_least_squares", "lomb_scargle"]

MAX_FALSE_ALARM: Final = 0.01
"""The level at which a line is usually called significant; astropy leaves it to the caller."""
MIN_DEPTH_SNR: Final = 7.1
"""The threshold of the Kepler mission's transit search; astropy leaves it to the caller."""
MIN_CYCLES: Final = 3
MIN_WINDOWS: Final = 4
OVERSAMPLING: Final = 3
DUTIES: Final = (0.1, 0.2, 0.35, 0.5)


def lomb_scargle(rate_bps: NDArray[np.float64], t_s: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the period of the highest line of the Lomb-Scargle periodogram, if it is significant."""
    from astropy.timeseries import LombScargle

    if np.ptp(rate_bps) == 0:
        return ()
    nyquist_hz = 0.5 / float(np.median(np.diff(t_s)))
    lines = LombScargle(t_s, rate_bps)
    freqs_hz, power = lines.autopower(maximum_frequency=nyquist_hz)
    i_best = int(np.argmax(power))
    if lines.false_alarm_probability(power[i_best], maximum_frequency=nyquist_hz) > MAX_FALSE_ALARM:
        return ()
    return (float(1 / freqs_hz[i_best]),)


def box_least_squares(rate_bps: NDArray[np.float64], t_s: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the period of the best box, bursts being its depth, if its depth is significant."""
    from astropy.timeseries import BoxLeastSquares

    if np.ptp(rate_bps) == 0:
        return ()
    dt_s, duration_s = float(np.median(np.diff(t_s))), float(np.ptp(t_s))
    # A box dips; a burst rises.
    search = BoxLeastSquares(t_s, -rate_bps)
    best = (0.0, 0.0)
    for first_s in _octaves(MIN_WINDOWS * dt_s, duration_s / MIN_CYCLES):
        freqs_hz = np.arange(0.5 / first_s, 1 / first_s, 1 / (OVERSAMPLING * duration_s))
        found = search.power(1 / freqs_hz, [duty * first_s for duty in DUTIES], objective="snr")
        i_best = int(np.argmax(found.depth_snr))
        best = max(best, (float(found.depth_snr[i_best]), float(found.period[i_best])))
    return (best[1],) if best[0] >= MIN_DEPTH_SNR else ()


def _octaves(shortest_s: float, longest_s: float) -> list[float]:
    """Return the shortest period of every octave: boxes are given by width, and must be shorter than any period."""
    return [shortest_s * 2**i for i in range(int(np.ceil(np.log2(max(1.0, longest_s / shortest_s)))))]
