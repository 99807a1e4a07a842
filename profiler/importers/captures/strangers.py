"""Packets that the kernel does not know: by scapy, or once the first fragment of their datagram has come."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from numpy.typing import NDArray

from profiler.importers.captures import flow_words as columns
from profiler.importers.captures import layout
from profiler.importers.captures.dissection import inner_ip_at

if TYPE_CHECKING:
    import numpy as np

    from profiler.importers.captures.memory import KernelMemory

__all__ = ["Strangers"]

_REASON_SHIFT: Final = 20
_FRAGMENT: Final = 5
"""`kernel.carried.UNKNOWN_FRAGMENT`, without its lower bits."""

_MOST_WAITING: Final = 1 << 14
"""Fragments that wait for the first one of their datagram; then the oldest go without ports."""

_PATIENCE: Final = 256
"""Packets of one kind in which scapy finds no addresses before it is not asked again: it takes 0.3 ms a packet."""

_CAPTURED, _WIRE, _TIME, _LINK, _STRANGE, _FRAGMENT_HASH = (
    word - layout.START
    for word in (layout.CAPTURED, layout.WIRE, layout.TIME, layout.LINK, layout.STRANGE, layout.FRAGMENT)
)


class Strangers:
    """Counts packets that the kernel put aside.

    Parameters
    ----------
    memory
        Of the kernel.

    Attributes
    ----------
    n_slow
        Packets that scapy looked at.
    n_unknown
        Packets in which it found no addresses, or of whose kind it was not asked again; they count in bytes.
    n_without_first
        Fragments whose first one never came.
    """

    def __init__(self, memory: KernelMemory) -> None:
        self.n_slow = 0
        self.n_unknown = 0
        self.n_without_first = 0
        self._memory = memory
        self._in_vain: Counter[int] = Counter()
        self._waiting: list[NDArray[np.int64]] = []

    def take(self, data: NDArray[np.uint8]) -> None:
        """Count what the last walk put aside, or keep it waiting; the walk's bytes are still there."""
        strangers = self._memory.strangers()
        if not len(strangers) and not self._waiting:
            return
        for row in strangers.copy():
            if row[_STRANGE] >> _REASON_SHIFT == _FRAGMENT:
                self._waiting.append(row)
            else:
                self._count_slow(data, row)
        self._settle()

    def finish(self) -> None:
        """Count what still waits."""
        for row in self._waiting:
            self._count_without_first(row)
        self._waiting = []

    def _count_slow(self, data: NDArray[np.uint8], row: NDArray[np.int64]) -> None:
        kind, start = int(row[_STRANGE]), int(row[0])
        at = None
        if self._in_vain[kind] < _PATIENCE:
            self.n_slow += 1
            packet = data[start : start + int(row[_CAPTURED])]
            at = inner_ip_at(packet.tobytes(), int(row[_LINK]))
        if at is None:
            self._in_vain[kind] += 1
            self.n_unknown += 1
            self._memory.count_keyed(row)
        else:
            self._in_vain[kind] = 0
            self._memory.count_inner(row, data, at=start + at)

    def _settle(self) -> None:
        """Count fragments whose first one has come by now, and the oldest where too many wait."""
        if not self._waiting:
            return
        left: list[NDArray[np.int64]] = []
        for row in self._waiting:
            key = self._memory.first_fragment(int(row[_FRAGMENT_HASH]), int(row[_TIME]))
            if key is None:
                left.append(row)
            else:
                row[columns.N_STRANGE :] = key
                self._memory.state[layout.N_FRAGMENTS] += 1
                self._memory.count_keyed(row)
        n_over = max(0, len(left) - _MOST_WAITING)
        for row in left[:n_over]:
            self._count_without_first(row)
        self._waiting = left[n_over:]

    def _count_without_first(self, row: NDArray[np.int64]) -> None:
        self.n_without_first += 1
        self._memory.count_keyed(row)
