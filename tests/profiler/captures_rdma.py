"""Traps of remote direct memory access: queue pairs, payload apart from headers, repeats, notifications."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.profiler.captures_layers import V4, V6, erf
from tests.profiler.captures_truth import NS_PER_S, T0_NS, Ends, Packet, Trap, at_ms, sent, trap_of
from tests.profiler.captures_verbs import (
    ACK,
    ATOMIC_ACK,
    ATOMIC_ADD,
    CNP,
    IB_PROTOCOL,
    READ_FIRST,
    READ_LAST,
    READ_MIDDLE,
    READ_ONLY,
    READ_REQUEST,
    SEND_IMMEDIATE,
    SEND_ONLY,
    UD_SEND,
    WRITE_FIRST,
    WRITE_IMMEDIATE,
    WRITE_LAST,
    WRITE_MIDDLE,
    WRITE_ONLY,
    infiniband,
    roce1,
    roce2,
    roce2_flow,
    roce2_v6,
    verb,
)
from tests.profiler.frames import ethernet

__all__ = ["rdma_traps"]

MTU: Final = 4096
LAST_PSN: Final = 2**24 - 1
BACK: Final = (V4[1], V4[0])
INFINIBAND, ERF, ERF_INFINIBAND = 247, 197, 21
PAIR, BACK_PAIR = 0x000123, 0xFFFFFF
"""Queue pair of the one that is written to, and of the one that writes."""
FORTH_FLOW, BACK_FLOW = roce2_flow(PAIR), roce2_flow(BACK_PAIR, BACK)


def rdma_traps() -> list[Trap]:
    """Return a trap for each thing that is counted apart, and for what looks like it."""
    return [*_payloads(), *_reads(), *_repeats(), *_native(), *_cut()]


def _forth(opcode: int, psn: int, n_payload: int = 0) -> tuple[bytes, Ends, int]:
    return roce2(verb(opcode, qp=PAIR, psn=psn, n_payload=n_payload)), FORTH_FLOW, n_payload


def _back(opcode: int, psn: int, n_payload: int = 0) -> tuple[bytes, Ends, int]:
    return roce2(verb(opcode, qp=BACK_PAIR, psn=psn, n_payload=n_payload), ends=BACK), BACK_FLOW, n_payload


def _payloads() -> list[Trap]:
    writes = sent(
        _forth(WRITE_FIRST, 1, MTU), _forth(WRITE_MIDDLE, 2, MTU), _forth(WRITE_LAST, 3, 1001), _back(ACK, 3)
    )  # fmt: skip
    of_v6 = [
        (roce2_v6(verb(WRITE_ONLY, qp=PAIR, psn=psn, n_payload=size)), roce2_flow(PAIR, V6), size)
        for psn, size in enumerate((0, 1, 2, 3, 4))
    ]
    kinds = sent(
        _forth(SEND_ONLY, 1, 10),
        _forth(SEND_IMMEDIATE, 2, 11),
        _forth(WRITE_IMMEDIATE, 3, 12),
        _forth(ATOMIC_ADD, 4),
        _back(ATOMIC_ACK, 4),
        _forth(UD_SEND, 5, 13),
    )
    tagged = ethernet(_forth(SEND_ONLY, 1, 14)[0][14:], 0x0800, [(0x8100, 3)])
    return [
        trap_of("rocev2-write", writes),
        trap_of("rocev2-ipv6-padding", sent(*of_v6)),
        trap_of("rocev2-every-kind-of-header", kinds),
        trap_of("rocev2-vlan", sent((tagged, FORTH_FLOW, 14))),
        trap_of(
            "rocev1",
            sent((roce1(verb(WRITE_FIRST, qp=9, psn=1, n_payload=MTU)), Ends(*V6, IB_PROTOCOL, qp=9), MTU)),
            flows_wrong={"scapy": "knows no global route header"},
        ),
    ]


def _reads() -> list[Trap]:
    """Return reads: payload goes to the one who asked, whose own writes have sequence numbers of their own."""
    answers = [
        _forth(READ_REQUEST, 50),
        _back(READ_FIRST, 50, MTU),
        _back(READ_MIDDLE, 51, MTU),
        _back(READ_LAST, 52, 8),
        _forth(READ_REQUEST, 53),
        _back(READ_ONLY, 53, 5),
    ]
    both_ways = [
        _forth(READ_REQUEST, 50),
        _back(SEND_ONLY, 50, 6),
        _back(READ_FIRST, 50, MTU),
        _back(SEND_ONLY, 51, 7),
        _back(READ_LAST, 51, 8),
    ]
    return [
        trap_of("rocev2-read-goes-to-who-asked", sent(*answers)),
        trap_of("rocev2-read-and-write-with-the-same-numbers", sent(*both_ways)),
    ]


def _repeats() -> list[Trap]:
    back_n = [_forth(WRITE_MIDDLE, psn, MTU) for psn in (7, 8, 9, 10, 8, 9, 10, 11)]
    wrapped = [_forth(WRITE_MIDDLE, psn & LAST_PSN, 64) for psn in range(LAST_PSN - 2, LAST_PSN + 4)]
    wrapped_twice = [*wrapped, *wrapped[3:]]
    asked_again = [_forth(READ_REQUEST, 5), _forth(READ_REQUEST, 5), _back(READ_ONLY, 5, 9), _back(READ_ONLY, 5, 9)]
    acks = [
        _forth(SEND_ONLY, 1, 1), _back(ACK, 1), _back(ACK, 1), _back(ACK, 1), _forth(SEND_ONLY, 2, 1), _back(ACK, 2)
    ]  # fmt: skip
    other_pair = (roce2(verb(WRITE_MIDDLE, qp=PAIR + 1, psn=7, n_payload=4)), roce2_flow(PAIR + 1), 4)
    datagrams = [_forth(UD_SEND, psn, 4) for psn in (3, 3, 3)]
    notified = [_forth(WRITE_MIDDLE, 1, MTU), _back(CNP, 0), _back(CNP, 0), _forth(WRITE_MIDDLE, 2, MTU)]
    return [
        *_far_back(),
        trap_of("rocev2-go-back-n", sent(*back_n), n_retransmits=3),
        trap_of("rocev2-sequence-numbers-wrap", sent(*wrapped)),
        trap_of("rocev2-repeats-after-the-wrap", sent(*wrapped_twice), n_retransmits=3),
        trap_of("rocev2-read-asked-again", sent(*asked_again), n_retransmits=2),
        trap_of("rocev2-acks-repeat-numbers", sent(*acks)),
        trap_of("rocev2-other-pair-same-numbers", sent(_forth(WRITE_MIDDLE, 7, 4), other_pair)),
        trap_of("rocev2-datagrams-have-no-repeats", sent(*datagrams)),
        trap_of("rocev2-congestion-notifications", sent(*notified), n_cnps=2),
    ]


def _far_back() -> list[Trap]:
    """Return jumps back beyond what the reader remembers number by number."""
    numbers = {
        "rocev2-go-back-1000": ([*range(2000), *range(1000, 2100)], 1000),
        "rocev2-go-back-before-the-capture": ([*range(2000, 2900), *range(1900, 3000)], 900),
        "rocev2-go-back-1000-twice": ([*range(1500), *range(500, 1500), *range(500, 1600)], 2000),
        "rocev2-new-connection-starts-lower": ([*range(9_000_000, 9_000_100), *range(5_000_000, 5_001_000)], 0),
        "rocev2-new-connection-starts-higher": (
            [*range(100), *range(7_000_000, 7_000_900), *range(7_000_300, 7_000_950)],
            600,
        ),
        "rocev2-new-connection-goes-back": (
            [*range(9_000_000, 9_000_700), *range(5_000_000, 5_001_500), *range(5_000_300, 5_001_600)],
            1200,
        ),
        "rocev2-first-of-a-new-connection-comes-twice": ([*range(9_000_000, 9_000_100), 5, *range(5, 50)], 1),
        "rocev2-late-and-new": ([*range(100), *range(101, 900), 100, *range(900, 950)], 0),
    }
    return [
        trap_of(name, sent(*(_forth(WRITE_MIDDLE, psn, 64) for psn in psns)), n_retransmits=n_retransmits)
        for name, (psns, n_retransmits) in numbers.items()
    ]


def _native() -> list[Trap]:
    message = infiniband(verb(WRITE_ONLY, qp=11, psn=1, n_payload=2048))
    flow = Ends(*V6, IB_PROTOCOL, qp=11)
    record = erf(message, kind=ERF_INFINIBAND, wire=len(message), t_s=T0_NS // NS_PER_S)
    on_card = [replace(sent((record, flow, 2048))[0], n_card=len(record) - len(message))]
    unknown = "does not know the link type"
    return [
        trap_of(
            "infiniband",
            sent((message, flow, 2048)),
            link=INFINIBAND,
            totals_wrong={"capinfos": unknown, "tshark": unknown},
            flows_wrong={"scapy": unknown, "tshark": unknown},
        ),
        trap_of("infiniband-erf", on_card, link=ERF, totals_wrong={"scapy": unknown}, flows_wrong={"scapy": unknown}),
    ]


def _cut() -> list[Trap]:
    """Return packets cut behind, in and before their transport header: lengths in headers tell the payload."""
    frame, flow, n_payload = _forth(WRITE_MIDDLE, 1, MTU)
    first, _, _ = _forth(WRITE_FIRST, 2, MTU)
    without_pair = flow._replace(qp=None)
    return [
        trap_of(
            "rocev2-snap-length",
            [
                Packet(data=frame[:64], wire=len(frame), t_ns=at_ms(0), ends=flow, payload_bytes=n_payload),
                Packet(data=first[:54], wire=len(first), t_ns=at_ms(1), ends=flow, payload_bytes=n_payload),
                Packet(data=first[:44], wire=len(first), t_ns=at_ms(2), ends=without_pair, payload_bytes=n_payload),
                Packet(data=frame[:43], wire=len(frame), t_ns=at_ms(3), ends=without_pair, payload_bytes=n_payload),
                Packet(data=frame[:39], wire=len(frame), t_ns=at_ms(4), ends=without_pair, payload_bytes=n_payload),
            ],
            flows_wrong={"scapy": "wants the checksum at the end"},
        ),
        trap_of(
            "rocev2-snap-length-behind-the-pair",
            [Packet(data=first[:50], wire=len(first), t_ns=at_ms(0), ends=flow, payload_bytes=n_payload)],
            flows_wrong={"scapy": "wants the checksum at the end", "tshark": "wants the whole header"},
        ),
    ]
