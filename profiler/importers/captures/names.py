"""Keys of flows as addresses, ports and queue pairs."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profiler.importers.captures.layout import PLACE, TRANSPORT

__all__ = ["FlowName", "read_name"]

_LID_VERSION, _V4, _V6 = 1, 4, 6


class FlowName(NamedTuple):
    """What a flow's key says; None where the packets do not tell."""

    interface: int
    src: str | None
    dst: str | None
    proto: int | None
    sport: int | None
    dport: int | None
    qp: int | None


def read_name(key: NDArray[np.int64]) -> FlowName:
    """Return what a key says, shape (layout.N_KEY,)."""
    words = key.view(np.uint64).tolist()
    interface, queue_pair = words[PLACE] >> 32, words[PLACE] & 0xFFFF_FFFF
    version, proto = words[TRANSPORT] >> 40, words[TRANSPORT] >> 32 & 0xFF
    sport, dport = words[TRANSPORT] >> 16 & 0xFFFF, words[TRANSPORT] & 0xFFFF
    return FlowName(
        interface=interface,
        src=_address(version, words[0], words[1]),
        dst=_address(version, words[2], words[3]),
        proto=proto if version else None,
        sport=sport or None,
        dport=dport or None,
        qp=queue_pair - 1 if queue_pair else None,
    )


def _address(version: int, high: int, low: int) -> str | None:
    if version == _V4:  # a capture has a hundred thousand of them
        return socket.inet_ntoa(low.to_bytes(4, "big"))
    if version == _V6:
        return str(ipaddress.IPv6Address(high << 64 | low))
    return f"lid {low}" if version == _LID_VERSION else None
