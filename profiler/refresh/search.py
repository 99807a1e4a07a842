"""`refresh_of_moves`: whether a counter is copied by a clock of its own that polls can see, and when."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.refresh.fast import fast_refresh
from profiler.refresh.near import near_refresh
from profiler.refresh.slow import slow_refresh
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.refresh.clock import Refresh

__all__ = ["refresh_of_moves"]

MIN_CHANGES: Final = 12
"""Fewer changes than this show no clock."""
MAX_ADJACENT_FRAC: Final = 0.05
"""A counter copied every second poll or more slowly never moves at two polls in a row, but for a poll mistimed."""

MIN_PAUSED_FRAC: Final = 0.03
"""Where fewer steps than this come after ticks without one, traffic never paused."""
SPLIT_TICKS: Final = 0.5
"""Two steps that polls place within this part of a tick are none of a clock's."""
MAX_SPLITS: Final = 1
MAX_SPLIT_FRAC: Final = 0.01
"""More of them than these are no poll mistimed."""
PAUSED_TICKS: Final = 1.5
"""Steps further apart than so many ticks have one without traffic between them."""


def refresh_of_moves(t_ns: NDArray[np.int64], moved_bytes: NDArray[np.float64]) -> Refresh | None:
    """Return a counter's refresh interval and phase, or None if the counter has no clock that polls see.

    Parameters
    ----------
    t_ns
        Times of the polls, increasing, shape (n_polls,).
    moved_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).

    Notes
    -----
    Between two ticks nothing moves, whatever the traffic; a job that is silent between its bursts does not move
    either, but within a burst it does at every poll. That tells the two apart, and decides first, so that a job's
    own period is never taken for a clock. What stays undecidable by any means is a steady stream behind a clock and
    a burst shorter than a poll repeated by the clock: both move at exact intervals, and never pause. Such a clock is
    moot.

    Cost O(n) for polls that see nothing stale, else O(n) and two FFTs of some ten thousand points.
    """
    n_moved = int(np.count_nonzero(moved_bytes))
    if n_moved < MIN_CHANGES:
        return None
    t_s = (t_ns - t_ns[0]) / NS_PER_S
    found = None if n_moved == moved_bytes.size else _slower(t_s, moved_bytes)
    found = found or fast_refresh(t_s, moved_bytes)
    return None if found is None else replace(found, t0_ns=int(t_ns[0]))


def _slower(t_s: NDArray[np.float64], moved_bytes: NDArray[np.float64]) -> Refresh | None:
    """Return the clock of a counter of which some polls see nothing new."""
    changes = np.flatnonzero(moved_bytes)
    is_sparse = bool(np.count_nonzero(np.diff(changes) == 1) <= MAX_ADJACENT_FRAC * changes.size)
    found = slow_refresh(t_s, moved_bytes, changes=changes) if is_sparse else None
    found = found or near_refresh(t_s, moved_bytes, is_sparse=is_sparse)
    if found is None or _has_splits(found, t_s, changes=changes):
        return None
    return replace(found, is_moot=is_sparse and _is_unpaused(found, t_s, changes=changes))


def _has_splits(clock: Refresh, t_s: NDArray[np.float64], *, changes: NDArray[np.int64]) -> bool:
    """Return whether the value moves between ticks: a poll that falls into a burst of a job splits it, but no copy."""
    longest_s = t_s[changes[1:] + 1] - t_s[changes[:-1]]
    n_splits = int(np.count_nonzero(longest_s < SPLIT_TICKS * clock.interval_s))
    return n_splits > max(MAX_SPLITS, MAX_SPLIT_FRAC * changes.size)


def _is_unpaused(clock: Refresh, t_s: NDArray[np.float64], *, changes: NDArray[np.int64]) -> bool:
    """Return whether the value moves at each tick, as it does for a stream, and for bursts that are the clock."""
    n_ticks = np.diff(clock.ticks(0.5 * (t_s[changes] + t_s[changes + 1])))
    return bool(np.mean(n_ticks > PAUSED_TICKS) < MIN_PAUSED_FRAC)
