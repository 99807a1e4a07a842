"""The same steps on a rolling window: counters watched while they are being read."""

from __future__ import annotations

from profiler.live.counter import LiveCounter
from profiler.live.event import LiveEvent
from profiler.live.state import LiveProfile
from profiler.live.watching import profile_live

__all__ = ["LiveCounter", "LiveEvent", "LiveProfile", "profile_live"]
