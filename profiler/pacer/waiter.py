"""`Waiter`: waiting for a moment of the wall clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from profiler.pacer.slots import NS_PER_S

if TYPE_CHECKING:
    from profiler.pacer.clock import ClockReader, Reading

__all__ = ["Waiter"]

SPIN_NS: Final = 200_000
"""Time before a slot that is spent yielding rather than sleeping: a sleep of Linux wakes some 70 µs late."""
SLACK_NS: Final = 1_000_000
"""A wait may take this much longer than planned, since NTP slews the wall clock; by more it was set back."""


class Waiter:
    """Waits, and counts how often and how long.

    Parameters
    ----------
    clocks : ClockReader
        The wall clock and a steady one.
    sleep : callable
        Sleeps for a time in seconds.
    """

    def __init__(self, clocks: ClockReader, sleep: Callable[[float], None]) -> None:
        self.n_waits = 0
        self.waited_ns = 0
        self._clocks = clocks
        self._sleep = sleep

    def wait_until(self, start_ns: int, *, since: Reading) -> int:
        """Wait from a reading of the clocks to a moment of the wall clock; return the time that passed, in ns.

        A wall clock that is set back meanwhile does not make the wait longer.
        """
        if start_ns <= since.wall_ns:
            return 0
        longest_ns = start_ns - since.wall_ns + SLACK_NS
        while (left_ns := start_ns - self._clocks.wall()) > 0:
            passed_ns = self._clocks.steady() - since.steady_ns
            # A wall clock that stands for the steady one too goes back itself.
            if not 0 <= passed_ns < longest_ns:
                break
            left_ns = min(left_ns, longest_ns - passed_ns)
            # Yielding, not spinning: the process's other threads may want to run.
            self._sleep((left_ns - SPIN_NS) / NS_PER_S if left_ns > SPIN_NS else 0.0)
        waited_ns = max(0, self._clocks.steady() - since.steady_ns)
        self.n_waits += 1
        self.waited_ns += waited_ns
        return waited_ns
