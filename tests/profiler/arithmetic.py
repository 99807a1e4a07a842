"""Series made by arithmetic alone, without a counter or chance but what a test asks for, for parts of the detector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profiler import RateSeries
from profiler.period.prepare import Prepared
from profiler.signals import UniformRate

__all__ = ["boxes", "prepared_of", "series_of", "uniform_of"]

T0_NS = 1_800_000_000 * 10**9
BURST_BPS = 8e8


def boxes(starts: Sequence[float] | NDArray[np.float64], width: float, *, n_bins: int) -> NDArray[np.float64]:
    """Return the part of each bin of length 1 that lies in bursts of one width, shape (n_bins,); they must not meet."""
    begin = np.asarray(starts, dtype=np.float64)
    edges = np.arange(n_bins + 1, dtype=np.float64)
    spent = np.clip(edges[:, None] - begin[None], 0.0, width).sum(axis=1)
    parts: NDArray[np.float64] = np.diff(spent)
    return parts


def prepared_of(values: NDArray[np.float64], *, weight: NDArray[np.float64] | None = None) -> Prepared:
    """Return values of unit variance about their mean, in bins of 1 s."""
    known = np.ones(values.size) if weight is None else weight
    centred = (values - np.average(values, weights=known)) * known
    return Prepared(t0_ns=0, dt_s=1.0, x=centred / np.sqrt(np.sum(centred**2) / known.sum()), weight=known)


def uniform_of(parts: NDArray[np.float64], *, dt_s: float = 1.0) -> UniformRate:
    """Return a rate that is known everywhere, from the part of each window that is Up."""
    return UniformRate(t0_ns=0, dt_s=dt_s, rate_bps=BURST_BPS * parts, known=np.ones(parts.size, dtype=bool))


def series_of(parts: NDArray[np.float64], *, dt_s: float = 0.01) -> RateSeries:
    """Return the series of traffic from the part of each window that is Up."""
    edges_ns = T0_NS + np.arange(parts.size + 1) * round(dt_s * 1e9)
    return RateSeries.from_deltas(edges_ns, parts * BURST_BPS * dt_s / 8)
