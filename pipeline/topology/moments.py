"""Times in cluster files: with a zone, to int64 ns since the epoch, and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from profiler.errors import BadInput
from profiler.units import NS_PER_S

__all__ = ["FIRST_NS", "LAST_NS", "is_within", "moment_ns", "readable_moment"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NS_PER_US: Final = 1000
FIRST_NS: Final = -(1 << 63)
LAST_NS: Final = (1 << 63) - 1
"""The first and the last time that a table holds: of the years 1677 and 2262."""


def moment_ns(text: str, *, place: str) -> int:
    """Return a time in ns since the epoch, UTC; the first or the last there is, if it is before or after that.

    Parameters
    ----------
    text
        A date and time with its zone (RFC 3339).
    place
        Where it stands, for messages.

    Raises
    ------
    BadInput
        If it is none, or without a zone.

    Examples
    --------
    >>> moment_ns("2026-03-01T12:00:00+01:00", place="jobs.csv: line 2: start")
    1772362800000000000
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{place} = {text[:40]!r}: expected a date and time, such as 2026-03-01T12:00:00Z") from None
    if found.tzinfo is None:
        raise BadInput(f"{place} = {text!r}: says no time zone; add it, such as Z for UTC or +01:00")
    return min(max(FIRST_NS, (found - _EPOCH) // timedelta(microseconds=1) * _NS_PER_US), LAST_NS)


def readable_moment(t_ns: int) -> str:
    """Return a time as people read it, UTC, to the second.

    Examples
    --------
    >>> readable_moment(1772362800000000000)
    '2026-03-01 11:00:00 UTC'
    """
    return f"{_EPOCH + timedelta(seconds=t_ns // NS_PER_S):%Y-%m-%d %H:%M:%S} UTC"


def is_within(t_ns: int | None, *, from_ns: int | None, to_ns: int | None) -> bool:
    """Return whether something holds at a time; without a time, whether it still does."""
    if t_ns is None:
        return to_ns is None
    return (from_ns is None or from_ns <= t_ns) and (to_ns is None or t_ns < to_ns)
