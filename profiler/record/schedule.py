"""`Schedule`: when ticks are due, and which were missed."""

from __future__ import annotations

__all__ = ["Schedule"]


class Schedule:
    """Ticks an interval apart, from a start on, on one clock.

    A tick belongs to the interval in which its reads begin. One whose interval is over before they begin is missed, so
    the gap is before the very sample that comes late, and lateness never adds up.

    Parameters
    ----------
    start_ns
        When the first tick is due.
    interval_ns
        Time from tick to tick.

    Attributes
    ----------
    i_tick : int
        The tick that is awaited, or was kept last; -1 before the first.

    Examples
    --------
    >>> schedule = Schedule(start_ns=0, interval_ns=100)
    >>> schedule.next_ns(0), schedule.keep(7)
    (0, 0)
    >>> schedule.next_ns(10), schedule.keep(450)  # due at 100, begun at 450: ticks 1, 2 and 3 are missed
    (100, 3)
    >>> schedule.next_ns(460)
    500
    """

    def __init__(self, *, start_ns: int, interval_ns: int) -> None:
        self.start_ns = start_ns
        self.i_tick = -1
        self._interval_ns = interval_ns
        self._i_kept = -1
        self._due_ns = start_ns

    def next_ns(self, now_ns: int, *, put_off: float = 0.0) -> int:
        """Return when the next tick is due that can still be kept; it may be put off by a part of an interval."""
        self.i_tick = max(self._i_kept + 1, (now_ns - self.start_ns) // self._interval_ns)
        self._due_ns = self.start_ns + self.i_tick * self._interval_ns + int(put_off * self._interval_ns)
        return self._due_ns

    def keep(self, begun_ns: int) -> int:
        """Take the time at which the due tick's reads began, and return how many ticks were missed before."""
        self.i_tick += max(0, begun_ns - self._due_ns) // self._interval_ns
        n_missed = self.i_tick - self._i_kept - 1
        self._i_kept = self.i_tick
        return n_missed
