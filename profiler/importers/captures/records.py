"""Packets as they stand in a capture, before anyone looks inside: the columns that the walks fill."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AT",
    "CAPTURED",
    "INTERFACE",
    "LARGEST_PACKET_BYTES",
    "LINK",
    "N_COLUMNS",
    "TIME",
    "UNTIMED",
    "WIRE",
    "new_records",
]

AT: Final = 0
"""Column of the packet's place in the window."""
CAPTURED: Final = 1
"""Column of the bytes of it that were captured."""
WIRE: Final = 2
"""Column of the bytes that it had on the wire."""
TIME: Final = 3
"""Column of its time, UTC epoch ns, or `UNTIMED`."""
LINK: Final = 4
"""Column of its link type (https://www.tcpdump.org/linktypes.html)."""
INTERFACE: Final = 5
"""Column of the number of its interface in the file."""
N_COLUMNS: Final = 6

UNTIMED: Final = -(1 << 63)
"""Time of a packet that has none, or one that int64 nanoseconds cannot hold."""

LARGEST_PACKET_BYTES: Final = 262_144
"""tcpdump's and Wireshark's limit; a longer record is no packet but damage."""

N_RECORDS: Final = 1 << 16


def new_records() -> NDArray[np.int64]:
    """Return room for the packets of a window, shape (n_packets, N_COLUMNS)."""
    return np.empty((N_RECORDS, N_COLUMNS), dtype=np.int64)
