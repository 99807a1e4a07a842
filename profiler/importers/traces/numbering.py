"""`Numbering`: sequence numbers of collectives, and how many between them are lost."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from profiler.importers.traces.gathering import Member

__all__ = ["Lost", "Numbering"]

_MISPLACED: Final = 16
"""Numbers by which lines may stand out of order; one that falls back further begins anew, as after a restart."""


class Lost(NamedTuple):
    """Collectives of one kind that one member did and that are not there."""

    member: Member
    operation: str
    n: int


class Numbering:
    """Takes numbers in any order; they count up by one within a member, process and operation."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Member, str, str], tuple[array[int], array[int]]] = {}

    def note(self, member: Member, *, process: str, operation: str, start_ns: int, number: int) -> None:
        """Take the number of a collective that began at a time; it fits 63 bits."""
        starts, numbers = self._numbers.setdefault((member, process, operation), (array("q"), array("q")))
        starts.append(start_ns)
        numbers.append(number)

    def lost(self) -> Iterator[Lost]:
        """Yield what is missing between the numbers of each member and operation, in the order of their names."""
        for (member, _, operation), (starts, numbers) in sorted(self._numbers.items()):
            n_lost = _n_missing(np.frombuffer(starts, dtype=np.int64), np.frombuffer(numbers, dtype=np.int64))
            if n_lost:
                yield Lost(member, operation, n_lost)


def _n_missing(start_ns: NDArray[np.int64], number: NDArray[np.int64]) -> int:
    """Return the numbers that are missing between those that are there; after a restart they begin anew."""
    in_time = number[np.lexsort((number, start_ns))]
    restarts = np.flatnonzero(in_time[1:] < in_time[:-1] - _MISPLACED) + 1
    runs = (np.unique(run) for run in np.split(in_time, restarts))
    return sum(int(run[-1]) - int(run[0]) + 1 - run.size for run in runs)
