"""pyriodicity: Autoperiod and SAZED."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["autoperiod", "sazed"]


def autoperiod(rate_bps: NDArray[np.float64], dt_s: float) -> tuple[float, ...]:
    """Return the periods that Autoperiod finds, in its order."""
    from pyriodicity import Autoperiod

    return tuple(dt_s * float(n_bins) for n_bins in Autoperiod.detect(rate_bps, seed=0))


def sazed(rate_bps: NDArray[np.float64], dt_s: float) -> tuple[float, ...]:
    """Return the period on which SAZED's ensemble settles."""
    from pyriodicity import SAZED

    if np.ptp(rate_bps) == 0:
        return ()
    n_bins = SAZED.detect(rate_bps)
    return (dt_s * float(n_bins),) if n_bins else ()
