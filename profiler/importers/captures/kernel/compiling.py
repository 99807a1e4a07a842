"""How a function of the kernel is compiled, and what its arguments are."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numba import njit, types

__all__ = ["SIGNATURE", "Bytes", "Whole", "Words", "compiled"]

Whole = int | np.int64
"""An integer; in the kernel both are int64."""


class Bytes(Protocol):
    """Address of bytes."""

    def __getitem__(self, at: Whole, /) -> np.uint8:
        """Return the byte at a place."""


class Words(Protocol):
    """Address of 64-bit words."""

    def __getitem__(self, at: Whole, /) -> np.int64:
        """Return the word at a place."""

    def __setitem__(self, at: Whole, word: Whole, /) -> None:
        """Write a word."""


# Division by zero would raise, and a kernel that may raise is half as fast: no divisor here can be zero.
compiled = njit(error_model="numpy")

_BYTES, _WORDS = (types.CPointer(kind) for kind in (types.uint8, types.int64))  # type: ignore[no-untyped-call]
SIGNATURE: Final = types.int64(_BYTES, _WORDS, types.int64, types.int64)
"""Bytes, words, the first byte and the one past the last, to the byte where the walk ended."""
