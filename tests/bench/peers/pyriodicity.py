"""pyriodicity: Autoperiod and SAZED."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.bench.peers.uniform import filled

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["autoperiod", "sazed"]


def autoperiod(series: RateSeries) -> tuple[float, ...]:
    """Return the periods that Autoperiod finds, in its order."""
    from pyriodicity import Autoperiod

    rate_bps, dt_s = filled(series)
    return tuple(dt_s * float(n_bins) for n_bins in Autoperiod.detect(rate_bps, seed=0))


def sazed(series: RateSeries) -> tuple[float, ...]:
    """Return the period on which SAZED's ensemble settles."""
    from pyriodicity import SAZED

    rate_bps, dt_s = filled(series)
    if np.ptp(rate_bps) == 0:
        return ()
    n_bins = SAZED.detect(rate_bps)
    return (dt_s * float(n_bins),) if n_bins else ()
