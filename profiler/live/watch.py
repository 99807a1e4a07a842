"""`LiveWatch`: several counters watched together."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from profiler.live.counter import LiveCounter
from profiler.store import Series

if TYPE_CHECKING:
    from profiler.live.state import LiveProfile
    from profiler.phases import TrafficProfile

__all__ = ["LiveWatch", "Readings"]

Readings: TypeAlias = list[tuple[Series, NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]]
"""Series, times, values and flags of some ticks, one entry a counter."""


class LiveWatch:
    """Several counters watched together, each by a `LiveCounter`, in the order in which they were first read."""

    def __init__(self) -> None:
        self._counters: dict[Series, LiveCounter] = {}

    def add(self, readings: Readings) -> None:
        """Take the newest readings of some counters."""
        for series, t_ns, value, flags in readings:
            if series not in self._counters:
                self._counters[series] = LiveCounter(series)
            self._counters[series].add(t_ns, value, flags=flags)

    def look(self) -> None:
        """Run the detections that are due."""
        for counter in self._counters.values():
            counter.look()

    def states(self) -> list[LiveProfile]:
        """Return what is known of each counter now."""
        return [counter.state() for counter in self._counters.values()]

    def answers(self) -> list[TrafficProfile]:
        """Return the profile of each counter."""
        return [counter.answer() for counter in self._counters.values()]
