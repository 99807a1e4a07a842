"""Rates that a link cannot carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.errors import UsageError
from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FASTEST_BPS", "MAX_LOAD", "impossible"]

FASTEST_BPS: Final = 4e12
"""No port of this decade is faster: a rate over it has a wrong unit, and a wrap that would need it is a reset."""
SLACK_S: Final = 0.05
MAX_LOAD: Final = 1.05
"""A rate over this many times the capacity cannot be; below it, the clock that timed the reads may be off."""


def impossible(
    widths_ns: NDArray[np.int64], delta_bytes: NDArray[np.float64], *, capacity_bps: float
) -> NDArray[np.bool_]:
    """Return in which windows more came than a link can carry.

    Parameters
    ----------
    widths_ns, delta_bytes
        Width and bytes of each window, shape (n_samples,).
    capacity_bps
        What the link carries in this direction, in bit/s.

    Raises
    ------
    UsageError
        If the capacity is not positive.

    Notes
    -----
    A read timed late makes one window too short and the next too long, and a shaped port sends a burst from its bucket
    faster than it may for long, so a window must be over capacity even if it were `SLACK_S` longer, and together with
    either neighbour.
    """
    if not 0 < capacity_bps < float("inf"):
        raise UsageError(f"capacity_bps {capacity_bps}: must be positive and finite")
    longest_ns = widths_ns + SLACK_S * NS_PER_S
    excess = delta_bytes - longest_ns * (MAX_LOAD * capacity_bps / BITS_PER_BYTE / NS_PER_S)
    over = excess > 0
    if over.any() and over.size > 1:
        pairs_over = excess[1:] + excess[:-1] > 0
        over &= np.append(True, pairs_over) & np.append(pairs_over, True)
    return over
