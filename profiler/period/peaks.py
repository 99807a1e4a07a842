"""Peaks between samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["vertex", "vertices"]


def vertex(values: NDArray[np.float64], i: int) -> float:
    """Return the top of the parabola through a value and its neighbours, at most half a sample away from it.

    Examples
    --------
    >>> vertex(np.array([0.0, 3.0, 3.0, 0.0]), 1)
    1.5
    """
    if not 0 < i < values.size - 1:
        return float(i)
    before, top, after = values[i - 1], values[i], values[i + 1]
    bend = before - 2 * top + after
    return i + float(np.clip(0.5 * (before - after) / bend, -0.5, 0.5)) if bend < 0 else float(i)


def vertices(values: NDArray[np.float64], indices: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return `vertex` at each of several indices, shape (n_indices,)."""
    tops = indices.astype(np.float64)
    inner = (indices > 0) & (indices < values.size - 1)
    i = indices[inner]
    before, after = values[i - 1], values[i + 1]
    bend = before - 2 * values[i] + after
    is_top = bend < 0
    shift = np.where(is_top, 0.5 * (before - after) / np.where(is_top, bend, 1.0), 0.0)
    tops[inner] += np.clip(shift, -0.5, 0.5)
    return tops
