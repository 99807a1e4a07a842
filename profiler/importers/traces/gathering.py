"""`Gathering`: rows of collectives, in any order, to one `CollectiveEvents` a rank and process group."""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np

from profiler.collectives import CollectiveEvents
from profiler.importers.traces.texts import shortened

__all__ = ["Gathering", "Member"]


class Member(NamedTuple):
    """Who does collectives: a rank (the device) in a process group (the port)."""

    host: str
    device: str
    port: str


class _Columns:
    """Columns of one member; keys are numbered, since few are different."""

    def __init__(self) -> None:
        self.start_ns = array("q")
        self.duration_ns = array("d")
        self.bytes = array("d")
        self.i_key = array("q")
        self.keys: dict[str, int] = {}


class Gathering:
    """Takes collectives row by row; members come out in the order of their names."""

    def __init__(self) -> None:
        self._columns: dict[Member, _Columns] = {}

    def __len__(self) -> int:
        return sum(len(columns.start_ns) for columns in self._columns.values())

    def announce(self, member: Member) -> None:
        """Name a member that may have no collective."""
        self._columns.setdefault(member, _Columns())

    def add(self, member: Member, *, start_ns: int, duration_ns: float, n_bytes: float, key: str) -> None:
        """Take a collective; NaN where a duration or a size is not known."""
        columns = self._columns.setdefault(member, _Columns())
        key = shortened(key)
        columns.start_ns.append(start_ns)
        columns.duration_ns.append(duration_ns)
        columns.bytes.append(n_bytes)
        columns.i_key.append(columns.keys.setdefault(key, len(columns.keys)))

    def events(self, *notes: str) -> list[CollectiveEvents]:
        """Return what was gathered, each with the same notes."""
        found = []
        for member, columns in sorted(self._columns.items()):
            names = np.array(list(columns.keys), dtype=np.str_)
            found.append(
                CollectiveEvents(
                    start_ns=np.array(columns.start_ns, dtype=np.int64),
                    duration_ns=np.array(columns.duration_ns),
                    bytes=np.array(columns.bytes),
                    key=names[np.array(columns.i_key, dtype=np.int64)] if names.size else names,
                    host=member.host,
                    device=member.device,
                    port=member.port,
                    notes=notes,
                )
            )
        return found
