"""A clock a little faster than the polls: none is stale, but now and then one sees two ticks at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.refresh.lines import Events, clocks_near

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.refresh.clock import Refresh

__all__ = ["fast_refresh"]

MIN_DOUBLE: Final = 12
"""Fewer double polls than this show no clock."""
DOUBLE: Final = 1.6
"""A poll is double if it sees so many times what the busier of its neighbours does."""
DOUBLE_RANGE: Final = (1.9, 2.1)
"""Median of what double polls see over the mean of their neighbours; bursts of a job are of any height."""
QUARTILES: Final = (0.25, 0.5, 0.75)
DOUBLE_SPREAD: Final = 0.3
"""Most by which their quartiles may differ."""
USUAL_GAP: Final = 1.5
"""A poll after a longer gap, over the typical one, sees more for that."""
MAX_DOUBLE_FRAC: Final = 0.45
"""With more of them among busy polls, single ones would be the telling ones."""
MAX_OFF: Final = 0.3
"""How far the beat of clock and polls may be from how often double polls come, over the latter."""
MIN_AGREEMENT: Final = 0.6
"""Of polls that are double or that the clock says to be, the least part that are both."""


def fast_refresh(t_s: NDArray[np.float64], moved_bytes: NDArray[np.float64]) -> Refresh | None:
    """Return the clock of a counter copied at 0.7 to 0.998 times the gap between polls, else None.

    Parameters
    ----------
    t_s
        Times of the polls in seconds, increasing, shape (n_polls,).
    moved_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).

    Notes
    -----
    In a steady stream, and within a burst, double polls see twice what their neighbours do, and come by the beat of
    the two clocks.
    """
    left, here, right = moved_bytes[:-2], moved_bytes[1:-1], moved_bytes[2:]
    is_double = (here >= DOUBLE * np.maximum(left, right)) & (np.minimum(left, right) > 0)
    if np.count_nonzero(is_double) < MIN_DOUBLE:
        return None
    low, median, high = np.quantile(2 * here[is_double] / (left + right)[is_double], QUARTILES)
    if not DOUBLE_RANGE[0] <= median <= DOUBLE_RANGE[1] or high - low > DOUBLE_SPREAD:
        return None
    gaps_s = np.diff(t_s)
    gap_s = float(np.median(gaps_s))
    busy = np.zeros(moved_bytes.size, dtype=bool)
    busy[1:-1] = (np.minimum(left, right) > 0) & (gaps_s[1:-1] < USUAL_GAP * gap_s)
    happened = busy.copy()
    happened[1:-1] &= is_double
    n_double, n_busy = int(np.count_nonzero(happened)), int(np.count_nonzero(busy))
    if not MIN_DOUBLE <= n_double <= MAX_DOUBLE_FRAC * n_busy:
        return None
    events = Events(mid_s=0.5 * (t_s[1:] + t_s[:-1]), happened=happened, phase=0.5)
    polls_hz = 1 / gap_s
    beat_hz = polls_hz * n_double / n_busy
    low_hz, high_hz = polls_hz + (1 - MAX_OFF) * beat_hz, polls_hz + (1 + MAX_OFF) * beat_hz
    clocks = clocks_near(events, low_hz=low_hz, high_hz=high_hz)
    return next((clock for clock in clocks if _tells(clock, t_s, happened, busy=busy)), None)


def _tells(clock: Refresh, t_s: NDArray[np.float64], is_double: NDArray[np.bool_], *, busy: NDArray[np.bool_]) -> bool:
    """Return whether a clock says which of the busy polls are double."""
    said = (np.diff(np.floor(clock.ticks(t_s))) > 1) & busy
    n_both = np.count_nonzero(said & is_double)
    n_either = int(np.count_nonzero(said | is_double))
    return bool(n_both >= MIN_AGREEMENT * n_either)
