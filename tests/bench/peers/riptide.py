"""riptide: the fast folding algorithm of pulsar searches [1]_.

References
----------
.. [1] V. Morello et al., "Optimal periodicity searching: revisiting the fast folding algorithm for large-scale pulsar
   surveys", MNRAS 497 (2020).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fast_folding"]

MIN_CYCLES: Final = 4
BINS: Final = (16, 18)
"""Phase bins of a fold, least and most; the shortest period that can be searched is this many windows."""
MAX_DUTY: Final = 0.5
MIN_SNR: Final = 10.0


def fast_folding(rate_bps: NDArray[np.float64], dt_s: float) -> tuple[float, ...]:
    """Return the periods of riptide's peaks, that of the highest signal-to-noise ratio first."""
    from riptide import TimeSeries, ffa_search, find_peaks

    shortest_s, longest_s = BINS[0] * dt_s, rate_bps.size * dt_s / MIN_CYCLES
    if longest_s <= shortest_s or np.ptp(rate_bps) == 0:
        return ()
    _, folds = ffa_search(
        TimeSeries(rate_bps.astype(np.float32), dt_s),
        period_min=shortest_s,
        period_max=longest_s,
        fpmin=MIN_CYCLES,
        bins_min=BINS[0],
        bins_max=BINS[1],
        ducy_max=MAX_DUTY,
        deredden=False,
    )
    peaks, _ = find_peaks(folds, smin=MIN_SNR)
    return tuple(float(peak.period) for peak in sorted(peaks, key=lambda peak: -peak.snr))
