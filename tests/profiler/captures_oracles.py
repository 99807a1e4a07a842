"""What others make of captures: capinfos, tshark and scapy of whole files, tshark and scapy of each packet's flow."""

from __future__ import annotations

import gzip
import re
import struct
import subprocess
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scapy.config import conf
from scapy.contrib import geneve, mpls, roce
from scapy.error import Scapy_Exception
from scapy.layers import ppp, vxlan
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, _IPv6ExtHdr
from scapy.packet import NoPayload
from scapy.utils import RawPcapNgReader, RawPcapReader

from tests.profiler.captures_truth import LARGEST_NS, NOWHERE, NS_PER_S, Ends
from tests.profiler.frames import interface, packet, section

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = [
    "Seen",
    "Totals",
    "capinfos_totals",
    "scapy_flow",
    "scapy_totals",
    "totals_of",
    "tshark_flows",
    "tshark_packets",
]

_OPEN: Any = RawPcapReader
"""Takes a file as well as a name, whatever its annotations say."""
_DISSECTORS: Final = (geneve.GENEVE, mpls.MPLS, roce.BTH, ppp.PPPoE, vxlan.VXLAN)
"""Importing them binds them to the layers that they follow."""
GZIP_MAGIC: Final = b"\x1f\x8b"
_SEPARATOR: Final = ","
_FIELDS: Final = (
    "frame.len",
    "frame.time_epoch",
    "frame.protocols",
    "ip.src",
    "ip.dst",
    "ip.proto",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.nxt",
    "infiniband.grh.sgid",
    "infiniband.grh.dgid",
    "infiniband.grh.nxthdr",
    "tcp.srcport",
    "tcp.dstport",
    "udp.srcport",
    "udp.dstport",
    "infiniband.bth.destqp",
)


_ADDRESSES: Final = {
    "ip": ("ip.src", "ip.dst", "ip.proto"),
    "ipv6": ("ipv6.src", "ipv6.dst", "ipv6.nxt"),
    "infiniband": ("infiniband.grh.sgid", "infiniband.grh.dgid", "infiniband.grh.nxthdr"),
}
_PORTS: Final = {"tcp": 6, "udp": 17}


class Totals(NamedTuple):
    """What a capture holds by an oracle; no times if it gives none."""

    n_packets: int
    wire_bytes: int
    first_ns: int | None
    last_ns: int | None


class Seen(NamedTuple):
    """One packet by tshark; it calls a custom block one, of protocols ``data``."""

    n_bytes: int
    t_ns: int | None
    ends: Ends
    protocols: str


# Whole files


def capinfos_totals(paths: Sequence[Path]) -> dict[str, Totals]:
    """Return the totals of many files by name; those that capinfos cannot open are missing."""
    command = ["capinfos", "-T", "-r", "-c", "-d", "-a", "-e", "-S", *map(str, paths)]
    # It exits with 1 or 2 if one of the files is damaged, and goes on to the next.
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    rows = (line.split("\t") for line in lines)
    return {
        path.rpartition("/")[2]: Totals(int(packets), int(n_bytes), _ns(first), _ns(last))
        for path, packets, n_bytes, first, last in rows
    }


def tshark_packets(path: Path) -> list[Seen]:
    """Return every packet of a file."""
    fields = [part for name in _FIELDS for part in ("-e", name)]
    command = ["tshark", "-r", str(path), "-o", "ip.defragment:false", "-o", "ipv6.defragment:false", "-T", "fields"]
    # It exits with 2 if the file is damaged, after all that it could read.
    lines = subprocess.run([*command, *fields], capture_output=True, text=True, check=False).stdout.splitlines()
    rows = (dict(zip(_FIELDS, line.split("\t"), strict=True)) for line in lines)
    return [
        Seen(int(row["frame.len"]), _ns(row["frame.time_epoch"]), _tshark_ends(row), row["frame.protocols"])
        for row in rows
    ]


def totals_of(packets: Sequence[Seen]) -> Totals:
    """Return what packets come to."""
    times_ns = [packet.t_ns for packet in packets if packet.t_ns is not None]
    n_bytes = sum(packet.n_bytes for packet in packets)
    return Totals(len(packets), n_bytes, min(times_ns, default=None), max(times_ns, default=None))


