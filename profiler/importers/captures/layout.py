"""Where everything stands in the memory of the kernel: one space of 64-bit words, at places that its first words tell.

The kernel takes addresses, not arrays: numba counts references of an array for every function that it is handed to,
which costs more than the packet. A table is named by the word that tells where it starts; a row by the number of its
first word.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BIG_ENDIAN",
    "BIN_NS",
    "BUDGET",
    "CAPTURED",
    "COLUMNS_AT",
    "DATAGRAM_END",
    "DIGEST",
    "END",
    "FIRST_NS",
    "FLOWS_AT",
    "FORMAT",
    "FRAGMENT",
    "FRAGMENTS_AT",
    "INNER",
    "INTERFACE",
    "INTERFACES_AT",
    "KEY",
    "KEYED",
    "LANES",
    "LAST_FLOW",
    "LAST_NS",
    "LINK",
    "MOST_FLOWS",
    "MOST_STRANGERS",
    "NS_PER_TICK",
    "NUMBER",
    "N_CARRIED",
    "N_COLUMNS",
    "N_EMPTY",
    "N_ENDLESS",
    "N_FLOWS",
    "N_FRAGMENTS",
    "N_INTERFACES",
    "N_KEY",
    "N_OVERLONG",
    "N_PACKETS",
    "N_RDMA",
    "N_ROWS",
    "N_STATE",
    "N_STRANGERS",
    "N_TUNNELLED",
    "N_UNTIMED",
    "OPCODE",
    "OPCODES_AT",
    "PAYLOAD",
    "PCAP",
    "PCAPNG",
    "PLACE",
    "PLACING",
    "PSN",
    "RDMA_AT",
    "RECORD_BYTES",
    "ROWS_AT",
    "SLOTS_AT",
    "SLOT_MASK",
    "START",
    "STATUS",
    "STRANGE",
    "STRANGERS_AT",
    "STRIPE_BYTES",
    "TIME",
    "TRANSPORT",
    "TUNNELS",
    "UNTIMED",
    "WIRE",
    "WIRE_BYTES",
]

UNTIMED: Final = -(1 << 63)
"""Time of a packet that has none, or one that int64 nanoseconds cannot hold."""

STATUS: Final = 0
"""Why a walk ended; see `profiler.importers.captures.statuses`."""
FORMAT: Final = 1
PCAP, PCAPNG, KEYED, INNER, PLACING, DIGEST = 0, 1, 2, 3, 4, 5
"""What to do: walk records or blocks; count the packet at hand, whose key is known or is that of the IP packet inside
it; put all flows into the hash table; digest all bytes."""
BIG_ENDIAN: Final = 2
NS_PER_TICK: Final = 3
"""Nanoseconds in a unit of the second time field of pcap."""
RECORD_BYTES: Final = 4
"""Bytes of the header of a packet of pcap."""
BIN_NS: Final = 5
BUDGET: Final = 6
"""Packets that there is room for."""
OPCODES_AT: Final = 7
"""Table of `opcodes`."""
INTERFACES_AT, N_INTERFACES = 8, 9
"""Table of `interface_words`."""
SLOTS_AT, SLOT_MASK = 10, 11
"""Hash table: number of the flow, 0 where free."""
FLOWS_AT, N_FLOWS, LAST_FLOW = 12, 13, 14
"""Table of flows, see `flow_words` for all that follow; how many are used; which was the last to have a packet."""
MOST_FLOWS: Final = 25
"""Flows that are told apart."""
RDMA_AT, N_RDMA = 15, 16
"""What flows of RDMA have beside."""
ROWS_AT, N_ROWS = 17, 18
"""Closed bins."""
STRANGERS_AT, N_STRANGERS, MOST_STRANGERS = 19, 20, 21
"""Packets that the kernel does not know."""
COLUMNS_AT, N_COLUMNS = 22, 23
"""One row a packet; ``N_COLUMNS`` is -1 where nobody asked for it."""
FRAGMENTS_AT: Final = 24
"""Keys of datagrams whose first fragment was seen."""

START: Final = 32
"""The packet at hand: its first byte."""
CAPTURED, WIRE, TIME, LINK, INTERFACE, NUMBER = 33, 34, 35, 36, 37, 38
STRANGE: Final = 39
"""What of it is not known, 0 if nothing; see `kernel.carried`."""
OPCODE, PSN = 40, 41
"""Base transport header: -1 where there is none."""
PAYLOAD: Final = 42
"""Bytes inside its headers, as these and the wire tell, captured or not."""
FRAGMENT: Final = 43
"""Hash of the datagram of which it is a fragment; 0 for none."""
END: Final = 44
"""Where the bytes end that were captured of the layer at hand."""
DATAGRAM_END: Final = 45
"""Where that layer ends, captured or not."""
TUNNELS: Final = 46
"""Packets around the innermost."""

KEY: Final = 48
"""Six words: two of the source address, of which an IPv4 address or a LID is the last, two of the destination,
`TRANSPORT` and `PLACE`."""
N_KEY: Final = 6
TRANSPORT: Final = 4
"""Word of version (bits 40 to 47), protocol (32 to 39), source port (16 to 31) and destination port (0 to 15)."""
PLACE: Final = 5
"""Word of the interface (upper half) and of the destination queue pair plus one, 0 for none (lower half)."""

N_PACKETS, WIRE_BYTES, N_UNTIMED, FIRST_NS, LAST_NS = 56, 57, 58, 59, 60
"""Totals."""
N_CARRIED: Final = 61
"""Packets whose fraction of a second is a second or more."""
N_OVERLONG: Final = 62
"""Packets of which more was captured than there was."""
N_TUNNELLED: Final = 63
"""Packets inside others, whose flow is the inner one."""
N_FRAGMENTS: Final = 64
"""Later fragments that were counted to the flow of their first."""
LANES: Final = 72
"""Four accumulators of the digest."""
STRIPE_BYTES: Final = 32
"""Bytes that they take at a time."""
N_EMPTY: Final = 76
"""Packets of no bytes, neither captured nor on the wire."""
N_ENDLESS: Final = 77
"""Packets longer on the wire than any can be, of which only what was captured counts."""
N_STATE: Final = 80
