"""Unsigned integers of two, four and eight bytes, either byte order; the caller has checked the bounds."""

from __future__ import annotations

import numpy as np

from profiler.importers.captures.kernel.compiling import Bytes, Whole, compiled

__all__ = ["u16", "u16_of", "u32", "u32_of", "u64"]


@compiled
def u16(data: Bytes, at: Whole) -> Whole:
    """Return the big-endian integer in two bytes."""
    return np.int64(data[at]) << 8 | np.int64(data[at + 1])


@compiled
def u32(data: Bytes, at: Whole) -> Whole:
    """Return the big-endian integer in four bytes."""
    return u16(data, at) << 16 | u16(data, at + 2)


@compiled
def u64(data: Bytes, at: Whole) -> Whole:
    """Return the bits of the big-endian integer in eight bytes."""
    return u32(data, at) << 32 | u32(data, at + 4)


@compiled
def u16_of(data: Bytes, at: Whole, big_endian: Whole) -> Whole:
    """Return the integer in two bytes of either order."""
    first, second = np.int64(data[at]), np.int64(data[at + 1])
    return first << 8 | second if big_endian else second << 8 | first


@compiled
def u32_of(data: Bytes, at: Whole, big_endian: Whole) -> Whole:
    """Return the integer in four bytes of either order."""
    if big_endian:
        return u32(data, at)
    low = np.int64(data[at]) | np.int64(data[at + 1]) << 8
    return low | np.int64(data[at + 2]) << 16 | np.int64(data[at + 3]) << 24
