"""Unsigned integers of two and four bytes, either byte order, inside kernels; the caller has checked the bounds."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Whole", "u16", "u32"]

Whole = int | np.int64
"""An integer inside a kernel; there both are int64."""


@njit(cache=True, nogil=True)
def u16(data: NDArray[np.uint8], at: Whole, big_endian: Whole) -> Whole:
    """Return the integer in two bytes."""
    first, second = np.int64(data[at]), np.int64(data[at + 1])
    return first << 8 | second if big_endian else second << 8 | first


@njit(cache=True, nogil=True)
def u32(data: NDArray[np.uint8], at: Whole, big_endian: Whole) -> Whole:
    """Return the integer in four bytes."""
    first, second = u16(data, at, big_endian), u16(data, at + 2, big_endian)
    return first << 16 | second if big_endian else second << 16 | first
