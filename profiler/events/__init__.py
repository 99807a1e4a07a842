"""From collectives, one by one, to an iteration period and its Up and Down phases."""

from __future__ import annotations

from profiler.collectives import CollectiveEvents
from profiler.events.iterations import Iterations, find_iterations
from profiler.events.profile import profile_events

__all__ = ["CollectiveEvents", "Iterations", "find_iterations", "profile_events"]
