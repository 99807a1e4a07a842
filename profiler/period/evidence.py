"""How strongly a series repeats after a lag: one measure for every lag, at every scale.

At a period T the autocorrelation is high at T, 2 T, 3 T … and low half-way between. The *contrast* is the mean of that
difference over the first few multiples; its *z* is the contrast over what chance would give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.period.autocorrelation import BLOCK_LAGS
from profiler.period.peaks import vertices

if TYPE_CHECKING:
    from profiler.period.autocorrelation import Autocorrelation

__all__ = ["MIN_CYCLES", "MIN_LAG_BINS", "MULTIPLES", "Evidence", "propose", "weigh"]

MIN_LAG_BINS: Final = 6
"""An autocorrelation peak at fewer bins proposes nothing: at such lags the bins themselves make peaks."""
MIN_CYCLES: Final = 3.0
"""A period must fit this often into the series."""
MULTIPLES: Final = 4
"""Multiples of the period that add evidence; jitter blurs the later ones."""
SLACK_FRAC: Final = 0.04
"""A multiple is looked for within this fraction of itself: iterations wander."""
N_PROPOSED: Final = 8
MIN_RISE_SIGMAS: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for a period.

    ``contrast`` is the mean rise over the first few multiples, ``z`` the contrast in units of what chance gives,
    ``bin_s`` the scale it was seen at.
    """

    period_s: float
    bin_s: float
    contrast: float
    z: float


def propose(acf: Autocorrelation) -> list[Evidence]:
    """Return evidence for the peaks of an autocorrelation that rise most, highest first."""
    r = acf.r[: _n_lags(acf)]
    peaks = np.flatnonzero((r[1:-1] > r[:-2]) & (r[1:-1] >= r[2:])) + 1
    peaks = peaks[peaks >= MIN_LAG_BINS]
    if not peaks.size:
        return []
    rises = _contrasts(acf.r, acf.cumulative, acf.highest, peaks.astype(np.float64), MULTIPLES, _n_lags(acf))
    best = np.argsort(-rises, kind="stable")[:N_PROPOSED]
    best = best[rises[best] > MIN_RISE_SIGMAS * acf.sigma]
    return _weigh_all(acf, vertices(acf.r, peaks[best]), most=MULTIPLES)


def weigh(acf: Autocorrelation, lag_bins: float, *, most: int = MULTIPLES) -> Evidence:
    """Return the evidence for a period of ``lag_bins`` bins from its first multiples, at ``most`` so many."""
    return _weigh_all(acf, np.array([lag_bins]), most=most)[0]


def _weigh_all(acf: Autocorrelation, lags: NDArray[np.float64], *, most: int) -> list[Evidence]:
    n_lags = _n_lags(acf)
    contrasts = _contrasts(acf.r, acf.cumulative, acf.highest, lags, most, n_lags)
    chances = acf.sigma * np.sqrt(1.5 / np.clip((n_lags - 1) // lags, 1, most))
    return [
        Evidence(period_s=lag * acf.bin_s, bin_s=acf.bin_s, contrast=contrast, z=z)
        for lag, contrast, z in zip(lags.tolist(), contrasts.tolist(), (contrasts / chances).tolist(), strict=True)
    ]


def _n_lags(acf: Autocorrelation) -> int:
    """Return how many lags can be a period: the autocorrelation holds half of the series' length."""
    return max(3, int(2 * (acf.r.size - 1) / MIN_CYCLES) + 1)


@njit(cache=True, nogil=True)
def _contrasts(
    r: NDArray[np.float64],
    cumulative: NDArray[np.float64],
    highest: NDArray[np.float64],
    lags: NDArray[np.float64],
    most: int,
    n_lags: int,
) -> NDArray[np.float64]:
    """Return the mean rise at the first multiples of each lag over the lows half-way between, shape (n_lags,)."""
    rises = np.zeros(lags.size)
    for i in range(lags.size):
        lag = lags[i]
        n_multiples = max(1, min(most, int((n_lags - 1) / lag)))
        total = 0.0
        for m in range(1, n_multiples + 1):
            first, end = _window(m * lag, r.size)
            total += _highest(r, highest, first, end) - 0.5 * (
                _mean(cumulative, (m - 0.5) * lag, r.size) + _mean(cumulative, (m + 0.5) * lag, r.size)
            )
        rises[i] = total / n_multiples
    return rises


@njit(cache=True, nogil=True)
def _highest(r: NDArray[np.float64], highest: NDArray[np.float64], first: int, end: int) -> float:
    """Return the highest of r[first:end], by whole blocks where there are some."""
    i, most = first, r[first]
    while i < end:
        if i % BLOCK_LAGS == 0 and i + BLOCK_LAGS <= end:
            most = max(most, highest[i // BLOCK_LAGS])
            i += BLOCK_LAGS
        else:
            most = max(most, r[i])
            i += 1
    return float(most)


@njit(cache=True, nogil=True)
def _mean(cumulative: NDArray[np.float64], lag: float, n_lags: int) -> float:
    first, end = _window(lag, n_lags)
    return float((cumulative[end] - cumulative[first]) / (end - first))


@njit(cache=True, nogil=True)
def _window(lag: float, n_lags: int) -> tuple[int, int]:
    """Return [first, end) of the lags around a given one in which iterations that wander are looked for."""
    reach = max(1.0, SLACK_FRAC * lag)
    first = min(max(int(np.ceil(lag - reach)), 0), n_lags - 2)
    end = min(max(int(np.floor(lag + reach)) + 1, first + 1), n_lags - 1)
    return first, max(end, first + 1)
