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

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.errors import BadInput, Truncated
from profiler.importers.captures.integers import u32
from profiler.importers.captures.records import (
    AT,
    CAPTURED,
    INTERFACE,
    LARGEST_PACKET_BYTES,
    LINK,
    TIME,
    WIRE,
    new_records,
)

if TYPE_CHECKING:
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

_MORE, _FULL, _DAMAGED = 0, 1, 2


def walk_pcap(window: ByteWindow) -> Iterator[NDArray[np.int64]]:
    """Yield the packets of a capture, a window at a time; see `profiler.importers.captures.records`.

    Raises
    ------
    Truncated
        After the last sound packet, if the file ends inside a record.
    BadInput
        Likewise, if a record's length cannot be; at once, if the header is cut.
    """
    header = window.take(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        raise Truncated(f"the header ends after {len(header)} bytes of {HEADER_BYTES}")
    order = ">" if struct.unpack_from(">I", header)[0] in PCAP_MAGICS else "<"
    magic, link = struct.unpack(f"{order}I16xI", header)
    ns_per_tick, record_bytes = PCAP_MAGICS[magic]
    layout = np.array([order == ">", ns_per_tick, record_bytes, link & _LINK_MASK], dtype=np.int64)
    records = new_records()
    while True:
        n_packets, window.start, state = _walk(window.data, window.start, window.stop, layout, records)
        if n_packets:
            yield records[:n_packets]
        if state == _DAMAGED:
            raise BadInput(f"byte {window.position}: a packet longer than {LARGEST_PACKET_BYTES} bytes: damaged there")
        if state == _MORE and not window.slide():
            break
    if window.n_bytes and window.damage is None:
        raise Truncated(f"byte {window.position}: the file ends inside a packet")


@njit(cache=True, nogil=True)
def _walk(
    data: NDArray[np.uint8], start: int, stop: int, layout: NDArray[np.int64], records: NDArray[np.int64]
) -> tuple[int, int, int]:
    """Return how many packets were found, where the next record starts, and why the walk ended."""
    big_endian, ns_per_tick, header_bytes, link = layout[0], layout[1], layout[2], layout[3]
    n_packets = 0
    at = start
    while at + header_bytes <= stop:
        if n_packets == records.shape[0]:
            return n_packets, at, _FULL
        captured = u32(data, at + 8, big_endian)
        if captured > LARGEST_PACKET_BYTES:
            return n_packets, at, _DAMAGED
        if at + header_bytes + captured > stop:
            break
        records[n_packets, AT] = at + header_bytes
        records[n_packets, CAPTURED] = captured
        records[n_packets, WIRE] = u32(data, at + 12, big_endian)
        records[n_packets, TIME] = (
            u32(data, at, big_endian) * 1_000_000_000 + u32(data, at + 4, big_endian) * ns_per_tick
        )
        records[n_packets, LINK] = link
        records[n_packets, INTERFACE] = 0
        n_packets += 1
        at += header_bytes + captured
    return n_packets, at, _MORE
