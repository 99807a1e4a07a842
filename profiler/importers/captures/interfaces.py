"""The interfaces of a pcapng file: link type, snap length, and how their clocks are written."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from profiler.errors import BadInput
from profiler.importers.captures.clocks import clock_of
from profiler.importers.captures.layout import UNTIMED
from profiler.units import NS_PER_S

__all__ = ["Interface", "read_dropped", "read_interface"]

_NAME: Final = 2
_RESOLUTION: Final = 9
_OFFSET: Final = 14
_MICROSECONDS: Final = b"\x06"
_DROPPED_BY_INTERFACE, _DROPPED_BY_SYSTEM = 5, 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One interface description block.

    Parameters
    ----------
    snap_bytes
        Longest captured packet; 0 where there is no limit.
    clock, unit
        How ticks become nanoseconds; see `profiler.importers.captures.clocks`.
    offset_ns
        Added to each time; `UNTIMED` where it is beyond any time that can be stored.
    """

    name: str
    link: int
    snap_bytes: int
    clock: int
    unit: int
    offset_ns: int


def read_interface(block: bytes, *, order: str) -> Interface:
    """Read the body of an interface description block, without type and lengths.

    Parameters
    ----------
    block
        Its bytes.
    order
        Byte order of the section, ``<`` or ``>``.

    Raises
    ------
    BadInput
        If it is too short.
    """
    if len(block) < 8:
        raise BadInput("an interface description shorter than 8 bytes")
    link, snap_bytes = struct.unpack_from(f"{order}HxxI", block)
    options = _options(block[8:], order=order)
    clock, unit = clock_of((options.get(_RESOLUTION) or _MICROSECONDS)[0])
    offset_s = struct.unpack(f"{order}q", options[_OFFSET])[0] if len(options.get(_OFFSET, b"")) == 8 else 0
    offset_ns = offset_s * NS_PER_S
    return Interface(
        name=" ".join(options.get(_NAME, b"").rstrip(b"\x00").decode("utf-8", "replace").split()),
        link=link,
        snap_bytes=snap_bytes,
        clock=clock,
        unit=unit,
        offset_ns=offset_ns if abs(offset_ns) < -UNTIMED else UNTIMED,
    )


def read_dropped(block: bytes, *, order: str) -> tuple[int, int]:
    """Read the body of an interface statistics block: return the number of the interface, and packets dropped on it.

    A block that is too short, or does not tell, tells of none: it is no packet that could be lost with it.
    """
    if len(block) < 12:
        return 0, 0
    options = _options(block[12:], order=order)
    counts = (options.get(code, b"") for code in (_DROPPED_BY_INTERFACE, _DROPPED_BY_SYSTEM))
    n_dropped = sum(struct.unpack(f"{order}Q", count)[0] for count in counts if len(count) == 8)
    return struct.unpack_from(f"{order}I", block)[0], n_dropped


def _options(data: bytes, *, order: str) -> dict[int, bytes]:
    options: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        code, size = struct.unpack_from(f"{order}HH", data, at)
        if code == 0 or at + 4 + size > len(data):
            break
        options.setdefault(code, data[at + 4 : at + 4 + size])
        at += 4 + size + -size % 4
    return options
