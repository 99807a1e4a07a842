"""A counter's own clock: switches and NICs copy counters at an interval of their own, and polls only re-read them.

A poll between two copies sees the same value again, and the one after sees twice the bytes; the beat of the two clocks
looks like a period. So the clock is found from the polls at which the value moved, and the series is rebuilt at its
ticks.
"""

from __future__ import annotations

from profiler.refresh.clock import Refresh
from profiler.refresh.knots import ClockKnots, knots_of_ticks
from profiler.refresh.search import refresh_of_moves
from profiler.refresh.ticks import TickReads, at_ticks

__all__ = ["ClockKnots", "Refresh", "TickReads", "at_ticks", "knots_of_ticks", "refresh_of_moves"]
