"""Collectors on a clock: `Sampler` reads counters at a steady pace, `record` writes what it reads into the lake.

`record_packets` does so with the packets of an interface.
"""

from profiler.record.clock import SYSTEM_CLOCK, Clock, prompt_wakes
from profiler.record.opening import OpenSources, opened, remarks_on
from profiler.record.packets import WantedPackets, check_packets, record_packets
from profiler.record.packets_summary import PacketsSummary
from profiler.record.readings import Chunk
from profiler.record.recorder import record
from profiler.record.sampler import Sampler
from profiler.record.summary import RecordSummary
from profiler.record.timing import Timing
from profiler.stopping import stop_on_signals

__all__ = [
    "SYSTEM_CLOCK",
    "Chunk",
    "Clock",
    "OpenSources",
    "PacketsSummary",
    "RecordSummary",
    "Sampler",
    "Timing",
    "WantedPackets",
    "check_packets",
    "opened",
    "prompt_wakes",
    "record",
    "record_packets",
    "remarks_on",
    "stop_on_signals",
]
