"""pcapng: sections of either byte order, interfaces with clocks of their own, packet blocks old and new.

References
----------
.. [1] https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.errors import BadInput, Truncated
from profiler.importers.captures.clocks import time_ns
from profiler.importers.captures.integers import Whole, u16, u32
from profiler.importers.captures.interfaces import Interface, read_interface
from profiler.importers.captures.records import (
    AT,
    CAPTURED,
    INTERFACE,
    LARGEST_PACKET_BYTES,
    LINK,
    TIME,
    UNTIMED,
    WIRE,
    new_records,
)

if TYPE_CHECKING:
    from profiler.importers.captures.window import ByteWindow

__all__ = ["PcapngWalk"]

_SECTION: Final = 0x0A0D0D0A
_INTERFACE: Final = 1
_OLD_PACKET: Final = 2
_SIMPLE_PACKET: Final = 3
_PACKET: Final = 6
_ORDER_MAGIC: Final = 0x1A2B3C4D
_LARGEST_BLOCK_BYTES: Final = 64 << 20
_SMALLEST_BLOCK_BYTES: Final = 12

_MORE, _FULL, _DAMAGED, _DESCRIBED, _STRANGER = 0, 1, 2, 3, 4
"""Why a walk ended: more bytes or more room needed, a length that cannot be, a block for Python, no such interface."""

_REASONS: Final = {
    _DAMAGED: "the length of a block or packet cannot be",
    _STRANGER: "a packet of an interface that was not described",
}

_SNAP, _TYPE, _LABEL, _N_FACTS = 3, 4, 5, 6
"""Columns of the table of interfaces; `profiler.importers.captures.clocks` has the first three."""


class PcapngWalk:
    """Walks the blocks of a pcapng file.

    Attributes
    ----------
    labels
        Names of interfaces and the numbers that stand for them in column `INTERFACE`; the same in all sections.
    """

    def __init__(self, window: ByteWindow) -> None:
        self.labels: dict[str, int] = {}
        self._window = window
        self._order = "<"
        self._n_interfaces = 0
        self._interfaces = np.zeros((16, _N_FACTS), dtype=np.int64)

    def packets(self) -> Iterator[NDArray[np.int64]]:
        """Yield the packets of the file, a window at a time; see `profiler.importers.captures.records`.

        Raises
        ------
        Truncated
            After the last sound packet, if the file ends inside a block.
        BadInput
            Likewise, if a block's length cannot be, or a packet names an interface that was not described.
        """
        window, records = self._window, new_records()
        self._read_section()
        while True:
            interfaces = self._interfaces[: self._n_interfaces]
            n_packets, start, state = _walk(
                window.data, window.start, window.stop, int(self._order == ">"), interfaces, records
            )
            window.start = int(start)
            if n_packets:
                yield records[:n_packets]
            if state == _DESCRIBED:
                self._read_description()
            elif state in (_DAMAGED, _STRANGER):
                raise BadInput(f"byte {window.position}: {_REASONS[state]}: damaged there")
            elif state == _MORE and not window.slide():
                break
        if window.n_bytes and window.damage is None:
            raise Truncated(f"byte {window.position}: the file ends inside a block")

    def _read_description(self) -> None:
        """Take the section header or interface description at the start of the window."""
        window = self._window
        (kind,) = struct.unpack(f"{self._order}I", window.peek(4))
        if kind == _SECTION:
            self._read_section()
            return
        _, size = struct.unpack(f"{self._order}II", window.peek(8))
        at = window.position
        try:
            interface = read_interface(window.take(size)[8:-4], order=self._order)
        except BadInput as error:
            raise BadInput(f"byte {at}: {error}: damaged there") from error
        self._add(interface)

    def _read_section(self) -> None:
        window, at = self._window, self._window.position
        head = window.peek(12)
        if len(head) < 12:
            raise Truncated(f"byte {at}: the file ends inside a section header")
        order = ">" if struct.unpack_from(">I", head, 8)[0] == _ORDER_MAGIC else "<"
        kind, size, magic = struct.unpack(f"{order}III", head)
        if kind != _SECTION or magic != _ORDER_MAGIC or size % 4 or not 28 <= size <= _LARGEST_BLOCK_BYTES:
            raise BadInput(f"byte {at}: a section header that cannot be: damaged there")
        block = window.take(size)
        if len(block) < size:
            raise Truncated(f"byte {at}: the file ends inside a section header")
        if struct.unpack_from(f"{order}I", block, size - 4)[0] != size:
            raise BadInput(f"byte {at}: a section header whose two lengths differ: damaged there")
        self._order, self._n_interfaces = order, 0

    def _add(self, interface: Interface) -> None:
        if self._n_interfaces == len(self._interfaces):
            self._interfaces = np.concatenate((self._interfaces, np.zeros_like(self._interfaces)))
        label = interface.name or (str(self._n_interfaces) if self._n_interfaces else "")
        self._interfaces[self._n_interfaces] = (
            interface.clock,
            np.uint64(interface.unit).astype(np.int64),
            interface.offset_ns,
            interface.snap_bytes,
            interface.link,
            self.labels.setdefault(label, len(self.labels)),
        )
        self._n_interfaces += 1


@njit(cache=True, nogil=True)
def _walk(
    data: NDArray[np.uint8],
    start: Whole,
    stop: Whole,
    big_endian: Whole,
    interfaces: NDArray[np.int64],
    records: NDArray[np.int64],
) -> tuple[int, Whole, int]:
    """Return how many packets were found, where the next block starts, and why the walk ended."""
    n_packets = 0
    at: Whole = start
    while at + _SMALLEST_BLOCK_BYTES <= stop:
        kind, size = u32(data, at, big_endian), u32(data, at + 4, big_endian)
        if kind == _SECTION:
            return n_packets, at, _DESCRIBED
        if size < _SMALLEST_BLOCK_BYTES or size % 4 or size > _LARGEST_BLOCK_BYTES:
            return n_packets, at, _DAMAGED
        if at + size > stop:
            break
        if u32(data, at + size - 4, big_endian) != size:
            return n_packets, at, _DAMAGED
        if kind == _INTERFACE:
            return n_packets, at, _DESCRIBED
        if kind in (_PACKET, _OLD_PACKET, _SIMPLE_PACKET):
            if n_packets == records.shape[0]:
                return n_packets, at, _FULL
            state = _read_packet(data, at, big_endian, interfaces, records[n_packets])
            if state != _MORE:
                return n_packets, at, state
            n_packets += 1
        at += size
    return n_packets, at, _MORE


@njit(cache=True, nogil=True)
def _read_packet(
    data: NDArray[np.uint8], at: Whole, big_endian: Whole, interfaces: NDArray[np.int64], record: NDArray[np.int64]
) -> int:
    """Read the packet block at a place into a record; return why it cannot be, or `_MORE`."""
    kind, size = u32(data, at, big_endian), u32(data, at + 4, big_endian)
    simple = kind == _SIMPLE_PACKET
    header_bytes = 12 if simple else 28
    if size < header_bytes + 4:
        return _DAMAGED
    if simple:
        number: Whole = np.int64(0)
    elif kind == _OLD_PACKET:
        number = u16(data, at + 8, big_endian)
    else:
        number = u32(data, at + 8, big_endian)
    if number >= interfaces.shape[0]:
        return _STRANGER
    facts = interfaces[number]
    if simple:
        wire = u32(data, at + 8, big_endian)
        captured = min(wire, size - 16)
        if facts[_SNAP] > 0:
            captured = min(captured, facts[_SNAP])
        record[TIME] = UNTIMED
    else:
        captured, wire = u32(data, at + 20, big_endian), u32(data, at + 24, big_endian)
        high, low = u32(data, at + 12, big_endian), u32(data, at + 16, big_endian)
        record[TIME] = time_ns(np.uint64(high) << np.uint64(32) | np.uint64(low), facts)
    if captured > LARGEST_PACKET_BYTES or captured > size - header_bytes - 4:
        return _DAMAGED
    record[AT] = at + header_bytes
    record[CAPTURED] = captured
    record[WIRE] = wire
    record[LINK] = facts[_TYPE]
    record[INTERFACE] = facts[_LABEL]
    return _MORE
