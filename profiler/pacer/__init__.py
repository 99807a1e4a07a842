"""Hold a training job on its slot: two lines in the training loop apply a recommended shift and keep it.

::

    pacer = Pacer.from_plan("plan.json", job="A")
    for batch in loader:
        ...                      # forward, backward
        pacer.wait()             # right before the iteration's first communication
        dist.all_reduce(...)

With DistributedDataParallel, whose backward pass communicates by itself, one line before the loop::

    model.register_comm_hook(None, pacer.hook(allreduce_hook))

Slot k starts at ``anchor + shift + k * period``. The anchor is a moment of the wall clock (by default the Unix epoch),
so ranks and jobs on several hosts share their slots without talking to each other, as far as their clocks agree: NTP
within a few milliseconds is enough for periods of tenths of a second, and `Pacer.statistics` tells what the kernel
knows of its clock's error.

Read first: `slots` (when a slot starts), `keeper` (which one an iteration takes), `patience` (when pacing is let go and
tried again), `pacer` (what a training loop calls).

Standard library only, so that a training script can import it cheaply.
"""

from __future__ import annotations

from profiler.pacer.clock import SYSTEM_CLOCK, ClockError, read_clock_error
from profiler.pacer.pacer import Pacer
from profiler.pacer.plan import PlanError
from profiler.pacer.report import read_statistics

__all__ = ["SYSTEM_CLOCK", "ClockError", "Pacer", "PlanError", "read_clock_error", "read_statistics"]
