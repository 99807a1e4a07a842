"""Peaks between samples."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["vertex", "vertices"]


@njit(cache=True, nogil=True)
def vertex(values: NDArray[np.float64], i: int) -> float:
    """Return the top of the parabola through a value and its neighbours, at most half a sample away from it.

    Examples
    --------
    >>> vertex(np.array([0.0, 3.0, 3.0, 0.0]), 1)
    1.5
    """
    if i < 1 or i >= values.size - 1:
        return float(i)
    bend = values[i - 1] - 2 * values[i] + values[i + 1]
    if bend >= 0:
        return float(i)
    return float(i + min(0.5, max(-0.5, 0.5 * (values[i - 1] - values[i + 1]) / bend)))


@njit(cache=True, nogil=True)
def vertices(values: NDArray[np.float64], indices: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return `vertex` at each of several indices, shape (n_indices,)."""
    tops = np.zeros(indices.size)
    for k in range(indices.size):
        tops[k] = vertex(values, indices[k])
    return tops
