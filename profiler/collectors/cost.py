"""What a read costs, measured before a recording begins."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from profiler.errors import UsageError

__all__ = ["checked_cost_s"]

_READS: Final = 5


def checked_cost_s(read: Callable[[], object], *, interval_s: float, max_duty: float, name: str) -> float:
    """Return the time of a read, in seconds: the least of several, for to wait for a busy core is no cost of reading.

    Parameters
    ----------
    read
        Reads once.
    interval_s
        How often it will be read.
    max_duty
        Most of the time that reading may take.
    name
        What is read, for the message.

    Raises
    ------
    UsageError
        If it would take more.
    """
    costs_s = []
    for _ in range(_READS):
        start_s = time.perf_counter()
        read()
        costs_s.append(time.perf_counter() - start_s)
    cost_s = min(costs_s)
    if cost_s > max_duty * interval_s:
        raise UsageError(
            f"{name}: a read takes {cost_s * 1e3:.2g} ms, too long for every {interval_s * 1e3:g} ms; "
            f"take --interval {cost_s / max_duty * 1e3:.3g}ms or more"
        )
    return cost_s
