"""A slow twin of the reader: what packets a capture holds, by whole numbers of Python, as the formats are written.

It shares no code with the reader, so that on captures that nobody wrote, for which no tool can be asked, the two must
find the same packets, bytes and times, and stop at the same byte.

References
----------
.. [1] https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/
.. [2] https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal, NamedTuple

__all__ = ["Framing", "framing_of"]

NS_PER_S: Final = 10**9
TIMES_NS: Final = range(1 - 2**63, 2**63)
"""Those that can be stored; the least number of 64 bits stands for none."""
LARGEST_PACKET_BYTES: Final = 262_144
LONGEST_ON_WIRE: Final = 2**20
LARGEST_BLOCK_BYTES: Final = 64 << 20
CLASSIC: Final = {0xA1B2C3D4: (1000, 16), 0xA1B23C4D: (1, 16), 0xA1B2CD34: (1000, 24)}
"""Nanoseconds a tick, and bytes of a record's header."""
SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, PACKET = 0x0A0D0D0A, 1, 2, 3, 6
RESOLUTION, OFFSET = 9, 14
ERF: Final = 197
LINK_MASK: Final = 0x03FF_FFFF
"""Above stand the length of frame check sequences, and whether there are any."""

Order = Literal["little", "big"]


class Framing(NamedTuple):
    """What a capture holds.

    Attributes
    ----------
    stops_at
        Byte at which it cannot be read on; None at its sound end.
    has_cards
        Whether some lengths count the header of a capture card, which is not on the wire.
    """

    n_packets: int
    wire_bytes: int
    n_untimed: int
    first_ns: int | None
    last_ns: int | None
    stops_at: int | None
    has_cards: bool


class _Packet(NamedTuple):
    wire_bytes: int
    t_ns: int | None
    link: int


