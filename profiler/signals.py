"""Counters to rates: `RateSeries`, the one form in which traffic reaches the detector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiler.errors import BadInput
from profiler.units import BITS_PER_BYTE, NS_PER_S

__all__ = ["RateSeries"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateSeries:
    """Bytes moved in consecutive windows of time.

    Parameters
    ----------
    edges_ns
        Ends of the windows, UTC epoch ns, strictly increasing; int64, shape (n_samples + 1,).
    delta_bytes
        Bytes of each window, not negative; float64, shape (n_samples,).
    known
        False where a window's bytes are not known (a hole longer than the sampling, a reset); bool, shape (n_samples,).
    """

    edges_ns: NDArray[np.int64]
    delta_bytes: NDArray[np.float64]
    known: NDArray[np.bool_]
    flags: NDArray[np.uint16]
    host: str = ""
    device: str = ""
    port: str = ""
    direction: str = ""
    layer: str = ""

    @classmethod
    def from_counter(cls, t_ns: ArrayLike, value: ArrayLike, *, width_bits: int = 64) -> Self:
        """Make a series from reads of a cumulative byte counter."""
        raise NotImplementedError

    @classmethod
    def from_deltas(cls, t_ns: ArrayLike, delta_bytes: ArrayLike) -> Self:
        """Make a series from bytes per window; ``t_ns`` has one more entry than ``delta_bytes``."""
        raise NotImplementedError
