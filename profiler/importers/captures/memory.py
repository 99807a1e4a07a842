"""The memory of the kernel: its tables, which grow before they are full, and the walk over them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.importers.captures import flow_words as columns
from profiler.importers.captures import layout
from profiler.importers.captures.interface_words import INTERFACE_WORDS
from profiler.importers.captures.machine_code import load_kernel
from profiler.importers.captures.opcodes import opcode_table

__all__ = ["KernelMemory"]

MOST_FLOWS: Final = 1 << 19
"""Flows that are told apart, 128 bytes each and 256 more of RDMA: 200 MiB at the most."""
_ROWS: Final = 1 << 14
"""Packets that are walked in one call: each may close a bin."""
_STRANGERS: Final = 1 << 10
_FIRST_FLOWS: Final = 1 << 15
"""Twice what is walked in one call, so that a call is cut short by none but the first packet of very many flows."""
_SLOTS_PER_FLOW: Final = 2
"""So that the hash table is at most half full."""


class KernelMemory:
    """What the kernel works on; see `profiler.importers.captures.layout`.

    Parameters
    ----------
    bin_ns
        Width of a bin.
    with_columns
        Whether to keep a row a packet.
    most_flows
        Flows that are told apart; packets of further ones count under flow 0.
    """

    def __init__(self, bin_ns: int, *, with_columns: bool = False, most_flows: int = MOST_FLOWS) -> None:
        self.state: NDArray[np.int64] = np.zeros(layout.N_STATE, dtype=np.int64)
        self._enter = load_kernel()
        self._kept: dict[int, NDArray[np.int64]] = {}
        self.state[layout.BIN_NS], self.state[layout.MOST_FLOWS] = bin_ns, most_flows
        self.state[layout.FIRST_NS], self.state[layout.LAST_NS] = np.iinfo(np.int64).max, layout.UNTIMED
        self.state[layout.N_FLOWS] = self.state[layout.N_RDMA] = 1
        self._flows = self._put(layout.FLOWS_AT, _zeros(_FIRST_FLOWS, columns.FLOW_WORDS))
        self._flows[0, columns.FIRST] = np.iinfo(np.int64).max
        self._flows[0, [columns.LAST, columns.BIN]] = layout.UNTIMED
        self._rdma = self._put(layout.RDMA_AT, _zeros(_FIRST_FLOWS, columns.RDMA_WORDS))
        self._put(layout.SLOTS_AT, np.zeros(_SLOTS_PER_FLOW * _FIRST_FLOWS, dtype=np.int64))
        self.state[layout.SLOT_MASK] = _SLOTS_PER_FLOW * _FIRST_FLOWS - 1
        self._bins = _Output(self._put(layout.ROWS_AT, _zeros(2 * _ROWS, columns.ROW_WORDS)), layout.N_ROWS)
        self._strangers = self._put(layout.STRANGERS_AT, _zeros(_STRANGERS, columns.STRANGER_WORDS))
        self.state[layout.MOST_STRANGERS] = _STRANGERS
        self._fragments = self._put(layout.FRAGMENTS_AT, _zeros(columns.FRAGMENT_SLOTS, columns.FRAGMENT_WORDS))
        self._put(layout.OPCODES_AT, opcode_table())
        packets = self._put(layout.COLUMNS_AT, _zeros(2 * _ROWS if with_columns else 0, columns.PACKET_WORDS))
        self._columns = _Output(packets, layout.N_COLUMNS)
        self.state[layout.N_COLUMNS] = 0 if with_columns else -1

    @property
    def flows(self) -> NDArray[np.int64]:
        """Flows so far, shape (n_flows, FLOW_WORDS); flow 0 is of packets beyond the most."""
        return self._flows[: self.state[layout.N_FLOWS]]

    @property
    def rdma(self) -> NDArray[np.int64]:
        """What flows of RDMA have beside, shape (n_rdma, RDMA_WORDS)."""
        return self._rdma[: self.state[layout.N_RDMA]]

    def set_interfaces(self, interfaces: NDArray[np.int64], n_interfaces: int) -> None:
        """Tell the interfaces of a section, shape (n_most, INTERFACE_WORDS), and how many of them are described."""
        self._put(layout.INTERFACES_AT, interfaces.reshape(-1, INTERFACE_WORDS))
        self.state[layout.N_INTERFACES] = n_interfaces

    def walk(self, data: NDArray[np.uint8], start: int, *, stop: int) -> tuple[int, int]:
        """Take packets from one place to another; return where that ended, and the status that tells why.

        The kernel stops with status ``FULL`` before one of the tables is, and strangers of the walk before are gone.
        """
        state = self.state
        state[layout.N_STRANGERS] = 0
        self._grow()
        self._spill()
        state[layout.BUDGET] = self._budget()
        at = self._enter(data.ctypes.data, state.ctypes.data, start, stop)
        return at, int(state[layout.STATUS])

    def count_keyed(self, row: NDArray[np.int64]) -> None:
        """Count a packet that the kernel put aside, by the key in its row."""
        self._count(row, layout.KEYED, 0, 0)

    def count_inner(self, row: NDArray[np.int64], data: NDArray[np.uint8], *, at: int) -> None:
        """Count a packet that the kernel put aside, by the IP packet inside it, which starts at a place."""
        self._count(row, layout.INNER, data.ctypes.data, at)

    def first_fragment(self, datagram: int, t_ns: int) -> NDArray[np.int64] | None:
        """Return the key of a datagram whose first fragment was seen, None if it was not."""
        row = self._fragments[datagram & (columns.FRAGMENT_SLOTS - 1)]
        is_it = row[0] == datagram and abs(t_ns - int(row[1])) <= columns.FRAGMENT_LIFETIME_NS
        return row[2:] if is_it else None

    def close_bins(self) -> None:
        """Close the bins that are open, to be taken."""
        flows = self.flows
        numbers = np.flatnonzero(flows[:, columns.BIN] != layout.UNTIMED)
        self._bins.put_aside(np.column_stack((numbers, flows[numbers][:, columns.BIN : columns.BIN_PACKETS + 1])))
        flows[numbers, columns.BIN] = layout.UNTIMED

    def take_bins(self) -> NDArray[np.int64]:
        """Return the bins that closed since they were last taken, shape (n_rows, ROW_WORDS)."""
        return self._bins.take(self.state)

    def strangers(self) -> NDArray[np.int64]:
        """Return the packets of the last walk that the kernel does not know, shape (n, STRANGER_WORDS); a view."""
        return self._strangers[: self.state[layout.N_STRANGERS]]

    def take_columns(self) -> NDArray[np.int64]:
        """Return a row for each packet since they were last taken, shape (n_packets, PACKET_WORDS)."""
        return self._columns.take(self.state)

    def _count(self, row: NDArray[np.int64], how: int, data: int, at: int) -> None:
        state, n_words = self.state, columns.N_STRANGE
        kept, kept_format = state[layout.START : layout.KEY].copy(), int(state[layout.FORMAT])
        self._grow()
        self._spill()
        state[layout.START : layout.START + n_words] = row[:n_words]
        state[layout.KEY : layout.KEY + layout.N_KEY] = row[n_words:]
        state[layout.TUNNELS], state[layout.FORMAT] = 0, how
        self._enter(data, state.ctypes.data, at, 0)
        state[layout.START : layout.KEY], state[layout.FORMAT] = kept, kept_format

    def _budget(self) -> int:
        """Return how many packets there is room for, if each were a new flow and closed a bin."""
        free = len(self._flows) - int(self.state[layout.N_FLOWS])
        return _ROWS if len(self._flows) >= self.state[layout.MOST_FLOWS] else min(free, _ROWS)

    def _spill(self) -> None:
        for table in (self._bins, self._columns):
            table.spill(self.state)

    def _grow(self) -> None:
        """Double the table of flows when the next call might fill it."""
        n_flows = int(self.state[layout.N_FLOWS])
        if 4 * n_flows <= 3 * len(self._flows) or len(self._flows) >= self.state[layout.MOST_FLOWS]:
            return
        n_most = 2 * len(self._flows)
        flows = _zeros(n_most, columns.FLOW_WORDS)
        flows[:n_flows] = self._flows[:n_flows]
        self._flows = self._put(layout.FLOWS_AT, flows)
        rdma = _zeros(n_most, columns.RDMA_WORDS)
        rdma[: self.state[layout.N_RDMA]] = self.rdma
        self._rdma = self._put(layout.RDMA_AT, rdma)
        self._put(layout.SLOTS_AT, np.zeros(_SLOTS_PER_FLOW * n_most, dtype=np.int64))
        self.state[layout.SLOT_MASK] = _SLOTS_PER_FLOW * n_most - 1
        kept = int(self.state[layout.FORMAT])
        self.state[layout.FORMAT] = layout.PLACING
        self._enter(0, self.state.ctypes.data, 0, 0)
        self.state[layout.FORMAT] = kept

    def _put(self, word: int, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tell the kernel where a table is: as many words from its state on as lie between."""
        self._kept[word] = table
        self.state[word] = (table.ctypes.data - self.state.ctypes.data) // table.itemsize
        return table


class _Output:
    """Rows that the kernel fills; moved aside while there is room for those of one more walk."""

    def __init__(self, table: NDArray[np.int64], count: int) -> None:
        self._table = table
        self._count = count
        self._aside: list[NDArray[np.int64]] = []

    def spill(self, state: NDArray[np.int64]) -> None:
        if state[self._count] >= _ROWS:
            self._aside.append(self._table[: state[self._count]].copy())
            state[self._count] = 0

    def put_aside(self, rows: NDArray[np.int64]) -> None:
        self._aside.append(rows)

    def take(self, state: NDArray[np.int64]) -> NDArray[np.int64]:
        n_rows = max(0, int(state[self._count]))
        state[self._count] = min(0, int(state[self._count]))
        rows = np.concatenate((*self._aside, self._table[:n_rows]))
        self._aside = []
        return rows


def _zeros(n_rows: int, n_words: int) -> NDArray[np.int64]:
    return np.zeros((n_rows, n_words), dtype=np.int64)
