"""When a file that holds one instant, and no time of its own, was taken."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput
from profiler.importers.timestamps import time_in, without_times

if TYPE_CHECKING:
    from profiler.importers.coverage import Coverage
    from profiler.importers.importer import Options
    from profiler.importers.inputs import Input

__all__ = ["Instants", "host_of", "whole_ns"]

_NS_PER_US: Final = 1000
_FAR_S: Final = 1e12
"""In s since the epoch, or before it: no table holds such a time, nor any beyond."""


def whole_ns(t_s: float) -> int:
    """Return a time of today, given in s since the epoch, in ns, to the microsecond that a float can tell.

    One that no table holds, however far, becomes one that none holds.
    """
    return round(min(max(-_FAR_S, t_s), _FAR_S) * 1e6) * _NS_PER_US


class Instants:
    """Gives readings without a time that of their file, once each."""

    def __init__(self, source: Input, options: Options) -> None:
        self._source = source
        self._options = options
        self._undated: set[str] = set()

    def t_ns(self, t_s: float | None, *, of: str) -> int:
        """Return the time of a reading, UTC epoch ns.

        Parameters
        ----------
        t_s
            The time that the file tells; None if it tells none.
        of
            What was read, in words.

        Raises
        ------
        BadInput
            If nothing tells the time, or two readings of one thing have none.
        """
        if t_s is not None:
            return whole_ns(t_s)
        if of in self._undated:
            raise BadInput(
                f"{self._source.name}: {of} stands there more than once, and nothing says when; print the time on a "
                "line before each, as date -u +%s.%N does"
            )
        self._undated.add(of)
        return whole_ns(_instant_of(self._source, self._options).t_s)

    def tell(self, coverage: Coverage) -> None:
        """Say where the time of undated readings was found."""
        if self._undated:
            origin = _instant_of(self._source, self._options).origin
            coverage.skip(f"times of {len(self._undated)} readings", f"not in the file; taken: {origin}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instant:
    """A time in s since the epoch, and where it was found."""

    t_s: float
    origin: str


def _instant_of(source: Input, options: Options) -> _Instant:
    """Return when a file was taken, from where the caller says that it is told.

    Copies have the time of the copying as that of their modification: `profiler.importers.snapshots` refuses those
    that this brings together, and the report tells whose time was taken so.

    Parameters
    ----------
    source
        A file, or the folder of a tree of files.
    options
        ``time_from`` is ``name``, ``mtime``, or ``auto`` for the name and else the modification.

    Raises
    ------
    BadInput
        If that does not tell it.
    """
    t_s = None if options.time_from == "mtime" else time_in(source.name)
    if t_s is not None:
        return _Instant(t_s=t_s, origin="the one in the file's name")
    if options.time_from == "name":
        raise BadInput(
            f"{source.name}: neither it nor its name says when its readings were taken; name it by its time, as in "
            "eth0-1700000000.5.txt or eth0-2026-01-31T08:00:00.txt (UTC), or leave out --time-from name"
        )
    if source.modified_s is None:
        return _Instant(t_s=source.dated_s, origin="when it was read, since a stream has no other")
    return _Instant(t_s=source.dated_s, origin="the file's time of modification, which copying may change")


def host_of(source: Input, options: Options) -> str:
    """Return the host of a file that names none: what the caller tells, or else the file's name without its time."""
    if options.host is not None:
        return options.host
    name = source.host or Path(source.name.rpartition("!")[2]).name
    return re.sub(r"([-_ ])[-_ ]+", r"\1", without_times(name).split(".")[0]).strip("-_ ") or source.default_host
