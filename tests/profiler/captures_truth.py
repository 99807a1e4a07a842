"""Traps: captures of which every packet is known, since they were written from a list of packets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tests.profiler.frames import interface, packet, pcap, section

__all__ = [
    "NOWHERE",
    "T0_NS",
    "Ends",
    "Flow",
    "Packet",
    "Trap",
    "at_ms",
    "pcap_of",
    "pcapng_of",
    "sent",
    "trap_of",
]

ORACLES: Final = {"capinfos", "scapy", "tshark"}

NS_PER_S: Final = 10**9
T0_NS: Final = 1_700_000_000 * NS_PER_S
LARGEST_NS: Final = 2**63 - 1
NS_PER_TICK: Final = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1, 0xA1B2CD34: 1000}
MICRO: Final = 0xA1B2C3D4


class Ends(NamedTuple):
    """Of what flow a packet is, by the innermost addresses; None where the packet does not tell."""

    src: str | None = None
    dst: str | None = None
    proto: int | None = None
    sport: int | None = None
    dport: int | None = None
    qp: int | None = None


NOWHERE: Final = Ends()


class Flow(NamedTuple):
    """What the packets of one flow come to."""

    n_packets: int
    wire_bytes: int
    payload_bytes: int | None
    first_ns: int | None
    last_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """One packet and what is true of it.

    Parameters
    ----------
    data
        What of it was captured.
    t_ns
        Its time; None where the capture has none.
    ends
        The flow that it is of.
    payload_bytes
        Bytes after all headers and before padding and checksums, whether captured or not; None where too little of
        the packet is there to tell.
    wire
        Bytes on the wire, if not all were captured.
    n_card
        Of them those that a capture card put before the packet: the file counts them, though they were on no wire.
    """

    data: bytes
    t_ns: int | None
    ends: Ends = NOWHERE
    payload_bytes: int | None = 0
    wire: int | None = None
    n_card: int = 0

    @property
    def written_bytes(self) -> int:
        """Length of the packet as the file tells it."""
        return len(self.data) if self.wire is None else self.wire

    @property
    def wire_bytes(self) -> int:
        """Bytes on the wire."""
        return self.written_bytes - self.n_card


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """A capture and its truth.

    Parameters
    ----------
    name
        File name; tells what the trap is.
    data
        The file.
    packets
        Every packet that a reader must count; of a damaged file those before the damage.
    link
        Link type of all packets, for oracles that are shown packets without their file; -1 if they have several.
    n_retransmits, n_cnps
        Packets whose sequence number came before in their flow, and congestion notifications.
    stops_at
        Byte, uncompressed, of the first record or block that cannot be read; None if the file is sound.
    totals_wrong, flows_wrong
        Of `ORACLES` those that are wrong about the counts and times of this file, or about the flows in it, and why.
    """

    name: str
    data: bytes
    packets: Sequence[Packet]
    link: int = 1
    n_retransmits: int = 0
    n_cnps: int = 0
    stops_at: int | None = None
    totals_wrong: Mapping[str, str] = field(default_factory=dict)
    flows_wrong: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an oracle that is not asked."""
        if unknown := {*self.totals_wrong, *self.flows_wrong} - ORACLES:
            raise ValueError(f"{self.name}: {unknown}: not one of {ORACLES}")

    @property
    def is_of_one_link(self) -> bool:
        """Whether all packets are of one link type."""
        return self.link >= 0

    @property
    def wire_bytes(self) -> int:
        """Bytes on the wire of all packets."""
        return sum(packet.wire_bytes for packet in self.packets)

    @property
    def span_ns(self) -> tuple[int | None, int | None]:
        """Time of the earliest and of the latest packet."""
        return _span_ns(self.packets)

    @property
    def flows(self) -> dict[Ends, Flow]:
        """What each flow moved."""
        return {
            ends: _flow([packet for packet in self.packets if packet.ends == ends])
            for ends in Counter(packet.ends for packet in self.packets)
        }


def at_ms(i_packet: int) -> int:
    """Return the time of the i-th packet of a trap: a little over a millisecond after the one before."""
    return T0_NS + i_packet * 1_007_000


def sent(*frames: tuple[bytes, Ends, int]) -> list[Packet]:
    """Return frames as packets a millisecond apart; each comes with its flow and the bytes of its payload."""
    return [
        Packet(data=data, t_ns=at_ms(i), ends=ends, payload_bytes=n_payload)
        for i, (data, ends, n_payload) in enumerate(frames)
    ]


def trap_of(name: str, packets: Sequence[Packet], *, link: int = 1, **facts: Any) -> Trap:
    """Return packets as a classic capture; for facts see `Trap`."""
    return Trap(name=f"{name}.pcap", data=pcap_of(packets, link=link), packets=packets, link=link, **facts)


def pcap_of(
    packets: Sequence[Packet], *, magic: int = MICRO, order: str = "<", link: int = 1, snap: int = 262_144
) -> bytes:
    """Return packets as a classic capture."""
    records = []
    for made in packets:
        seconds, rest_ns = divmod(made.t_ns or 0, NS_PER_S)
        fraction, lost_ns = divmod(rest_ns, NS_PER_TICK[magic])
        if lost_ns:
            raise ValueError(f"{made.t_ns} ns: not a whole tick of {NS_PER_TICK[magic]} ns")
        records.append((seconds, fraction, made.data, made.written_bytes))
    return pcap(records, magic=magic, order=order, link=link, snap=snap)


def pcapng_of(packets: Sequence[Packet], *, order: str = "<", link: int = 1) -> bytes:
    """Return packets as a capture of one interface whose clock ticks microseconds."""
    blocks = (
        packet(made.data, ticks=(made.t_ns or 0) // 1000, wire=made.written_bytes, order=order) for made in packets
    )
    return section(order=order) + interface(link=link, order=order) + b"".join(blocks)


def _flow(packets: Sequence[Packet]) -> Flow:
    payloads = [packet.payload_bytes for packet in packets if packet.payload_bytes is not None]
    return Flow(
        len(packets),
        sum(packet.wire_bytes for packet in packets),
        sum(payloads) if len(payloads) == len(packets) else None,
        *_span_ns(packets),
    )


def _span_ns(packets: Sequence[Packet]) -> tuple[int | None, int | None]:
    times_ns = [packet.t_ns for packet in packets if packet.t_ns is not None]
    return (min(times_ns), max(times_ns)) if times_ns else (None, None)
