"""`Gathering`: rows of collectives, in any order, to one `CollectiveEvents` a rank and process group."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from profiler.collectives import CollectiveEvents
from profiler.importers.traces.texts import shortened

__all__ = ["Gathering", "Member"]

_NO_NUMBER: Final = -1


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
        self.number = array("q")
        self.keys: dict[str, int] = {}

    def once(self) -> NDArray[np.int64]:
        """Return the places of the rows less those that stand there again."""
        given = (self.i_key, self.bytes, self.duration_ns, self.number, self.start_ns)
        columns = [np.frombuffer(column, dtype=np.int64) for column in given]
        order = np.lexsort(columns)
        is_new = np.zeros(order.size, dtype=np.bool_)
        is_new[:1] = True
        for column in columns:
            is_new[1:] |= np.diff(column[order]) != 0
        return np.sort(order[is_new])


class Gathering:
    """Takes collectives row by row; members come out in the order of their names.

    Attributes
    ----------
    n_repeated
        Rows that are another one written twice, known once `events` was called: two collectives of a member may not
        have the same number, time, duration, size and key.
    """

    def __init__(self) -> None:
        self._columns: dict[Member, _Columns] = {}
        self.n_repeated = 0

    def __len__(self) -> int:
        return sum(len(columns.start_ns) for columns in self._columns.values())

    @property
    def members(self) -> list[Member]:
        """Who was announced or did anything, in the order of their names."""
        return sorted(self._columns)

    def announce(self, member: Member) -> None:
        """Name a member that may have no collective."""
        self._columns.setdefault(member, _Columns())

    def add(
        self,
        member: Member,
        *,
        start_ns: int,
        duration_ns: float,
        n_bytes: float,
        key: str,
        number: int | None = None,
    ) -> None:
        """Take a collective; NaN where a duration or a size is not known, None if it has no number in 63 bits."""
        columns = self._columns.setdefault(member, _Columns())
        key = shortened(key)
        columns.start_ns.append(start_ns)
        columns.duration_ns.append(duration_ns)
        columns.bytes.append(n_bytes)
        columns.i_key.append(columns.keys.setdefault(key, len(columns.keys)))
        columns.number.append(_NO_NUMBER if number is None else number)

    def events(
        self, *notes: str, base_ns: int = 0, called: Callable[[Member], Member] = lambda member: member
    ) -> list[CollectiveEvents]:
        """Return what was gathered.

        Parameters
        ----------
        notes
            What stands with each member's.
        base_ns
            Added to every time.
        called
            Final name of a member, where it was not known before.
        """
        found = []
        for member, columns in sorted(self._columns.items()):
            rows = columns.once()
            self.n_repeated += len(columns.start_ns) - rows.size
            names = np.array(list(columns.keys), dtype=np.str_)
            final = called(member)
            found.append(
                CollectiveEvents(
                    start_ns=np.frombuffer(columns.start_ns, dtype=np.int64)[rows] + base_ns,
                    duration_ns=np.frombuffer(columns.duration_ns)[rows],
                    bytes=np.frombuffer(columns.bytes)[rows],
                    key=names[np.frombuffer(columns.i_key, dtype=np.int64)[rows]] if names.size else names,
                    host=final.host,
                    device=final.device,
                    port=final.port,
                    notes=notes,
                )
            )
        return found
