"""What reading costs by itself, so that a recorder can tell the kernel's share of the CPU from its own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Final

from profiler.collectors.base import AnyCounter, OpenCounter

__all__ = ["bare_reads_s"]

_N_ROUNDS: Final = 200
_LONGEST_S: Final = 0.02
"""Adapters that are asked through their firmware take their time."""
_TEXT_BYTES: Final = 64


def bare_reads_s(counters: Iterable[AnyCounter]) -> float | None:
    """Return the CPU time of reading the file of each counter once and doing nothing else; None if there is no file."""
    handles = [counter.handle for counter in counters if isinstance(counter, OpenCounter)]
    if not handles:
        return None
    start_s, n_rounds = time.thread_time(), 0
    while n_rounds < _N_ROUNDS and (n_rounds < 1 or time.thread_time() - start_s < _LONGEST_S):
        for handle in handles:
            os.pread(handle, _TEXT_BYTES, 0)
        n_rounds += 1
    return (time.thread_time() - start_s) / n_rounds
