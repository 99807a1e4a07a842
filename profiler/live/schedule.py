"""When to look again: often at first, ever less often the longer nothing is found."""

from __future__ import annotations

from typing import Final

from profiler.units import NS_PER_S

__all__ = ["Schedule"]

FIRST_S: Final = 2.0
"""Eight iterations of 250 ms: sooner there is seldom anything to find."""
GROWTH: Final = 0.25
"""Another look is worth its cost once the search has gone on a quarter longer."""
CHECK_GROWTH: Final = 0.5
"""A check that has half as much more to go by may find what the last one could not."""
LONGEST_S: Final = 30.0
"""A detection takes up to a second of one core: every half minute it is a few per cent."""


class Schedule:
    """Times at which to look for a period, by the time of the samples."""

    def __init__(self) -> None:
        self._start_ns: int | None = None
        self._due_ns = 0

    def start(self, t_ns: int) -> None:
        """Begin to search, unless the search is on."""
        if self._start_ns is None:
            self.restart(t_ns)

    def restart(self, t_ns: int) -> None:
        """Begin to search anew: soon, then ever less often."""
        self._start_ns = t_ns
        self._due_ns = t_ns + round(FIRST_S * NS_PER_S)

    def is_due(self, t_ns: int) -> bool:
        """Return whether it is time to look."""
        return self._start_ns is not None and t_ns >= self._due_ns

    def search_on(self, t_ns: int) -> None:
        """Look again after a while that grows with the time searched."""
        searched_s = (t_ns - (self._start_ns or 0)) / NS_PER_S
        self.wait(t_ns, min(LONGEST_S, max(FIRST_S, GROWTH * searched_s)))

    def check_on(self, t_ns: int, *, least_s: float, most_s: float) -> None:
        """Check what was found after a while that grows with the time since the search began, within bounds."""
        searched_s = (t_ns - (self._start_ns or 0)) / NS_PER_S
        self.wait(t_ns, max(least_s, min(most_s, CHECK_GROWTH * searched_s)))

    def wait(self, t_ns: int, wait_s: float) -> None:
        """Look again after so many seconds."""
        self._due_ns = t_ns + round(wait_s * NS_PER_S)
