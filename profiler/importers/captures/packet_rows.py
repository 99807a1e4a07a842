"""`write_packets`: a capture as a Parquet file with a row a packet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from profiler.errors import BadInput
from profiler.importers.captures.layout import N_KEY, UNTIMED
from profiler.importers.captures.memory import KernelMemory
from profiler.importers.captures.names import read_name
from profiler.importers.captures.opcodes import CLASSES, opcode_table
from profiler.importers.captures.packet_files import DIGEST_KEY
from profiler.importers.captures.strangers import Strangers
from profiler.importers.captures.walks import Walk

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from profiler.importers.captures.names import FlowName
    from profiler.importers.captures.window import ByteWindow

__all__ = ["PACKET_SCHEMA", "write_packets"]

_GROUP_ROWS: Final = 1 << 19
"""Packets of one row group: some 40 MB until they are encoded."""

_BIN_NS: Final = 1_000_000_000
"""Bins are counted and dropped."""

PACKET_SCHEMA: Final = pa.schema(
    [
        pa.field("number", pa.int64()),
        pa.field("t_ns", pa.int64()),
        pa.field("wire_bytes", pa.int64()),
        pa.field("captured_bytes", pa.int64()),
        pa.field("payload_bytes", pa.int64()),
        pa.field("src", pa.string()),
        pa.field("dst", pa.string()),
        pa.field("sport", pa.int32()),
        pa.field("dport", pa.int32()),
        pa.field("proto", pa.int16()),
        pa.field("qp", pa.int32()),
        pa.field("opcode", pa.int16()),
        pa.field("operation", pa.string()),
        pa.field("psn", pa.int32()),
    ]
)
"""Place in the capture from 1 on; UTC epoch ns; bytes on the wire, captured, and inside the innermost headers; the
flow; of RDMA the opcode, its class and the packet sequence number. Null where a packet does not tell."""

_NUMBER, _TIME, _WIRE, _CAPTURED, _FLOW, _OPCODE, _PSN, _PAYLOAD = range(8)


def write_packets(window: ByteWindow, path: Path, *, digest: str = "") -> int:
    """Write a row for every sound packet of a capture; return how many there were.

    A fragment that came before the first one of its datagram stands where that came; elsewhere rows are in order.

    Parameters
    ----------
    window
        The capture.
    path
        The file to write; it must not be there.
    digest
        Of the capture, to be told by the file; see `profiler.importers.captures.packet_files`.

    Raises
    ------
    BadInput
        If the file is there or cannot be written, or what is read is no capture. Damage behind the first packet is
        no error: `profiler.importers.captures.reader` tells of it.
    """
    schema = PACKET_SCHEMA.with_metadata({DIGEST_KEY: digest.encode()})
    try:
        with path.open("xb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
            return _write(window, writer)
    except FileExistsError as error:
        raise BadInput(f"{path}: exists; name another folder for packets, or remove it") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}; name another folder") from error
    except (BadInput, KeyboardInterrupt):
        path.unlink(missing_ok=True)
        raise


def _write(window: ByteWindow, writer: pq.ParquetWriter) -> int:
    memory = KernelMemory(_BIN_NS, with_columns=True)
    strangers, rows = Strangers(memory), _Rows(memory, writer)
    try:
        for _ in Walk(window, memory).steps():
            strangers.take(window.data)
            rows.take()
    except BadInput:
        if not rows.n_packets:
            raise
    strangers.finish()
    rows.take()
    rows.flush()
    return rows.n_packets


class _Rows:
    """Packets that wait until there are enough of them for a row group."""

    def __init__(self, memory: KernelMemory, writer: pq.ParquetWriter) -> None:
        self.n_packets = 0
        self._memory = memory
        self._writer = writer
        self._parts: list[NDArray[np.int64]] = []
        self._n_waiting = 0
        self._names: list[FlowName] = []

    def take(self) -> None:
        """Take the packets of the last step."""
        self._memory.take_bins()
        rows = self._memory.take_columns()
        self.n_packets += len(rows)
        self._n_waiting += len(rows)
        self._parts.append(rows)
        if self._n_waiting >= _GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the packets that wait."""
        if not self._n_waiting:
            return
        rows = np.concatenate(self._parts)
        self._parts, self._n_waiting = [], 0
        self._names += [read_name(flow[:N_KEY]) for flow in self._memory.flows[len(self._names) :]]
        self._writer.write_table(_table(rows[np.argsort(rows[:, _NUMBER], kind="stable")], self._names))


def _table(rows: NDArray[np.int64], names: list[FlowName]) -> pa.Table:
    flow = pa.array(rows[:, _FLOW])
    is_rdma = rows[:, _OPCODE] >= 0
    classes = opcode_table()[rows[:, _OPCODE]] & 0xFF
    columns = {
        "number": pa.array(rows[:, _NUMBER]),
        "t_ns": pa.array(rows[:, _TIME], mask=rows[:, _TIME] == UNTIMED),
        "wire_bytes": pa.array(rows[:, _WIRE]),
        "captured_bytes": pa.array(rows[:, _CAPTURED]),
        "payload_bytes": pa.array(rows[:, _PAYLOAD]),
        "opcode": pa.array(rows[:, _OPCODE], mask=~is_rdma).cast(pa.int16()),
        "psn": pa.array(rows[:, _PSN], mask=~is_rdma).cast(pa.int32()),
        "operation": pa.array(CLASSES).take(pa.array(classes, mask=~is_rdma)),
    }
    for name in ("src", "dst", "sport", "dport", "proto", "qp"):
        kind = PACKET_SCHEMA.field(name).type
        columns[name] = pa.array([getattr(found, name) for found in names], type=kind).take(flow)
    return pa.table([columns[name] for name in PACKET_SCHEMA.names], schema=PACKET_SCHEMA)
