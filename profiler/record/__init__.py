"""Collectors on a clock: `Sampler` reads counters at a steady pace, `record` writes what it reads into the lake."""

from profiler.record.clock import SYSTEM_CLOCK, Clock, prompt_wakes
from profiler.record.opening import OpenSources, opened, remarks_on
from profiler.record.readings import Chunk
from profiler.record.recorder import record
from profiler.record.sampler import Sampler
from profiler.record.stopping import stop_on_signals
from profiler.record.summary import RecordSummary
from profiler.record.timing import Timing

__all__ = [
    "SYSTEM_CLOCK",
    "Chunk",
    "Clock",
    "OpenSources",
    "RecordSummary",
    "Sampler",
    "Timing",
    "opened",
    "prompt_wakes",
    "record",
    "remarks_on",
    "stop_on_signals",
]