class _DamageError(Exception):
    """What cannot be read on starts at a byte."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class _Interface(NamedTuple):
    """Link type of an interface, how it tells time, and how much of a packet it captures at most."""

    link: int
    tick_s: Fraction
    offset_s: int
    snap: int

    def t_ns(self, ticks: int) -> int | None:
        since_ns = int(ticks * self.tick_s * NS_PER_S)
        offset_ns = self.offset_s * NS_PER_S
        parts = (since_ns, offset_ns, since_ns + offset_ns)
        return parts[-1] if all(part in TIMES_NS for part in parts) else None


@dataclass(slots=True)
class _Section:
    order: Order
    interfaces: list[_Interface] = field(default_factory=list)


def framing_of(data: bytes) -> Framing | None:
    """Return what a capture holds; None where it has no header of one."""
    kind = int.from_bytes(data[:4], "big")
    if kind == SECTION:
        walk = _blocks(data)
    elif kind in CLASSIC or int.from_bytes(data[:4], "little") in CLASSIC:
        walk = _records(data, "big" if kind in CLASSIC else "little")
    else:
        return None
    packets: list[_Packet] = []
    stops_at = None
    try:
        for packet in walk:
            packets.append(packet)  # noqa: PERF402 - those before the damage count
    except _DamageError as damage:
        stops_at = damage.at
    times_ns = [packet.t_ns for packet in packets if packet.t_ns is not None]
    return Framing(
        n_packets=len(packets),
        wire_bytes=sum(packet.wire_bytes for packet in packets),
        n_untimed=len(packets) - len(times_ns),
        first_ns=min(times_ns, default=None),
        last_ns=max(times_ns, default=None),
        stops_at=stops_at,
        has_cards=any(packet.link == ERF for packet in packets),
    )


def _records(data: bytes, order: Order) -> Iterator[_Packet]:
    """Yield each packet of pcap."""
    if len(data) < 24:
        raise _DamageError(0)
    link = _u32(data, 20, order) & LINK_MASK
    ns_per_tick, n_header = CLASSIC[int.from_bytes(data[:4], order)]
    at = 24
    while at < len(data):
        if at + n_header > len(data):
            raise _DamageError(at)
        seconds, fraction, captured, wire = (_u32(data, at + 4 * i, order) for i in range(4))
        if captured > LARGEST_PACKET_BYTES or at + n_header + captured > len(data):
            raise _DamageError(at)
        yield _Packet(captured if wire > LONGEST_ON_WIRE else wire, seconds * NS_PER_S + fraction * ns_per_tick, link)
        at += n_header + captured


def _blocks(data: bytes) -> Iterator[_Packet]:
    """Yield each packet of pcapng."""
    section = _Section("little")
    at = 0
    while at < len(data):
        if data[at : at + 4] == SECTION.to_bytes(4, "big"):
            section = _Section("big" if data[at + 8 : at + 12] == b"\x1a\x2b\x3c\x4d" else "little")
        body = _body(data, at, section.order)
        kind = _u32(data, at, section.order)
        if kind == INTERFACE:
            section.interfaces.append(_interface(body, at, section.order))
        elif kind in (OLD_PACKET, SIMPLE_PACKET, PACKET):
            yield _packet(kind, body, at, section)
        at += len(body) + 12


def _body(data: bytes, at: int, order: Order) -> bytes:
    """Return what stands in a block between its two sizes."""
    if at + 12 > len(data):
        raise _DamageError(at)
    size = _u32(data, at + 4, order)
    is_section = _u32(data, at, order) == SECTION
    if size % 4 or not (28 if is_section else 12) <= size <= LARGEST_BLOCK_BYTES or at + size > len(data):
        raise _DamageError(at)
    if _u32(data, at + size - 4, order) != size:
        raise _DamageError(at)
    if is_section and _u32(data, at + 8, order) != 0x1A2B3C4D:
        raise _DamageError(at)
    return data[at + 8 : at + size - 4]


def _interface(body: bytes, at: int, order: Order) -> _Interface:
    if len(body) < 8:
        raise _DamageError(at)
    options = dict(reversed(list(_options(body[8:], order))))
    resolution = (options.get(RESOLUTION) or b"\x06")[0]
    offset = options.get(OFFSET, b"")
    return _Interface(
        link=int.from_bytes(body[:2], order),
        tick_s=Fraction(1, 2 ** (resolution & 127)) if resolution & 128 else Fraction(1, 10**resolution),
        offset_s=int.from_bytes(offset, order, signed=True) if len(offset) == 8 else 0,
        snap=_u32(body, 4, order),
    )


def _options(data: bytes, order: Order) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        code, size = (int.from_bytes(data[at + i : at + i + 2], order) for i in (0, 2))
        if code == 0 or at + 4 + size > len(data):
            return
        yield code, data[at + 4 : at + 4 + size]
        at += 4 + -(-size // 4) * 4


def _packet(kind: int, body: bytes, at: int, section: _Section) -> _Packet:
    n_header = 4 if kind == SIMPLE_PACKET else 20
    if len(body) < n_header:
        raise _DamageError(at)
    words = [_u32(body, 4 * i, section.order) for i in range(n_header // 4)]
    number = {SIMPLE_PACKET: 0, OLD_PACKET: int.from_bytes(body[:2], section.order), PACKET: words[0]}[kind]
    if number >= len(section.interfaces):
        raise _DamageError(at)
    interface = section.interfaces[number]
    if kind == SIMPLE_PACKET:
        captured = min(words[0], len(body) - 4, interface.snap or words[0])
        t_ns, wire = None, words[0]
    else:
        captured, wire = words[3], words[4]
        t_ns = interface.t_ns(words[1] << 32 | words[2])
    if captured > min(LARGEST_PACKET_BYTES, len(body) - n_header):
        raise _DamageError(at)
    return _Packet(captured if wire > LONGEST_ON_WIRE else wire, t_ns, interface.link)


def _u32(data: bytes, at: int, order: Order) -> int:
    return int.from_bytes(data[at : at + 4], order)
