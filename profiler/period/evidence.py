"""How strongly a series repeats after a lag: one measure for every candidate, wherever it came from.

At a period T the autocorrelation is high at T, 2 T, 3 T … and low half-way between. The *contrast* is the mean of that
difference over the first few multiples; its *z* is the contrast over what chance would give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

from profiler.period.peaks import vertex

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
N_PROPOSED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for a period.

    ``r`` is the autocorrelation at the period itself, ``contrast`` the mean rise over the first ``n_multiples``
    multiples, ``z`` the contrast in units of what chance gives, ``bin_s`` the scale it was seen at.
    """

    period_s: float
    bin_s: float
    r: float
    contrast: float
    z: float
    n_multiples: int


def propose(acf: Autocorrelation, *, bin_s: float) -> list[Evidence]:
    """Return evidence for the strongest peaks of an autocorrelation, strongest first."""
    n_lags = _n_lags(acf)
    lags, properties = find_peaks(acf.r[:n_lags], prominence=3 * acf.sigma)
    order = np.argsort(-properties["prominences"], kind="stable")
    lags = [int(lag) for lag in lags[order] if lag >= MIN_LAG_BINS][:N_PROPOSED]
    return [weigh(acf, vertex(acf.r, lag), bin_s=bin_s) for lag in lags]


def weigh(acf: Autocorrelation, lag_bins: float, *, bin_s: float, most: int = MULTIPLES) -> Evidence:
    """Return the evidence for a period of ``lag_bins`` bins from its first multiples, at ``most`` so many."""
    n_multiples = max(1, min(most, int((_n_lags(acf) - 1) / lag_bins)))
    multiples = np.arange(n_multiples + 1, dtype=np.float64)
    first, end = _windows(multiples[1:] * lag_bins, n_lags=acf.r.size)
    highs = np.maximum.reduceat(acf.r, np.stack([first, end], axis=1).ravel())[::2]
    first, end = _windows((multiples + 0.5) * lag_bins, n_lags=acf.r.size)
    lows = (acf.cumulative[end] - acf.cumulative[first]) / (end - first)
    rises = highs - 0.5 * (lows[:-1] + lows[1:])
    contrast = float(rises.mean())
    chance = acf.sigma * np.sqrt(1.5 / n_multiples)
    return Evidence(
        period_s=lag_bins * bin_s,
        bin_s=bin_s,
        r=float(highs[0]),
        contrast=contrast,
        z=contrast / chance,
        n_multiples=n_multiples,
    )


def _n_lags(acf: Autocorrelation) -> int:
    """Return how many lags can be a period: the autocorrelation holds half of the series' length."""
    return max(3, int(2 * (acf.r.size - 1) / MIN_CYCLES) + 1)


def _windows(lags: NDArray[np.float64], *, n_lags: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return [first, end) of the lags around each given one in which iterations that wander are looked for."""
    reach = np.maximum(1.0, SLACK_FRAC * lags)
    first = np.clip(np.ceil(lags - reach), 0, n_lags - 2).astype(np.int64)
    end = np.clip(np.floor(lags + reach) + 1, first + 1, n_lags - 1).astype(np.int64)
    return first, end
