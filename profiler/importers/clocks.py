"""What the times of inputs say of their clocks: ahead of the file that holds them, or of no date at all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from profiler.units import NS_PER_S, format_duration

if TYPE_CHECKING:
    from profiler.importers.coverage import Coverage

__all__ = ["LAST_NS", "is_storable", "is_undated", "note_clock", "note_clocks"]

LAST_NS: Final = (1 << 63) - 1
"""The last time that table ``samples`` holds, of the year 2262."""
_MOST_AHEAD_S: Final = 300.0
"""Clocks of hosts that are kept differ by less, and time zones by a quarter of an hour at least."""
_FIRST_DATED_NS: Final = 631_152_000 * NS_PER_S
"""1990-01-01: counters are younger; times before count from a start, such as that of the host."""


def is_storable(t_ns: int) -> bool:
    """Return whether table ``samples`` can hold a time since the epoch."""
    return 0 <= t_ns <= LAST_NS


def is_undated(t_ns: int) -> bool:
    """Return whether a time is too early to be a date."""
    return t_ns < _FIRST_DATED_NS


def note_clock(coverage: Coverage, *, modified_s: float | None) -> None:
    """Note readings that are later than the last change of their file: no file holds what came after it.

    Parameters
    ----------
    coverage
        Of the file.
    modified_s
        When it was changed last, in s since the epoch; None where that is not known.
    """
    if modified_s is None or coverage.t_last_ns is None:
        return
    ahead_s = coverage.t_last_ns / NS_PER_S - modified_s
    if ahead_s > _MOST_AHEAD_S:
        coverage.skip(
            "clock",
            f"the last reading is {format_duration(ahead_s)} after the file was written: "
            "its clock, or the time zone of its times, is off",
        )


def note_clocks(coverages: Sequence[Coverage]) -> None:
    """Note inputs whose times have no date, where others have: the two cannot be laid side by side."""
    known = [coverage for coverage in coverages if coverage.t_first_ns is not None]
    undated = [coverage for coverage in known if is_undated(coverage.t_first_ns or 0)]
    if len(undated) == len(known):
        return
    for coverage in undated:
        first_ns = coverage.t_first_ns or 0
        when = datetime.fromtimestamp(first_ns // NS_PER_S, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
        why = f"times from {when} on are no dates, as those of other inputs are: another clock, or another unit of time"
        coverage.skip("clock", why)
