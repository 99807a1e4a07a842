"""Packets to flows: a hash table of keys with what each flow moved, and when."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.importers.captures.packets import N_WORDS
from profiler.importers.captures.records import TIME, UNTIMED, WIRE

__all__ = ["FlowCounts", "FlowTable"]

MOST_FLOWS: Final = 1 << 20
"""Flows that are told apart; packets of further ones count under flow 0."""

_FIRST, _LAST, _BYTES, _PACKETS, _N_COUNTS = 0, 1, 2, 3, 4
_LATEST: Final = (1 << 63) - 1


class _Arrays(NamedTuple):
    """The table, as kernels take it; ``slots`` holds numbers of flows, 0 where free, and is at most half full."""

    slots: NDArray[np.int64]
    keys: NDArray[np.uint64]
    counts: NDArray[np.int64]


class FlowTable:
    """Every flow of a capture. Flow 0 is for packets of flows beyond the first million."""

    def __init__(self) -> None:
        self.n_flows = 1
        self._arrays = _new_arrays(1 << 12)

    def add(self, records: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Count packets to their flows; return the number of the flow of each."""
        flows = np.empty(len(records), dtype=np.int64)
        i_packet = 0
        while True:
            self.n_flows, i_packet = _count(self._arrays, records, keys, flows, self.n_flows, i_packet)
            if i_packet == len(records):
                return flows
            self._grow()

    @property
    def keys(self) -> NDArray[np.uint64]:
        """Key of each flow, shape (n_flows, N_WORDS)."""
        return self._arrays.keys[: self.n_flows]

    @property
    def counts(self) -> FlowCounts:
        """What each flow moved."""
        counts = self._arrays.counts[: self.n_flows]
        return FlowCounts(
            first_ns=counts[:, _FIRST],
            last_ns=counts[:, _LAST],
            is_timed=counts[:, _FIRST] != _LATEST,
            n_bytes=counts[:, _BYTES],
            n_packets=counts[:, _PACKETS],
        )

    def _grow(self) -> None:
        old = self._arrays
        self._arrays = _new_arrays(2 * len(old.slots))
        self._arrays.keys[: self.n_flows] = old.keys[: self.n_flows]
        self._arrays.counts[: self.n_flows] = old.counts[: self.n_flows]
        _fill_slots(self._arrays, self.n_flows)


class FlowCounts(NamedTuple):
    """Columns of shape (n_flows,); ``first_ns`` and ``last_ns`` mean nothing where ``is_timed`` is False."""

    first_ns: NDArray[np.int64]
    last_ns: NDArray[np.int64]
    is_timed: NDArray[np.bool_]
    n_bytes: NDArray[np.int64]
    n_packets: NDArray[np.int64]


def _new_arrays(n_slots: int) -> _Arrays:
    counts = np.zeros((n_slots // 2, _N_COUNTS), dtype=np.int64)
    counts[:, _FIRST], counts[:, _LAST] = _LATEST, UNTIMED
    return _Arrays(
        slots=np.zeros(n_slots, dtype=np.int64),
        keys=np.zeros((n_slots // 2, N_WORDS), dtype=np.uint64),
        counts=counts,
    )


@njit(cache=True, nogil=True)
def _hash(key: NDArray[np.uint64]) -> np.uint64:
    """Mix all bits of a key: keys of one rack differ in a few bits, and a weak mixer would make long chains of them."""
    mixed = np.uint64(0x243F6A8885A308D3)
    for word in range(N_WORDS):
        mixed = (mixed ^ key[word]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed ^ (mixed >> np.uint64(32))


@njit(cache=True, nogil=True)
def _slot_of(arrays: _Arrays, key: NDArray[np.uint64]) -> np.int64:
    """Return the slot that holds a key, or the free one where it belongs."""
    mask = arrays.slots.size - 1
    slot = np.int64(_hash(key) & np.uint64(mask))
    while arrays.slots[slot]:
        held = arrays.keys[arrays.slots[slot]]
        same = True
        for word in range(N_WORDS):
            same = same and held[word] == key[word]
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _fill_slots(arrays: _Arrays, n_flows: int) -> None:
    for flow in range(1, n_flows):
        arrays.slots[_slot_of(arrays, arrays.keys[flow])] = flow


@njit(cache=True, nogil=True)
def _count(
    arrays: _Arrays,
    records: NDArray[np.int64],
    keys: NDArray[np.uint64],
    flows: NDArray[np.int64],
    n_flows: int,
    i_packet: int,
) -> tuple[int, int]:
    """Count packets from one on; return the number of flows, and the packet at which the table is full."""
    while i_packet < records.shape[0]:
        slot = _slot_of(arrays, keys[i_packet])
        flow = arrays.slots[slot]
        if flow == 0 and n_flows < MOST_FLOWS:
            if n_flows == arrays.keys.shape[0]:
                break
            flow = n_flows
            arrays.slots[slot] = flow
            arrays.keys[flow] = keys[i_packet]
            n_flows += 1
        counts = arrays.counts[flow]
        counts[_BYTES] += records[i_packet, WIRE]
        counts[_PACKETS] += 1
        t_ns = records[i_packet, TIME]
        if t_ns != UNTIMED:
            counts[_FIRST] = min(counts[_FIRST], t_ns)
            counts[_LAST] = max(counts[_LAST], t_ns)
        flows[i_packet] = flow
        i_packet += 1
    return n_flows, i_packet
