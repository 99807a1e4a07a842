"""The clocks that a recording goes by, as one value that tests can put another in place of."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SYSTEM_CLOCK", "Clock", "prompt_wakes"]

_ANCHOR_READS: Final = 5

_SLACK: Final = Path("/proc/self/timerslack_ns")
_LEAST_SLACK_NS: Final = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A wall clock (UTC epoch), a monotonic clock, and a way to wait; those of this machine unless given.

    Linux slews both clocks alike and steps the wall clock alone, so one anchor serves a whole recording.
    """

    wall_ns: Callable[[], int] = time.time_ns
    monotonic_ns: Callable[[], int] = time.monotonic_ns
    sleep_s: Callable[[float], None] = time.sleep

    def anchor(self) -> tuple[int, int]:
        """Return one instant on the wall clock and on the monotonic clock, in ns, the closest of several reads."""
        reads = [(self.monotonic_ns(), self.wall_ns(), self.monotonic_ns()) for _ in range(_ANCHOR_READS)]
        before_ns, wall_ns, after_ns = min(reads, key=lambda read: read[2] - read[0])
        return wall_ns, (before_ns + after_ns) // 2


SYSTEM_CLOCK: Final = Clock()


@contextmanager
def prompt_wakes() -> Iterator[None]:
    """Wake up on time within the block, if the kernel lets us choose: it puts off all sleeps by up to 50 us else [1]_.

    References
    ----------
    .. [1] Linux, prctl(2), PR_SET_TIMERSLACK; proc_pid_timerslack_ns(5).
    """
    try:
        before = _SLACK.read_text(encoding="ascii")
        _SLACK.write_text(_LEAST_SLACK_NS, encoding="ascii")
    except OSError:  # kernels before 4.6, other systems, locked containers
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            _SLACK.write_text(before, encoding="ascii")
