"""Collectors on a clock: `Sampler` reads counters at a steady pace, `record` writes what it reads into the lake."""

from profiler.record.clock import SYSTEM_CLOCK, Clock
from profiler.record.readings import Chunk
from profiler.record.sampler import Sampler

__all__ = ["SYSTEM_CLOCK", "Chunk", "Clock", "Sampler"]
