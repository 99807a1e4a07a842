"""Traps of the file itself: magics, byte orders, clocks, blocks, compression."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import zstandard

from tests.profiler.captures_layers import IPV4, V6, sll, tcp_flow, tcp_v4, tcp_v6
from tests.profiler.captures_truth import (
    NS_PER_S,
    T0_NS,
    Packet,
    Trap,
    at_ms,
    pcap_of,
    pcapng_of,
    sent,
    trap_of,
)
from tests.profiler.frames import block, ethernet, interface, old_packet, option, packet, pcap, section, simple_packet

__all__ = ["framing_traps"]

MICRO, NANO, KUZNETZOV = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34
FRAME: Final = ethernet(tcp_v4(46), IPV4)
FLOW: Final = tcp_flow()
LARGEST_PACKET_BYTES: Final = 262_144
RAW, SLL = 101, 113
COMMENT, END, NAME, RESOLUTION, OFFSET = 1, 0, 2, 9, 14
NAMES, STATISTICS, JOURNAL, SECRETS, CUSTOM, CUSTOM_NO_COPY = 4, 5, 9, 10, 0x0BAD, 0x4000_0BAD


WRONG_CLOCKS: Final[Sequence[tuple[str, Sequence[str], str]]] = (
    ("capinfos", ("half-seconds",), "prints whole seconds"),
    ("capinfos", ("picoseconds",), "takes the ticks for signed"),
    ("tshark", ("picoseconds",), "takes the ticks for signed"),
)


def framing_traps() -> list[Trap]:
    """Return a trap for each way to write a capture."""
    return [*_magics(), *_times(), *_sizes(), *_sections(), *_clocks(), *_blocks(), *_compressed()]


def _packets(*times_ns: int | None) -> list[Packet]:
    """Return packets of one flow, each longer than the one before."""
    return [
        Packet(data=ethernet(tcp_v4(46 + i), IPV4), t_ns=t_ns, ends=FLOW, payload_bytes=46 + i)
        for i, t_ns in enumerate(times_ns)
    ]


PLAIN: Final = _packets(*(at_ms(i) for i in range(5)))


# Classic captures


def _magics() -> list[Trap]:
    fine = _packets(T0_NS + 1, T0_NS + 999_999_999)
    orders = {"little": "<", "big": ">"}
    return [
        *(
            Trap(
                name=f"{name}-{end}.pcap",
                data=pcap_of(made, magic=magic, order=order),
                packets=made,
                totals_wrong={"scapy": "takes it for the plain format"} if magic == KUZNETZOV else {},
            )
            for end, order in orders.items()
            for name, magic, made in (("micro", MICRO, PLAIN), ("nano", NANO, fine), ("kuznetzov", KUZNETZOV, PLAIN))
        ),
        Trap(name="check-sequence-bits-in-the-link-type.pcap", data=pcap_of(PLAIN, link=0x1400_0001), packets=PLAIN),
        Trap(name="no-packets.pcap", data=pcap_of([]), packets=[]),
    ]


def _times() -> list[Trap]:
    beyond_2038 = _packets(2**31 * NS_PER_S, (2**32 - 1) * NS_PER_S + 999_999_000)
    carried = _packets(T0_NS + 1_500_000_000, T0_NS + 2_000_000_000)
    fractions = [(T0_NS // NS_PER_S, 1_500_000_000, made.data, made.wire_bytes) for made in carried[:1]]
    fractions += [(T0_NS // NS_PER_S, 2_000_000_000, made.data, made.wire_bytes) for made in carried[1:]]
    digits = {"capinfos": "prints a fraction of seven digits"}
    carried_micro = _packets(T0_NS + 1_500_000_000)
    fraction_micro = [(T0_NS // NS_PER_S, 1_500_000, made.data, made.wire_bytes) for made in carried_micro]
    return [
        trap_of("times-beyond-2038", beyond_2038),
        trap_of("times-of-epoch-0", _packets(0, 1000, NS_PER_S)),
        trap_of("times-out-of-order", _packets(at_ms(9), at_ms(2), at_ms(30), at_ms(1), at_ms(4))),
        trap_of("times-that-stand-still", _packets(*(at_ms(1) for _ in range(4)))),
        Trap(
            name="fraction-over-a-second-nano.pcap",
            data=pcap(fractions, magic=NANO),
            packets=carried,
        ),
        Trap(
            name="fraction-over-a-second-micro.pcap",
            data=pcap(fraction_micro),
            packets=carried_micro,
            totals_wrong=digits,
        ),
    ]


def _sizes() -> list[Trap]:
    cut = [replace(made, data=made.data[:60], wire=1514 + i) for i, made in enumerate(PLAIN)]
    cut = [replace(made, payload_bytes=46 + i) for i, made in enumerate(cut)]
    over = [replace(PLAIN[0], wire=40, payload_bytes=None), PLAIN[1]]
    nothing = [Packet(data=b"", t_ns=at_ms(0)), Packet(data=b"", t_ns=at_ms(1), wire=1514), PLAIN[2]]
    largest = Packet(data=FRAME.ljust(LARGEST_PACKET_BYTES, b"\x00"), t_ns=at_ms(0), ends=FLOW, payload_bytes=46)
    return [
        Trap(name="snap-length.pcap", data=pcap_of(cut, snap=60), packets=cut),
        Trap(name="snap-length-zero.pcap", data=pcap_of(PLAIN, snap=0), packets=PLAIN),
        Trap(name="snap-length-below-what-was-captured.pcap", data=pcap_of(PLAIN, snap=16), packets=PLAIN),
        trap_of("captured-more-than-there-was", over),
        trap_of("packets-of-no-bytes", nothing),
        trap_of("largest-packet", [largest, PLAIN[1]]),
    ]


# pcapng


def _sections() -> list[Trap]:
    first, second, third = _packets(at_ms(0), at_ms(1), at_ms(2))
    big = pcapng_of([first], order=">") + pcapng_of([second]) + pcapng_of([third], order=">")
    body = interface() + packet(first.data, ticks=_us(first))
    measured = (
        section(n_bytes=len(body)) + body + section(n_bytes=-1) + interface() + packet(second.data, ticks=_us(second))
    )
    commented = section(option(COMMENT, b"odd"), option(4, b"tests"), option(END, b"")) + body
    return [
        Trap(name="sections-of-both-byte-orders.pcapng", data=big, packets=[first, second, third]),
        Trap(name="section-lengths.pcapng", data=measured, packets=[first, second]),
        Trap(name="section-options.pcapng", data=commented, packets=[first]),
        Trap(name="no-packets.pcapng", data=section() + interface(), packets=[]),
        Trap(name="big-endian.pcapng", data=pcapng_of(PLAIN, order=">"), packets=PLAIN),
    ]


def _clocks() -> list[Trap]:
    """Return interfaces whose clocks tick otherwise; offsets are whole seconds."""
    clocks = {
        "seconds": (b"\x00", 1, 1_700_000_000),
        "milliseconds": (b"\x03", 1000, 1_700_000_000),
        "nanoseconds": (b"\x09", NS_PER_S, 1_700_000_000),
        "picoseconds": (b"\x0c", 10**12, 10_000_000),
        "half-seconds": (b"\x81", 2, 1_700_000_000),
        "2-to-the-20": (b"\x94", 2**20, 1_700_000_000),
        "2-to-the-33": (b"\xa1", 2**33, 1_700_000_000),
    }
    traps = []
    for name, (resolution, per_s, start_s) in clocks.items():
        ticks = [start_s * per_s, (start_s + 1) * per_s + per_s // 2]
        made = _packets(*(tick * NS_PER_S // per_s for tick in ticks))
        blocks = [packet(one.data, ticks=tick) for one, tick in zip(made, ticks, strict=True)]
        data = section() + interface(option(RESOLUTION, resolution)) + b"".join(blocks)
        wrong = {oracle: why for oracle, names, why in WRONG_CLOCKS if name in names}
        traps.append(Trap(name=f"clock-of-{name}.pcapng", data=data, packets=made, totals_wrong=wrong))
    return [*traps, *_offsets(), *_interfaces()]


def _offsets() -> list[Trap]:
    made = _packets(*(T0_NS + i * 1000 for i in range(2)))
    traps = []
    for name, offset_s in (("forward", 1_699_999_990), ("back", -100)):
        field = option(OFFSET, struct.pack("<q", offset_s))
        blocks = [packet(one.data, ticks=_us(one) - offset_s * 10**6) for one in made]
        data = section() + interface(field) + b"".join(blocks)
        wrong = {"scapy": "does not know if_tsoffset"}
        traps.append(Trap(name=f"clock-set-{name}.pcapng", data=data, packets=made, totals_wrong=wrong))
    return traps


def _interfaces() -> list[Trap]:
    on_ethernet, raw, cooked = (
        _packets(at_ms(0))[0],
        *sent((tcp_v6(8), tcp_flow(V6), 8), (sll(tcp_v4(9), IPV4), FLOW, 9)),
    )
    late = replace(cooked, t_ns=at_ms(2))
    described = (
        interface(option(NAME, b"eth0"), option(RESOLUTION, b"\x09"))
        + interface(option(NAME, b"tun0"), option(RESOLUTION, b"\x06"), link=RAW)
        + packet(raw.data, ticks=_us(raw), number=1)
        + interface(option(NAME, b"any"), option(RESOLUTION, b"\x09"), link=SLL)
        + packet(late.data, ticks=at_ms(2), number=2)
        + packet(on_ethernet.data, ticks=at_ms(0), number=0)
    )
    many = _packets(*(at_ms(i) for i in range(40)))
    numbered = b"".join(interface() for _ in many) + b"".join(
        packet(made.data, ticks=_us(made), number=i) for i, made in enumerate(many)
    )
    return [
        Trap(
            name="interfaces-of-three-links.pcapng",
            data=section() + described,
            packets=[raw, late, on_ethernet],
            link=-1,
        ),
        Trap(name="interfaces-forty.pcapng", data=section() + numbered, packets=many),
    ]


def _blocks() -> list[Trap]:
    made = _packets(*(at_ms(i) for i in range(4)))
    old = section() + interface() + b"".join(old_packet(one.data, ticks=_us(one)) for one in made)
    simple = [replace(PLAIN[0], t_ns=None, data=PLAIN[0].data[:60], wire=len(PLAIN[0].data)), PLAIN[1]]
    simple_data = (
        section()
        + interface(snap=60)
        + simple_packet(simple[0].data, wire=simple[0].wire)
        + packet(PLAIN[1].data, ticks=_us(PLAIN[1]))
    )
    strange = [
        block(CUSTOM, struct.pack("<I", 32_473) + packet(FRAME, ticks=1)),
        block(CUSTOM_NO_COPY, struct.pack("<I", 32_473) + bytes(60)),
        block(NAMES, struct.pack("<HH4s8s", 1, 12, bytes((10, 0, 0, 1)), b"host-a\x00\x00") + bytes(4)),
        block(STATISTICS, struct.pack("<III", 0, 0, 0) + option(4, bytes(8)) + option(END, b"")),
        block(JOURNAL, b"__REALTIME_TIMESTAMP=1\nMESSAGE=none\n"),
        block(SECRETS, struct.pack("<II", 0x544C534B, 4) + b"none"),
        block(0x7FFF_0001, bytes(33)),
    ]
    options = option(COMMENT, b"seen") + option(2, struct.pack("<I", 1)) + option(4, bytes(8)) + option(END, b"")
    optional = b"".join(packet(one.data, ticks=_us(one), options=options) for one in made)
    between = b"".join(
        stranger + packet(one.data, ticks=_us(one)) for stranger, one in zip(strange, made[:1] * 7, strict=False)
    )
    timeless: dict[str, str] = {"capinfos": "gives no times where one block has none"}
    return [
        Trap(name="old-packet-blocks.pcapng", data=old, packets=made),
        Trap(name="simple-packet-blocks.pcapng", data=simple_data, packets=simple, totals_wrong=timeless),
        Trap(name="options-of-packets.pcapng", data=section() + interface() + optional, packets=made),
        Trap(
            name="blocks-that-are-no-packets.pcapng",
            data=section() + interface() + between,
            packets=made[:1] * 7,
            totals_wrong={**timeless, "tshark": "counts custom blocks"},
        ),
    ]


def _us(made: Packet) -> int:
    return (made.t_ns or 0) // 1000


# Compression


def _compressed() -> list[Trap]:
    many = _packets(*(at_ms(i) for i in range(300)))
    data, blocks = pcap_of(many), pcapng_of(many)
    halves = data[: len(data) // 2], data[len(data) // 2 :]
    skipped = struct.pack("<II", 0x184D2A50, 8) + bytes(8)
    packed: Sequence[tuple[str, bytes]] = (
        ("gzip.pcap.gz", gzip.compress(data, mtime=0)),
        ("gzip-of-two-members.pcap.gz", gzip.compress(halves[0], mtime=0) + gzip.compress(halves[1], mtime=0)),
        ("gzip.pcapng.gz", gzip.compress(blocks, mtime=0)),
        ("gzip-without-saying-so.pcap", gzip.compress(data, compresslevel=1, mtime=0)),
        ("zstd.pcap.zst", zstandard.compress(data)),
        (
            "zstd-of-two-frames.pcapng.zst",
            zstandard.compress(blocks[:5000]) + skipped + zstandard.compress(blocks[5000:]),
        ),
    )
    return [
        Trap(name=name, data=file, packets=many, totals_wrong={"scapy": "does not unpack it"} if "zst" in name else {})
        for name, file in packed
    ]
