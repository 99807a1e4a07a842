"""Make a rate series ready for correlation: uniform, clipped, detrended, holes weighted zero, at several scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from profiler.period.medians import median

if TYPE_CHECKING:
    from profiler.signals import RateSeries, UniformRate

__all__ = ["MAX_BINS", "MIN_BINS", "Prepared", "pool", "prepare", "uniform_rate"]

MAX_BINS: Final = 1 << 17
"""A longer series is analysed on coarser bins, so that time and memory stay bounded."""
MIN_BINS: Final = 24
"""Fewer bins than this can show no period: at least three cycles of at least six bins, and some to spare."""
CLIP_FACTOR: Final = 4.0
"""Rates above this many times the typical burst's rate are clipped: one huge event must not be the whole variance."""

FILL_BINS: Final = 16
"""Known bins whose mean stands for those that are not."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """A series ready for correlation.

    ``x`` is the rate clipped, detrended and scaled to unit variance over the known bins, zero elsewhere; ``weight``
    is 1 where a bin is known and 0 elsewhere; both float64, shape (n_bins,). Bin ``i`` begins ``i * dt_s`` after
    ``t0_ns``.
    """

    t0_ns: int
    dt_s: float
    x: NDArray[np.float64]
    weight: NDArray[np.float64]

    @property
    def filled(self) -> NDArray[np.float64]:
        """``x`` with what is around them in the bins that are not known; float64, shape (n_bins,)."""
        known = np.flatnonzero(self.weight)
        if known.size in (0, self.n_bins):
            return self.x
        around = uniform_filter1d(self.x[known], FILL_BINS, mode="nearest")
        filled: NDArray[np.float64] = np.interp(np.arange(self.n_bins), known, around)
        filled[known] = self.x[known]
        return filled

    @property
    def n_bins(self) -> int:
        """Number of bins, known or not."""
        return self.x.size

    @property
    def duration_s(self) -> float:
        """Seconds covered, holes included."""
        return self.n_bins * self.dt_s


def uniform_rate(series: RateSeries) -> UniformRate:
    """Return a series of at least one window on its own uniform grid, or on a coarser one if it is long."""
    return series.resample(max(series.dt_s, series.duration_s / MAX_BINS))


def prepare(uniform: UniformRate, *, cut_bps: float, masked: NDArray[np.bool_] | None = None) -> Prepared:
    """Return a rate on a uniform grid ready for correlation.

    Parameters
    ----------
    uniform
        The rate.
    cut_bps
        Rate that parts Up from Down, see `bursts.threshold`.
    masked
        Bins that count as not known, shape (n_bins,).
    """
    known = uniform.known if masked is None else uniform.known & ~masked
    clipped = np.minimum(uniform.rate_bps, CLIP_FACTOR * _burst_rate(uniform.rate_bps[known], cut_bps))
    return _scaled(_detrended(clipped, known), known.astype(np.float64), t0_ns=uniform.t0_ns, dt_s=uniform.dt_s)


def pool(prepared: Prepared, n_pooled: int) -> Prepared:
    """Return the series in bins ``n_pooled`` times as wide; a bin is known if at least half of it is."""
    if n_pooled == 1:
        return prepared
    n_bins = prepared.n_bins // n_pooled
    shape = (n_bins, n_pooled)
    total = prepared.x[: n_bins * n_pooled].reshape(shape).sum(axis=1)
    n_known = prepared.weight[: n_bins * n_pooled].reshape(shape).sum(axis=1)
    weight = (n_known >= 0.5 * n_pooled).astype(np.float64)
    mean = total / np.maximum(n_known, 1.0)
    return _scaled(mean, weight, t0_ns=prepared.t0_ns, dt_s=prepared.dt_s * n_pooled)


def _scaled(x: NDArray[np.float64], weight: NDArray[np.float64], *, t0_ns: int, dt_s: float) -> Prepared:
    n_known = max(1.0, float(weight.sum()))
    centred = (x - np.sum(x * weight) / n_known) * weight
    scale = float(np.sqrt(np.sum(centred**2) / n_known))
    return Prepared(t0_ns=t0_ns, dt_s=dt_s, x=centred / scale if scale > 0 else centred, weight=weight)


def _burst_rate(rates_bps: NDArray[np.float64], cut_bps: float) -> float:
    """Return the median rate while Up: the typical burst, whatever its duty and however huge some event."""
    up_bps = rates_bps[rates_bps > cut_bps]
    return median(up_bps) if up_bps.size else float("inf")


def _detrended(rate_bps: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Subtract the least-squares line through the known bins."""
    if np.count_nonzero(known) < 3:
        return np.zeros_like(rate_bps)
    t = np.linspace(-1.0, 1.0, rate_bps.size)
    n_known, at, rates = np.count_nonzero(known), t[known], rate_bps[known]
    centre, level = at.sum() / n_known, rates.sum() / n_known
    slope = np.dot(at - centre, rates) / np.dot(at - centre, at - centre)
    detrended: NDArray[np.float64] = rate_bps - (slope * (t - centre) + level)
    return detrended
