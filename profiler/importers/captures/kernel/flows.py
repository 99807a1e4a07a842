"""Counting one packet to its flow and to the bin that is open: all that the walk does for every packet."""

from __future__ import annotations

import numpy as np

from profiler.importers.captures.flow_words import (
    BIN,
    BIN_BYTES,
    BIN_PACKETS,
    BYTES,
    FIRST,
    FLOW_WORDS,
    LAST,
    PACKET_WORDS,
    PACKETS,
    PAYLOAD_BYTES,
    RDMA,
    ROW_WORDS,
)
from profiler.importers.captures.kernel.compiling import Whole, Words, compiled
from profiler.importers.captures.kernel.mixing import mixed
from profiler.importers.captures.kernel.rdma import count_rdma
from profiler.importers.captures.layout import (
    BIN_NS,
    CAPTURED,
    COLUMNS_AT,
    FIRST_NS,
    FLOWS_AT,
    KEY,
    LAST_FLOW,
    LAST_NS,
    MOST_FLOWS,
    N_COLUMNS,
    N_FLOWS,
    N_KEY,
    N_PACKETS,
    N_RDMA,
    N_ROWS,
    N_TUNNELLED,
    N_UNTIMED,
    NUMBER,
    OPCODE,
    PAYLOAD,
    PSN,
    ROWS_AT,
    SLOT_MASK,
    SLOTS_AT,
    TIME,
    TUNNELS,
    UNTIMED,
    WIRE,
    WIRE_BYTES,
)

__all__ = ["count_packet", "place_flows"]

_LARGEST = (1 << 63) - 1


@compiled
def count_packet(words: Words) -> None:
    """Count the packet at hand."""
    number = _flow(words)
    flow = words[FLOWS_AT] + number * FLOW_WORDS
    n_bytes, t_ns = words[WIRE], words[TIME]
    words[N_PACKETS] += 1
    words[WIRE_BYTES] += n_bytes
    words[flow + BYTES] += n_bytes
    words[flow + PACKETS] += 1
    words[flow + PAYLOAD_BYTES] += words[PAYLOAD]
    if words[TUNNELS] > 1:
        words[N_TUNNELLED] += 1
    if t_ns == UNTIMED:
        words[N_UNTIMED] += 1
    else:
        words[FIRST_NS], words[LAST_NS] = min(words[FIRST_NS], t_ns), max(words[LAST_NS], t_ns)
        words[flow + FIRST], words[flow + LAST] = min(words[flow + FIRST], t_ns), max(words[flow + LAST], t_ns)
        _count_bin(words, flow, number)
    if words[OPCODE] >= 0 and number:
        if words[flow + RDMA] == 0:
            words[flow + RDMA] = words[N_RDMA]
            words[N_RDMA] += 1
        count_rdma(words, words[flow + RDMA])
    if words[N_COLUMNS] >= 0:
        _keep_columns(words, number)


@compiled
def place_flows(words: Words) -> None:
    """Put every flow into the hash table, which is empty."""
    for number in range(1, words[N_FLOWS]):
        slot = _slot(words, words[FLOWS_AT] + number * FLOW_WORDS)
        words[slot] = number


@compiled
def _flow(words: Words) -> Whole:
    """Return the number of the flow of the packet at hand: a new one if it is the first, 0 if there are too many."""
    last = words[LAST_FLOW]
    if _is_same(words, words[FLOWS_AT] + last * FLOW_WORDS, KEY) and last:
        return last
    slot = _slot(words, KEY)
    number = words[slot]
    if number == 0:
        number = words[N_FLOWS]
        if number >= words[MOST_FLOWS]:
            return np.int64(0)
        words[slot] = number
        flow = words[FLOWS_AT] + number * FLOW_WORDS
        for i in range(N_KEY):
            words[flow + i] = words[KEY + i]
        words[flow + FIRST], words[flow + LAST], words[flow + BIN] = _LARGEST, UNTIMED, UNTIMED
        words[N_FLOWS] += 1
    words[LAST_FLOW] = number
    return number


@compiled
def _slot(words: Words, key: Whole) -> Whole:
    """Return the slot that holds a key, or the free one where it belongs."""
    state = np.uint64(0x243F6A8885A308D3)
    for i in range(N_KEY):
        state = mixed(state, words[key + i])
    mask, slots = words[SLOT_MASK], words[SLOTS_AT]
    i_slot = np.int64(state >> np.uint64(16)) & mask
    while words[slots + i_slot]:
        if _is_same(words, words[FLOWS_AT] + words[slots + i_slot] * FLOW_WORDS, key):
            break
        i_slot = (i_slot + 1) & mask
    return slots + i_slot


@compiled
def _is_same(words: Words, a: Whole, b: Whole) -> bool:
    difference = np.int64(0)
    for i in range(N_KEY):
        difference |= words[a + i] ^ words[b + i]
    return bool(difference == 0)


@compiled
def _count_bin(words: Words, flow: Whole, number: Whole) -> None:
    bin_ns, i_bin = words[BIN_NS], words[flow + BIN]
    since_ns = words[TIME] - i_bin * bin_ns
    if i_bin == UNTIMED or since_ns < 0 or since_ns >= bin_ns:
        if i_bin != UNTIMED:
            row = words[ROWS_AT] + words[N_ROWS] * ROW_WORDS
            words[row], words[row + 1] = number, i_bin
            words[row + 2], words[row + 3] = words[flow + BIN_BYTES], words[flow + BIN_PACKETS]
            words[N_ROWS] += 1
        words[flow + BIN] = words[TIME] // bin_ns
        words[flow + BIN_BYTES], words[flow + BIN_PACKETS] = 0, 0
    words[flow + BIN_BYTES] += words[WIRE]
    words[flow + BIN_PACKETS] += 1


@compiled
def _keep_columns(words: Words, number: Whole) -> None:
    row = words[COLUMNS_AT] + words[N_COLUMNS] * PACKET_WORDS
    words[row], words[row + 1], words[row + 2] = words[NUMBER], words[TIME], words[WIRE]
    words[row + 3], words[row + 4] = words[CAPTURED], number
    words[row + 5], words[row + 6], words[row + 7] = words[OPCODE], words[PSN], words[PAYLOAD]
    words[N_COLUMNS] += 1
