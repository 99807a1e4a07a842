"""Traps of damage: what was sound before it counts, and the byte at which reading stopped is said."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from typing import Final

from tests.profiler.captures_layers import IPV4, tcp_flow, tcp_v4
from tests.profiler.captures_truth import Trap, pcap_of, pcapng_of, sent
from tests.profiler.frames import block, ethernet, interface, packet, section

__all__ = ["damage_traps"]

HEADER_BYTES, RECORD_BYTES = 24, 16
N_SOUND: Final = 3
PACKETS: Final = sent(*((ethernet(tcp_v4(46), IPV4), tcp_flow(), 46) for _ in range(N_SOUND + 2)))
SOUND: Final = PACKETS[:N_SOUND]
FRAME: Final = SOUND[0].data
CLASSIC, BLOCKS = pcap_of(PACKETS), pcapng_of(PACKETS)
CLASSIC_AT: Final = len(pcap_of(SOUND))
BLOCKS_AT: Final = len(pcapng_of(SOUND))
"""Where the first packet stands that is damaged."""


IMPOSSIBLE: Final = ("length-impossible.pcap", "length-over-the-largest.pcap", "garbage.pcap")
IMPOSSIBLE_BLOCKS: Final = (
    "size-too-small.pcapng",
    "size-odd.pcapng",
    "size-impossible.pcapng",
    "sizes-that-differ.pcapng",
    "captured-more-than-the-block.pcapng",
    "interface-that-was-not-described.pcapng",
    "packet-block-too-short.pcapng",
    "garbage.pcapng",
)
WRONG: Final[Sequence[tuple[str, Sequence[str], str]]] = (
    ("capinfos", (*IMPOSSIBLE, *IMPOSSIBLE_BLOCKS), "tells nothing of a file that it finds damaged"),
    ("scapy", ("ends-in-data.pcap", "ends-in-last-byte.pcap", "ends-in-data.pcap.gz"), "counts the packet that is cut"),
    ("scapy", IMPOSSIBLE, "takes any length"),
    ("scapy", IMPOSSIBLE_BLOCKS[4:6], "goes on behind the damage"),
)


def damage_traps() -> list[Trap]:
    """Return a trap for each place at which a file can end, and each length that cannot be."""
    return [*_ends(), *_lengths(), *_packed()]


def _ends() -> list[Trap]:
    """Return files that end inside each field of a record and of a block."""
    of_record = {
        "seconds": 2,
        "fraction": 6,
        "captured-length": 9,
        "length": 15,
        "data": 17,
        "last-byte": 15 + len(FRAME),
    }
    of_block = {
        "type": 2,
        "size": 6,
        "interface": 10,
        "time": 18,
        "captured-length": 21,
        "data": 40,
        "second-size": len(BLOCKS) - 2,
    }
    n_block = len(packet(FRAME))
    of_block["second-size"] = n_block - 2
    return [
        *(_trap(f"ends-in-{field}.pcap", CLASSIC[: CLASSIC_AT + n]) for field, n in of_record.items()),
        *(_trap(f"ends-in-{field}.pcapng", BLOCKS[: BLOCKS_AT + n]) for field, n in of_block.items()),
        _trap("ends-in-a-section.pcapng", BLOCKS[:BLOCKS_AT] + section()[:20]),
        _trap("ends-in-an-interface.pcapng", BLOCKS[:BLOCKS_AT] + interface()[:13]),
    ]


def _lengths() -> list[Trap]:
    rest = CLASSIC[CLASSIC_AT:]
    of_record = {
        "length-impossible": struct.pack("<IIII", 1, 1, 0xFFFF_FFFF, 0xFFFF_FFFF) + bytes(64),
        "length-over-the-largest": struct.pack("<IIII", 1, 1, 262_145, 262_145) + bytes(262_145),
        "garbage": bytes(range(7, 256, 2)),
    }
    of_block = {
        "size-too-small": struct.pack("<III", 6, 8, 8),
        "size-odd": struct.pack("<II", 6, 41) + bytes(33) + struct.pack("<I", 41),
        "size-impossible": struct.pack("<II", 6, 0xFFFF_FFF0) + bytes(64),
        "sizes-that-differ": packet(FRAME)[:-4] + struct.pack("<I", 0x1234),
        "captured-more-than-the-block": block(6, struct.pack("<IIIII", 0, 0, 0, 5000, 5000) + FRAME),
        "interface-that-was-not-described": packet(FRAME, number=3),
        "packet-block-too-short": block(6, bytes(12)),
        "garbage": bytes(range(7, 256, 2)) + b"\x00",
    }
    return [
        *(_trap(f"{name}.pcap", CLASSIC[:CLASSIC_AT] + damage + rest) for name, damage in of_record.items()),
        *(
            _trap(f"{name}.pcapng", BLOCKS[:BLOCKS_AT] + damage + BLOCKS[BLOCKS_AT:])
            for name, damage in of_block.items()
        ),
    ]


def _packed() -> list[Trap]:
    """Return compressed files that hold a damaged one; what breaks the compression itself is told by another test."""
    return [_trap("ends-in-data.pcap.gz", gzip.compress(CLASSIC[: CLASSIC_AT + 30], mtime=0))]


def _trap(name: str, data: bytes) -> Trap:
    stops_at = BLOCKS_AT if "pcapng" in name else CLASSIC_AT
    wrong = {oracle: why for oracle, names, why in WRONG if name in names}
    return Trap(name=name, data=data, packets=SOUND, stops_at=stops_at, totals_wrong=wrong)
