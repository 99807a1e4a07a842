"""Classic pcap: microseconds or nanoseconds, either byte order, and the modified format with longer records.

References
----------
.. [1] https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/
.. [2] Wireshark, wiretap/libpcap.h, for the modified format (Alexey Kuznetzov's).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput, Truncated
from profiler.importers.captures import layout
from profiler.importers.captures.statuses import DAMAGED, LARGEST_PACKET_BYTES, MORE

if TYPE_CHECKING:
    from profiler.importers.captures.memory import KernelMemory
    from profiler.importers.captures.window import ByteWindow

__all__ = ["PCAP_MAGICS", "walk_pcap"]

HEADER_BYTES: Final = 24
PCAP_MAGICS: Final[dict[int, tuple[int, int]]] = {
    0xA1B2C3D4: (1_000, 16),
    0xA1B23C4D: (1, 16),
    0xA1B2CD34: (1_000, 24),
}
"""Nanoseconds in a unit of the second time field, and bytes of a record's header."""

_LINK_MASK: Final = 0x03FF_FFFF
"""The upper bits of the link type tell of frame check sequences."""


def walk_pcap(window: ByteWindow, memory: KernelMemory) -> Iterator[None]:
    """Take the packets of a capture; yield after every step, while the bytes of its packets are in the window.

    Raises
    ------
    Truncated
        After the last sound packet, if the file ends inside a record.
    BadInput
        Likewise, if a record's length cannot be; at once, if the header is cut.
    """
    _read_header(window.take(HEADER_BYTES), memory)
    while True:
        window.start, status = memory.walk(window.data, window.start, stop=window.stop)
        yield
        if status == DAMAGED:
            raise BadInput(f"byte {window.position}: a packet longer than {LARGEST_PACKET_BYTES} bytes: damaged there")
        if status == MORE and not window.slide():
            break
    if window.n_bytes and window.damage is None:
        raise Truncated(f"byte {window.position}: the file ends inside a packet")


def _read_header(header: bytes, memory: KernelMemory) -> None:
    if len(header) < HEADER_BYTES:
        raise Truncated(f"the header ends after {len(header)} bytes of {HEADER_BYTES}")
    order = ">" if struct.unpack_from(">I", header)[0] in PCAP_MAGICS else "<"
    magic, link = struct.unpack(f"{order}I16xI", header)
    state = memory.state
    state[layout.FORMAT], state[layout.BIG_ENDIAN] = layout.PCAP, order == ">"
    state[layout.NS_PER_TICK], state[layout.RECORD_BYTES] = PCAP_MAGICS[magic]
    state[layout.LINK] = link & _LINK_MASK
