"""Compiled: the order of times. Written out, it compiles in a tenth of the time that numpy's takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipeline.compat.compiled import inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["order_of"]


@inner
def order_of(at_ns: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the order of the first ``size`` times; equal ones stay as they are (merge sort)."""
    order, merged = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for i in range(size):
        order[i] = i
    width = 1
    while width < size:
        for start in range(0, size, 2 * width):
            middle, end = min(start + width, size), min(start + 2 * width, size)
            left, right = start, middle
            for i in range(start, end):
                takes_left = left < middle and (right >= end or at_ns[order[left]] <= at_ns[order[right]])
                if takes_left:
                    merged[i] = order[left]
                    left += 1
                else:
                    merged[i] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order
