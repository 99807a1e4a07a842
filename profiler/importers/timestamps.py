"""Times as people and scripts write them: in the name of a file, or on a line of their own before what they date."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from profiler.importers.coverage import Coverage

__all__ = ["TimeLines", "time_in", "without_times"]

_EPOCH: Final = re.compile(r"(?<![0-9a-fA-Fx])(1\d{9})(?:[._](\d{1,9})|(\d{3}|\d{6}|\d{9}))?(?![0-9a-fA-F])")
"""Seconds since the epoch from 2001 to 2033, with a fraction or further digits of ms, us or ns."""
_CALENDAR: Final = re.compile(
    r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)[T_ -]?([0-2]\d)[:.h-]?([0-5]\d)[:.m-]?([0-5]\d)"
    r"(?:[.,](\d{1,9}))?(?: ?([+-]\d\d:\d\d|\+\d{4}))?(?!\d)"
)
"""A calendar time, UTC unless an offset follows it; one without a colon may be negative in no name, where - divides."""
_OFFSET: Final = re.compile(r"(?P<seconds>:\d\d(?:[.,]\d{1,9})?) ?(?P<hours>[+-]\d\d):?(?P<minutes>\d\d)?$")
"""What ``date +%F %T%z`` and the like end with."""
_UTC: Final = re.compile(r"(?:Z|UTC|GMT)$")
_SHOWN: Final = 40
"""Characters of a line that a message shows."""


class TimeLines:
    """Lines that hold a time and nothing else: each dates what follows it.

    Attributes
    ----------
    t_s : float or None
        The last time, in s since the epoch; None before the first.
    """

    def __init__(self) -> None:
        self.t_s: float | None = None
        self._n_without_zone = 0
        self._first = ""

    def take(self, line: str) -> bool:
        """Take a line if it begins with a time; return whether it does."""
        text = line.strip()
        offset = _OFFSET.search(text)
        if offset:
            text = text[: offset.end("seconds")] + f"{offset['hours']}:{offset['minutes'] or '00'}"
        t_s = time_in(text) if text[:1].isdigit() else None
        if t_s is None:
            return False
        self.t_s = t_s
        if not offset and not _UTC.search(text) and not _EPOCH.search(text):
            self._n_without_zone += 1
            self._first = self._first or text[:_SHOWN]
        return True

    def tell(self, coverage: Coverage) -> None:
        """Say how many times told no zone."""
        if self._n_without_zone:
            coverage.skip(
                f"time zone of {self._n_without_zone} times",
                f"not told, as in {self._first!r}; they were taken for UTC: print them with date -u, or +%s",
            )


def without_times(name: str) -> str:
    """Return a name less the times in it."""
    return _CALENDAR.sub("", _EPOCH.sub("", name))


def time_in(name: str) -> float | None:
    """Return the time in s since the epoch that a name holds, the last one if there are several; None if none.

    Examples
    --------
    >>> time_in("metrics-1700000000.25.prom"), time_in("h1/2023-11-14T22:13:20Z.txt"), time_in("h1.prom")
    (1700000000.25, 1700000000.0, None)
    """
    epoch = list(_EPOCH.finditer(name))
    if epoch:
        seconds, fraction, digits = epoch[-1].groups()
        return int(seconds) + float(f"0.{fraction or digits or 0}")
    calendar = list(_CALENDAR.finditer(name))
    if not calendar:
        return None
    *fields, fraction, offset = calendar[-1].groups()
    try:
        zone = UTC if offset is None else datetime.strptime(offset, "%z").tzinfo
        when = datetime(*(int(field) for field in fields), tzinfo=zone)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
    return when.timestamp() + float(f"0.{fraction or 0}")