def scapy_totals(path: Path) -> Totals | None:
    """Return the totals of a file; None if scapy cannot open it."""
    is_gzip = path.read_bytes()[:2] == GZIP_MAGIC
    with gzip.open(path) if is_gzip else path.open("rb") as file:
        try:
            reader = _OPEN(file)
        except (Scapy_Exception, EOFError):
            return None
        n_packets = wire_bytes = 0
        times_ns: list[int] = []
        for metadata in _scapy_metadata(reader):
            n_packets += 1
            wire_bytes += metadata.wirelen
            times_ns.extend(_scapy_times_ns(reader, metadata))
    return Totals(n_packets, wire_bytes, min(times_ns, default=None), max(times_ns, default=None))


def _scapy_metadata(reader: Any) -> Iterator[Any]:
    try:
        for _, metadata in reader:
            yield metadata
    except (Scapy_Exception, ValueError, ArithmeticError, LookupError):
        return


def _scapy_times_ns(reader: Any, metadata: Any) -> Iterator[int]:
    if not isinstance(reader, RawPcapNgReader):
        yield metadata.sec * NS_PER_S + metadata.usec * (1 if reader.nano else 1000)
    elif metadata.tshigh is not None:
        yield int(Fraction((metadata.tshigh << 32) + metadata.tslow, int(metadata.tsresol)) * NS_PER_S)


def _ns(text: str) -> int | None:
    """Return epoch seconds as nanoseconds; None where there are none, or more than can be stored.

    Of a broken clock tshark prints the fraction as it stands, with a digit too many.
    """
    found = re.fullmatch(r"(\d+)(?:\.(\d{1,10}))?", text)
    if found is None:
        return None
    t_ns = int(found[1]) * NS_PER_S + int((found[2] or "0").ljust(9, "0"))
    return t_ns if t_ns <= LARGEST_NS else None


# The flow of each packet


def tshark_flows(packets: Iterable[tuple[int, bytes, int]], folder: Path) -> list[Ends]:
    """Return the flow of each packet; a packet is its link type, what was captured, and its length.

    All go into one capture with an interface a link type, since starting tshark takes longer than reading them.
    """
    shown = list(packets)
    links = {link: number for number, link in enumerate(dict.fromkeys(link for link, _, _ in shown))}
    path = folder / "all.pcapng"
    path.write_bytes(
        section()
        + b"".join(interface(link=link) for link in links)
        + b"".join(packet(data, wire=wire, number=links[link]) for link, data, wire in shown)
    )
    return [seen.ends for seen in tshark_packets(path)]


def _tshark_ends(fields: dict[str, str]) -> Ends:
    """Return the innermost flow that tshark names."""
    protocols = fields["frame.protocols"].split(":")
    networks = [name for name in protocols if name in _ADDRESSES]
    if not networks:
        return NOWHERE
    network = next((name for name in reversed(networks) if name != "infiniband"), "infiniband")
    src, dst, proto = (_last(fields[name]) for name in _ADDRESSES[network])
    pair = fields["infiniband.bth.destqp"]
    inside = protocols[len(protocols) - protocols[::-1].index(network) :]
    transport = next((name for name in inside if name in _PORTS), None)
    sport, dport = (_last(fields[f"{transport}.{end}port"]) if transport else None for end in ("src", "dst"))
    return Ends(
        src,
        dst,
        _PORTS[transport] if transport else _whole(proto),
        _whole(sport),
        _whole(dport),
        int(pair, 16) if pair else None,
    )


def _last(text: str) -> str | None:
    """Return the innermost value of a field; of a tunnelled packet tshark gives several."""
    return text.rpartition(_SEPARATOR)[2] or None


def _whole(text: str | None) -> int | None:
    return None if text is None else int(text, 0)


def scapy_flow(link: int, data: bytes) -> Ends | None:
    """Return the innermost flow of a packet; None if scapy does not know its link type, or fails."""
    if link not in conf.l2types.num2layer:
        return None
    try:
        layer = conf.l2types.num2layer[link](data)
    except struct.error:
        return None
    ends = NOWHERE
    while not isinstance(layer, NoPayload):
        if isinstance(layer, IP):
            ends = Ends(layer.src, layer.dst, layer.proto)
        elif isinstance(layer, IPv6):
            ends = Ends(layer.src, layer.dst, layer.nh)
        elif isinstance(layer, _IPv6ExtHdr):
            ends = ends._replace(proto=layer.nh)
        elif isinstance(layer, TCP | UDP):
            ends = ends._replace(sport=layer.sport, dport=layer.dport)
        elif isinstance(layer, roce.BTH):
            ends = ends._replace(qp=layer.dqpn)
        layer = layer.payload
    return ends
