"""The red-noise floor under a power spectrum's lines."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["noise_floor"]

KNOTS_PER_OCTAVE: Final = 3
FLOOR_OCTAVES: Final = 1.5
N_PICKED: Final = 127
"""Frequencies that a knot's median is taken over, at most; odd, so that one of them is in the middle."""
LEAST_FRAC: Final = 5e-5
"""The floor is at least this fraction of the highest power: a clocked, noiseless series has none of its own, and what
is weaker may be harmonics that folded back at the sampling rate."""


def noise_floor(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the red-noise floor under a power spectrum's lines.

    Parameters
    ----------
    power
        Power at frequencies 1, 2, … (any unit), shape (n_freqs,); frequency 0 left out.

    Returns
    -------
    ndarray of float64, shape (n_freqs,)
        The median power in a window of `FLOOR_OCTAVES` octaves to each side, over ln 2, which makes it the mean of the
        exponentially distributed powers of noise; interpolated on log frequency. Positive.
    """
    knots, picks, log_index = _grid(power.size)
    middle = N_PICKED // 2
    levels = np.partition(power[picks], middle, axis=1)[:, middle] / np.log(2)
    least = max(LEAST_FRAC * float(power.max()), float(np.finfo(np.float64).tiny))
    floor: NDArray[np.float64] = np.exp(np.interp(log_index, knots, np.log(np.maximum(levels, least))))
    return floor


@lru_cache(maxsize=8)
def _grid(n_freqs: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the knots (log index), the frequencies that each one's median is over, and the log of every index."""
    n_knots = max(2, int(np.log2(max(2, n_freqs)) * KNOTS_PER_OCTAVE))
    knots = np.unique(np.round(np.geomspace(1, n_freqs, n_knots)).astype(np.int64))
    reach = 2.0**FLOOR_OCTAVES
    first = np.maximum(0.0, np.floor(knots / reach) - 1)
    last = np.minimum(n_freqs - 1.0, np.maximum(knots * reach, first + 5))
    picks = np.round(first[:, None] + (last - first)[:, None] * np.linspace(0.0, 1.0, N_PICKED)).astype(np.int64)
    return np.log(knots), picks, np.log(np.arange(1, n_freqs + 1))
