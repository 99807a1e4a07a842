"""`RecentRate`: how often something happened lately."""

from __future__ import annotations

from collections import deque
from typing import Final

from profiler.pacer.slots import NS_PER_S

__all__ = ["RecentRate"]

RECENT_NS: Final = 600 * NS_PER_S
"""Events of the last ten minutes count: long enough for one a minute to show."""
N_EVENTS: Final = 4096
"""Events that are remembered: of missed slots no more can happen in that time, if slots take 7 ms or longer."""


class RecentRate:
    """Counts events a minute over the last ten minutes, or since the first moment it was told of.

    Examples
    --------
    >>> rate = RecentRate()
    >>> rate.pass_to(0, n_events=0)
    >>> rate.pass_to(30_000_000_000, n_events=2)
    >>> rate.per_min
    4.0
    """

    def __init__(self) -> None:
        self._events_ns: deque[int] = deque(maxlen=N_EVENTS)
        self._first_ns: int | None = None
        self._now_ns = 0

    def pass_to(self, now_ns: int, *, n_events: int) -> None:
        """Let time pass to a moment, with events at it."""
        if self._first_ns is None:
            self._first_ns = now_ns
        self._now_ns = now_ns
        self._events_ns.extend([now_ns] * n_events)

    @property
    def per_min(self) -> float:
        """Events a minute; 0 before any time has passed."""
        over_ns = min(RECENT_NS, self._now_ns - (self._first_ns or 0))
        if self._first_ns is None or over_ns <= 0:
            return 0.0
        # A copy: another thread may add to it.
        n_recent = sum(self._now_ns - event_ns <= RECENT_NS for event_ns in list(self._events_ns))
        return 60 * NS_PER_S * n_recent / over_ns
