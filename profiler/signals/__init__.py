"""Counters to rates: `RateSeries`, the one form in which traffic reaches the detector.

Cumulative bytes are differenced once, here, and every rule that a real counter needs stands here: its own clock,
wrap, reset, saturation, late and duplicate reads, holes, impossible rates, units. Bytes are conserved: a hole keeps
its bytes, and is marked as a window whose shape is not known.
"""

from __future__ import annotations

from profiler.signals.capacity import FASTEST_BPS
from profiler.signals.grid import UniformRate
from profiler.signals.polls import HOLE_FACTOR
from profiler.signals.series import RateSeries
from profiler.signals.unit_error import unit_error

__all__ = ["FASTEST_BPS", "HOLE_FACTOR", "RateSeries", "UniformRate", "unit_error"]
