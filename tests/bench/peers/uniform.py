"""Series as methods that know no gaps take them: a uniform rate without holes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.signals import RateSeries

__all__ = ["filled"]


def filled(series: RateSeries) -> tuple[NDArray[np.float64], float]:
    """Return the rate in bit/s in bins of the typical window, holes bridged by straight lines, and the bin in s."""
    uniform = series.resample(series.dt_s)
    at = np.arange(uniform.rate_bps.size)
    rate_bps: NDArray[np.float64] = np.interp(at, at[uniform.known], uniform.rate_bps[uniform.known])
    return rate_bps, uniform.dt_s
