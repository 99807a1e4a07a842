"""Times that people give to queries: ISO 8601, in UTC unless they say their offset."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

__all__ = ["utc_text"]

_FRACTION: Final = re.compile(r"[.,](\d{1,9})")
_YEARS: Final = range(1678, 2262)
"""Whole years that int64 nanoseconds since the epoch hold."""


def utc_text(text: str) -> str:
    """Return a time as SQL reads it, in UTC, to the nanosecond.

    Parameters
    ----------
    text
        ISO 8601: a date, or a date and time, with an offset or in UTC.

    Raises
    ------
    ValueError
        If it is none, or of a year that nanoseconds since the epoch do not hold.

    Examples
    --------
    >>> utc_text("2026-11-30T05:52:36.123456789+02:00")
    '2026-11-30T03:52:36.123456789'
    >>> utc_text("2026-11-30")
    '2026-11-30T00:00:00'
    """
    given = datetime.fromisoformat(text)
    if given.year not in _YEARS:
        raise ValueError(text)
    moment = (given if given.tzinfo else given.replace(tzinfo=UTC)).astimezone(UTC)
    # A datetime drops what is finer than a microsecond; an offset is of whole seconds and leaves the fraction as it is.
    fraction = _FRACTION.search(text)
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + (f".{fraction[1]}" if fraction else "")
