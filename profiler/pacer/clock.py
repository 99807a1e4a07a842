"""The wall clock: reading it, noticing that it was set, and what the kernel knows of its error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

__all__ = ["SYSTEM_CLOCK", "ClockError", "ClockReader", "Reading", "SystemClock", "read_clock_error"]

MAX_READING_NS: Final = 50_000
"""Two clocks read within this time were read together; else the process was put off between them."""
N_READINGS: Final = 3
"""Readings that were put off are repeated: three in a row happen on a starved host only."""
STEP_NS: Final = 1_000_000
"""Clocks that part by more than a millisecond at once were set: NTP slews smaller errors."""
SLEW_FRAC: Final = 1e-3
"""Clocks may part by this share of the time that passes: twice the most (500 ppm) that the kernel slews by."""
_UNSYNCHRONISED: Final = 0x40
"""``STA_UNSYNC`` of ``<sys/timex.h>``."""
_US: Final = 1e-6


class SystemClock:
    """The wall clock of this host, beside one that is never set."""

    def __call__(self) -> int:
        """Return the time since the Unix epoch in ns."""
        return time.time_ns()

    def steady(self) -> int:
        """Return a time in ns that only grows."""
        return time.monotonic_ns()


SYSTEM_CLOCK: Final = SystemClock()


class Reading(NamedTuple):
    """Both clocks, read together; ``step_ns`` is by how much the wall clock was set since the reading before."""

    wall_ns: int
    steady_ns: int
    step_ns: int = 0


class ClockReader:
    """Reads a wall clock together with its ``steady`` method.

    A clock without such a method stands for both; it is never found to be set.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self.wall = clock
        self.steady: Callable[[], int] = getattr(clock, "steady", clock)
        self._last: Reading | None = None

    def read(self) -> Reading:
        """Return the time, and by how much the wall clock was set since the last call.

        Clocks that could not be read together tell of no step, nor does the reading after them.
        """
        for _ in range(N_READINGS):
            before_ns, wall_ns, after_ns = self.steady(), self.wall(), self.steady()
            if after_ns - before_ns <= MAX_READING_NS:
                break
        else:
            # Neither this reading nor the next one may be judged by clocks that were read apart.
            self._last = None
            return Reading(wall_ns=wall_ns, steady_ns=after_ns)
        reading = Reading(wall_ns=wall_ns, steady_ns=after_ns)
        step_ns = 0 if self._last is None else _step_ns(self._last, reading)
        self._last = reading
        return reading._replace(step_ns=step_ns)


def _step_ns(before: Reading, after: Reading) -> int:
    passed_ns = after.steady_ns - before.steady_ns
    step_ns = after.wall_ns - before.wall_ns - passed_ns
    return step_ns if abs(step_ns) > STEP_NS + SLEW_FRAC * passed_ns else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockError:
    """What the kernel knows of the error of this host's wall clock; None is not known, and ``reason`` says why.

    ``estimated_s`` is what the daemon that disciplines the clock expects, ``maximum_s`` what it vouches for.
    """

    is_synchronised: bool | None = None
    estimated_s: float | None = None
    maximum_s: float | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)


def read_clock_error() -> ClockError:
    """Return what the kernel knows of the wall clock's error, from ``adjtimex`` [1]_.

    References
    ----------
    .. [1] adjtimex(2), Linux manual pages; RFC 5905 for maximum and estimated error.
    """
    try:
        # Only here: a job that is not paced needs neither.
        from profiler.pacer.timex import read_timex
    except ImportError as error:
        return ClockError(reason=f"not known: this Python has no ctypes ({error})")
    try:
        timex = read_timex()
    except OSError as error:
        return ClockError(reason=f"not known: {error}")
    if timex.status & _UNSYNCHRONISED:
        return ClockError(is_synchronised=False, reason="not known: no daemon (chronyd, ntpd) synchronises this clock")
    return ClockError(
        is_synchronised=True, estimated_s=timex.estimated_us * _US, maximum_s=timex.maximum_us * _US, reason=None
    )
