"""The kernel that walks packets, alone: no process to start, no file to map, no lake to write."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.importers.captures import layout
from profiler.importers.captures.memory import KernelMemory
from profiler.importers.captures.statuses import FULL
from tests.bench.captures_peers import Cost

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["kernel_cost"]

BIN_NS: Final = 1_000_000
HEADER_BYTES: Final = 24


def kernel_cost(path: Path, *, n_packets: int) -> Cost:
    """Return what the kernel takes for a pcap of microseconds on Ethernet that is in memory.

    Raises
    ------
    RuntimeError
        If it finds another number of packets.
    """
    data = np.fromfile(path, dtype=np.uint8)
    memory = KernelMemory(BIN_NS)
    state = memory.state
    state[layout.NS_PER_TICK], state[layout.RECORD_BYTES], state[layout.LINK] = 1000, 16, 1
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    at, status = HEADER_BYTES, FULL
    while status == FULL:
        at, status = memory.walk(data, at, stop=data.size)
        memory.take_bins()
    cost = Cost(wall_s=time.perf_counter() - wall_s, cpu_s=time.process_time() - cpu_s)
    if state[layout.N_PACKETS] != n_packets:
        raise RuntimeError(f"{path}: {state[layout.N_PACKETS]} packets found of {n_packets}")
    return cost
