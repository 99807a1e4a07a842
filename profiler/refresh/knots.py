"""`knots_of_ticks`: a counter's clock as a line of few corners, to be kept where its ticks one by one are too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClockKnots", "knots_of_ticks"]

MAX_OFF_TICKS: Final = 0.02
"""Between corners the line is this near to the ticks: what the phase of a block of polls is known to (`lines`)."""
SLOW_GAP_TICKS: Final = 1 / 3
"""To polls this dense or denser a tick is known no better than to half the gap between them (`slow`)."""

MAX_LATE_TICKS: Final = 0.999
"""Reads after the last tick are of that tick, whatever the clock did since."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClockKnots:
    """When a counter ticks: tick number ``ticks[i]``, not whole in general, at ``t_ns[i]``, evenly between.

    Parameters
    ----------
    refresh_s
        Typical interval of the ticks in seconds.
    t_ns
        Times of reads, the first and the last among them, increasing, UTC epoch ns; int64, shape (n_knots,).
    ticks
        Ticks up to then, counted from the first that was read, so not negative; float64, shape (n_knots,).
    """

    refresh_s: float
    t_ns: NDArray[np.int64]
    ticks: NDArray[np.float64]


def knots_of_ticks(edges_ns: NDArray[np.int64], reads_ns: NDArray[np.int64], *, refresh_s: float) -> ClockKnots:
    """Return the clock by which every read belongs to the tick that it belongs to by the ticks themselves.

    Parameters
    ----------
    edges_ns
        Times of the ticks that were read, the edges of a rebuilt series, increasing, at least one; shape (n_ticks,).
    reads_ns
        Times of the reads, increasing, the first not before the first tick; at least one; shape (n_reads,).
    refresh_s
        The counter's refresh interval in seconds.

    Notes
    -----
    The line through all reads is thinned out as by Douglas and Peucker [1]_. Cost O(n_reads log n_knots).

    References
    ----------
    .. [1] Douglas and Peucker, "Algorithms for the reduction of the number of points required to represent a digitized
       line or its caricature", Cartographica 10, 1973.
    """
    refresh_ns = refresh_s * NS_PER_S
    since_ns = (reads_ns - edges_ns[0]).astype(np.float64)
    ticks_ns = (edges_ns - edges_ns[0]).astype(np.float64)
    numbers = np.append(0.0, np.cumsum(np.maximum(np.round(np.diff(ticks_ns) / refresh_ns), 1.0)))
    ticks = np.interp(since_ns, ticks_ns, numbers)
    ticks += np.clip((since_ns - ticks_ns[-1]) / refresh_ns, 0.0, MAX_LATE_TICKS)
    corners = _corners(since_ns, ticks, max_off=_max_off(since_ns, refresh_ns=refresh_ns))
    return ClockKnots(refresh_s=refresh_s, t_ns=reads_ns[corners], ticks=ticks[corners])


def _max_off(since_ns: NDArray[np.float64], *, refresh_ns: float) -> float:
    gap_ticks = float(np.median(np.diff(since_ns))) / refresh_ns if since_ns.size > 1 else 0.0
    return max(MAX_OFF_TICKS, 0.5 * gap_ticks) if gap_ticks <= SLOW_GAP_TICKS else MAX_OFF_TICKS


def _corners(x: NDArray[np.float64], y: NDArray[np.float64], *, max_off: float) -> NDArray[np.int64]:
    """Return the points between which straight lines are near to all others, and on the same side of whole numbers."""
    kept = np.zeros(x.size, dtype=bool)
    kept[[0, -1]] = True
    spans = [(0, x.size - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        inner = slice(first + 1, last)
        line = y[first] + (y[last] - y[first]) / (x[last] - x[first]) * (x[inner] - x[first])
        off = np.abs(line - y[inner])
        is_other_tick = np.floor(line) != np.floor(y[inner])
        if not is_other_tick.any() and off.max() <= max_off:
            continue
        corner = first + 1 + int(np.argmax(off + is_other_tick))
        kept[corner] = True
        spans += [(first, corner), (corner, last)]
    return np.flatnonzero(kept)
