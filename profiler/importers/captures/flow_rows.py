"""The kernel's flows as rows of table ``flows``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from profiler.importers.captures import flow_words as columns
from profiler.importers.captures.layout import N_KEY, UNTIMED
from profiler.importers.captures.names import read_name
from profiler.importers.captures.opcodes import CLASSES
from profiler.schema import arrow_schema
from profiler.store.arrays import column_of_values

if TYPE_CHECKING:
    from profiler.importers.captures.memory import KernelMemory

__all__ = ["flow_rows"]

_ROWS_AT_ONCE: Final = 1 << 14
"""Flows made into rows at once: each is a dozen objects until it is one."""

_NAMED: Final = ("src", "dst", "sport", "dport", "proto", "qp")
_TEXTS: Final = ("src", "dst")
_COUNTED: Final = ("send", "write", "read_request", "read_response", "ack", "atomic", "cnp")


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
    flows = memory.flows[numbers]
    names = [read_name(key) for key in flows[:, :N_KEY]]
    found: dict[str, list[Any]] = {field: [getattr(name, field) for name in names] for field in _NAMED}
    is_timed = flows[:, columns.LAST] != UNTIMED
    found["first_ns"], found["last_ns"] = (_where(flows[:, at], is_timed) for at in (columns.FIRST, columns.LAST))
    found["bytes"], found["packets"] = flows[:, columns.BYTES].tolist(), flows[:, columns.PACKETS].tolist()
    places = [points[name.interface] for name in names]
    flow_ids = [_flow_id(row) for row in zip(places, *found.values(), strict=True)]
    found["payload_bytes"] = flows[:, columns.PAYLOAD_BYTES].tolist()
    found |= _rdma_columns(memory.rdma[flows[:, columns.RDMA]], flows[:, columns.RDMA] != 0)
    schema = arrow_schema("flows")
    found["flow_id"] = flow_ids
    arrays = [column_of_values(found[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _rdma_columns(rdma: NDArray[np.int64], is_rdma: NDArray[np.bool_]) -> dict[str, list[Any]]:
    found = {f"{name}_packets": _where(rdma[:, CLASSES.index(name)], is_rdma) for name in _COUNTED}
    found["read_bytes"] = _where(rdma[:, columns.READ_BYTES], is_rdma)
    found["repeated_packets"] = _where(rdma[:, columns.REPEATED], is_rdma)
    return found


def _where(values: NDArray[np.int64], is_told: NDArray[np.bool_]) -> list[int | None]:
    return [value if told else None for value, told in zip(values.tolist(), is_told.tolist(), strict=True)]


def _flow_id(row: tuple[str | int | None, ...]) -> int:
    return int.from_bytes(hashlib.sha256("|".join(map(str, row)).encode()).digest()[:8], "big")
