"""A clock of the interval of the polls: of which ticks come at the very times of polls, their jitter decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.refresh.clock import Refresh

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["level_clock"]

MIN_SINGLE: Final = 20
"""Fewer polls that see nothing, between two that do, show no clock."""
MIN_BESIDE_FRAC: Final = 0.5
"""Of them the least part beside one that sees two ticks at once; live counters see no more than usual there."""
DOUBLE: Final = (1.8, 2.2)
"""A poll that sees so many times the median is double."""
MAX_JITTER: Final = 0.1
"""Standard deviation of polls about even times, over the gap between them; with more of it the spectrum has a line."""


def level_clock(t_s: NDArray[np.float64], delta_bytes: NDArray[np.float64]) -> Refresh | None:
    """Return the clock that ticks about when polls come, if these see nothing and twice as much in turn, else None.

    Parameters
    ----------
    t_s
        Times of the polls in seconds, increasing, shape (n_polls,).
    delta_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).
    """
    if not _are_doubled(delta_bytes):
        return None
    gaps_s = np.diff(t_s)
    numbers = np.append(0.0, np.cumsum(np.round(gaps_s / np.median(gaps_s))))
    off = numbers - numbers.mean()
    interval_s = float(off @ t_s) / float(off @ off)
    even_s = t_s.mean() + interval_s * off
    if np.std(t_s - even_s) > MAX_JITTER * interval_s:
        return None
    return Refresh(t0_ns=0, interval_s=interval_s, knots_s=even_s[[0, -1]], knots_ticks=numbers[[0, -1]])


def _are_doubled(delta_bytes: NDArray[np.float64]) -> bool:
    """Return whether single polls that see nothing stand beside ones that see twice what is usual."""
    moved = delta_bytes > 0
    single = 1 + np.flatnonzero(moved[:-2] & ~moved[1:-1] & moved[2:])
    if single.size < MIN_SINGLE:
        return False
    beside = np.maximum(delta_bytes[single - 1], delta_bytes[single + 1]) / np.median(delta_bytes[moved])
    return bool(np.mean((beside >= DOUBLE[0]) & (beside <= DOUBLE[1])) >= MIN_BESIDE_FRAC)
