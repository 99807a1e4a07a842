"""Series as other methods take them; what this costs is not counted against them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.signals import RateSeries

__all__ = ["filled", "middles"]


def filled(series: RateSeries) -> tuple[NDArray[np.float64], float]:
    """Return the rate in bit/s in bins of the typical window, holes bridged by straight lines, and the bin in s."""
    uniform = series.resample(series.dt_s)
    at = np.arange(uniform.rate_bps.size)
    rate_bps: NDArray[np.float64] = np.interp(at, at[uniform.known], uniform.rate_bps[uniform.known])
    return rate_bps, uniform.dt_s


def middles(series: RateSeries) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rate in bit/s of every known window, and its middle in s, shape (n_known,) each."""
    edges_s = (series.edges_ns - series.edges_ns[0]) / NS_PER_S
    middles_s: NDArray[np.float64] = 0.5 * (edges_s[1:] + edges_s[:-1])
    return series.rate_bps[series.known], middles_s[series.known]
