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

from profiler.errors import BadInput, Truncated
from profiler.importers.captures import layout
from profiler.importers.captures.interface_words import INTERFACE_WORDS
from profiler.importers.captures.interfaces import Interface, read_dropped, read_interface
from profiler.importers.captures.statuses import (
    DAMAGED,
    DESCRIBED,
    LARGEST_BLOCK_BYTES,
    MORE,
    SECTION_BLOCK,
    STATISTICS_BLOCK,
    STRANGER,
)

if TYPE_CHECKING:
    from profiler.importers.captures.memory import KernelMemory
    from profiler.importers.captures.window import ByteWindow

__all__ = ["PcapngWalk"]

_ORDER_MAGIC: Final = 0x1A2B3C4D
_REASONS: Final = {
    DAMAGED: "the length of a block or packet cannot be",
    STRANGER: "a packet of an interface that was not described",
}


class PcapngWalk:
    """Walks the blocks of a pcapng file.

    Attributes
    ----------
    labels
        Names of interfaces and the numbers that stand for them in `layout.INTERFACE`; the same in all sections.
    """

    def __init__(self, window: ByteWindow, memory: KernelMemory) -> None:
        self.labels: dict[str, int] = {}
        self._window = window
        self._memory = memory
        self._order = "<"
        self._n_interfaces = 0
        self._n_named: dict[str, int] = {}
        self._taken: set[str] = set()
        self._interfaces = np.zeros((16, INTERFACE_WORDS), dtype=np.int64)
        self._n_dropped: dict[tuple[int, int], int] = {}
        self._n_sections = 0

    @property
    def n_dropped(self) -> int:
        """Packets that the capturing host dropped, as the file tells."""
        return sum(self._n_dropped.values())

    def packets(self) -> Iterator[None]:
        """Take the packets of the file; yield after every step, while the bytes of its packets are in the window.

        Raises
        ------
        Truncated
            After the last sound packet, if the file ends inside a block.
        BadInput
            Likewise, if a block's length cannot be, or a packet names an interface that was not described.
        """
        window, memory = self._window, self._memory
        memory.state[layout.FORMAT] = layout.PCAPNG
        self._read_section()
        while True:
            memory.state[layout.BIG_ENDIAN] = self._order == ">"
            memory.set_interfaces(self._interfaces, self._n_interfaces)
            window.start, status = memory.walk(window.data, window.start, stop=window.stop)
            yield
            if status == DESCRIBED:
                self._read_description()
            elif status in (DAMAGED, STRANGER):
                raise BadInput(f"byte {window.position}: {_REASONS[status]}: damaged there")
            elif status == MORE and not window.slide():
                break
        if window.n_bytes and window.damage is None:
            raise Truncated(f"byte {window.position}: the file ends inside a block")

    def _read_description(self) -> None:
        """Take the section header, interface description or statistics at the start of the window."""
        window = self._window
        (kind,) = struct.unpack(f"{self._order}I", window.peek(4))
        if kind == SECTION_BLOCK:
            self._read_section()
            return
        _, size = struct.unpack(f"{self._order}II", window.peek(8))
        at = window.position
        block = window.take(size)[8:-4]
        if kind == STATISTICS_BLOCK:
            number, n_dropped = read_dropped(block, order=self._order)
            self._n_dropped[self._n_sections, number] = n_dropped
            return
        try:
            interface = read_interface(block, order=self._order)
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
        if kind != SECTION_BLOCK or magic != _ORDER_MAGIC or size % 4 or not 28 <= size <= LARGEST_BLOCK_BYTES:
            raise BadInput(f"byte {at}: a section header that cannot be: damaged there")
        block = window.peek(size)
        if len(block) < size:
            raise Truncated(f"byte {at}: the file ends inside a section header")
        if struct.unpack_from(f"{order}I", block, size - 4)[0] != size:
            raise BadInput(f"byte {at}: a section header whose two lengths differ: damaged there")
        window.take(size)
        self._order, self._n_interfaces = order, 0
        self._n_named, self._taken = {}, set()
        self._n_sections += 1

    def _add(self, interface: Interface) -> None:
        if self._n_interfaces == len(self._interfaces):
            self._interfaces = np.concatenate((self._interfaces, np.zeros_like(self._interfaces)))
        label = self._label(interface.name or (str(self._n_interfaces) if self._n_interfaces else ""))
        self._interfaces[self._n_interfaces] = (
            interface.clock,
            np.uint64(interface.unit).astype(np.int64),
            interface.offset_ns,
            interface.snap_bytes,
            interface.link,
            self.labels.setdefault(label, len(self.labels)),
        )
        self._n_interfaces += 1

    def _label(self, name: str) -> str:
        """Return what stands for an interface: merged captures of two hosts have two of one name in a section."""
        label = name
        while label in self._taken:
            self._n_named[name] = self._n_named.get(name, 1) + 1
            label = f"{name}#{self._n_named[name]}"
        self._taken.add(label)
        return label
