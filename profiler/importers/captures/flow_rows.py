"""The kernel's flows as rows of table ``flows``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from profiler.importers.captures import flow_words as columns
from profiler.importers.captures.layout import N_KEY, UNTIMED
from profiler.importers.captures.names import read_name
from profiler.importers.captures.opcodes import CLASSES
from profiler.schema import arrow_schema
from profiler.store.arrays import column_of_numbers, column_of_values

if TYPE_CHECKING:
    from profiler.importers.captures.memory import KernelMemory

__all__ = ["flow_rows"]

_ROWS_AT_ONCE: Final = 1 << 12
"""Flows made into rows at once: each is a dozen objects until it is one."""

_NAMED: Final = ("src", "dst", "proto", "sport", "dport", "qp")
"""Columns that `names.FlowName` tells, in its order."""
_IDENTIFYING: Final = ("first_ns", "last_ns", "bytes", "packets")
_COUNTS: Final = {
    "first_ns": columns.FIRST,
    "last_ns": columns.LAST,
    "bytes": columns.BYTES,
    "packets": columns.PACKETS,
    "payload_bytes": columns.PAYLOAD_BYTES,
}
_RDMA_COUNTS: Final = {f"{name}_packets": i for i, name in enumerate(CLASSES) if name != "other"} | {
    "read_bytes": columns.READ_BYTES,
    "repeated_packets": columns.REPEATED,
}


def flow_rows(memory: KernelMemory, *, points: list[str]) -> Iterator[pa.Table]:
    """Yield every flow as a row of table ``flows``; what it moved is in its identity, so that none replaces another.

    Parameters
    ----------
    memory
        The flows.
    points
        Where each interface of the capture stands; makes the same flow at two places two flows.
    """
    shown = np.flatnonzero(memory.flows[:, columns.PACKETS])
    for start in range(0, max(1, shown.size), _ROWS_AT_ONCE):
        yield _rows(memory, shown[start : start + _ROWS_AT_ONCE], points)


def _rows(memory: KernelMemory, numbers: NDArray[np.intp], points: list[str]) -> pa.Table:
    flows, schema = memory.flows[numbers], arrow_schema("flows")
    names = [read_name(key) for key in flows[:, :N_KEY]]
    is_timed = flows[:, columns.LAST] != UNTIMED
    counted = {name: flows[:, at] for name, at in _COUNTS.items()}
    known = {"first_ns": is_timed, "last_ns": is_timed}
    of_rdma = flows[:, columns.RDMA]
    for name, at in _RDMA_COUNTS.items():
        counted[name], known[name] = memory.rdma[of_rdma, at], of_rdma != 0
    arrays = {
        name: column_of_numbers(values, schema.field(name).type, is_known=known.get(name))
        for name, values in counted.items()
    }
    for i, field in enumerate(_NAMED, start=1):
        arrays[field] = column_of_values([name[i] for name in names], schema.field(field).type)
    places = [points[name.interface] for name in names]
    arrays["point"] = column_of_values(places, pa.string())
    moved = zip(*(arrays[name].to_pylist() for name in _IDENTIFYING), strict=True)
    rows = zip(places, (name[1:] for name in names), moved, strict=True)
    flow_ids = [_flow_id((point, *name, *counts)) for point, name, counts in rows]
    arrays["flow_id"] = column_of_values(flow_ids, pa.uint64())
    return pa.Table.from_arrays([arrays[field.name] for field in schema], schema=schema)


def _flow_id(row: tuple[str | int | None, ...]) -> int:
    return int.from_bytes(hashlib.sha256("|".join(map(str, row)).encode()).digest()[:8], "big")
