"""Keys of flows as addresses and ports, and as rows of table ``flows``."""

from __future__ import annotations

import hashlib
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from profiler.importers.captures.packets import DST, OTHER, PLACE, SRC, TRANSPORT
from profiler.schema import arrow_schema

if TYPE_CHECKING:
    from profiler.importers.captures.flows import FlowTable

__all__ = ["FlowName", "flow_rows", "read_name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowName:
    """What a flow's key says; None where the packets do not tell."""

    interface: int
    src: str | None
    dst: str | None
    proto: int | None
    sport: int | None
    dport: int | None
    qp: int | None


def read_name(key: NDArray[np.uint64]) -> FlowName:
    """Return what a key says, shape (N_WORDS,)."""
    words = [int(word) for word in key]
    interface, queue_pair = words[PLACE] >> 32, words[PLACE] & 0xFFFF_FFFF
    version, proto = words[TRANSPORT] >> 40, words[TRANSPORT] >> 32 & 0xFF
    if version == OTHER:
        return FlowName(interface=interface, src=None, dst=None, proto=None, sport=None, dport=None, qp=None)
    make = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    sport, dport = words[TRANSPORT] >> 16 & 0xFFFF, words[TRANSPORT] & 0xFFFF
    return FlowName(
        interface=interface,
        src=str(make(words[SRC] << 64 | words[SRC + 1])),
        dst=str(make(words[DST] << 64 | words[DST + 1])),
        proto=proto,
        sport=sport or None,
        dport=dport or None,
        qp=queue_pair - 1 if queue_pair else None,
    )


def flow_rows(table: FlowTable, *, points: list[str]) -> pa.Table:
    """Return every flow as a row of table ``flows``; what it moved is in its identity, so that none replaces another.

    Parameters
    ----------
    table
        The flows.
    points
        Where each interface of the capture stands; makes the same flow at two places two flows.
    """
    names = [read_name(key) for key in table.keys]
    counts = table.counts
    shown = np.flatnonzero(counts.n_packets)
    columns: dict[str, list[str | int | None]] = {}
    for field in ("src", "dst", "sport", "dport", "proto", "qp"):
        columns[field] = [getattr(names[i], field) for i in shown]
    columns["first_ns"] = [int(counts.first_ns[i]) if counts.is_timed[i] else None for i in shown]
    columns["last_ns"] = [int(counts.last_ns[i]) if counts.is_timed[i] else None for i in shown]
    columns["bytes"] = counts.n_bytes[shown].tolist()
    columns["packets"] = counts.n_packets[shown].tolist()
    places = [points[names[i].interface] for i in shown]
    columns["flow_id"] = [_flow_id(row) for row in zip(places, *columns.values(), strict=True)]
    return pa.table(columns, schema=arrow_schema("flows"))


def _flow_id(row: tuple[str | int | None, ...]) -> int:
    return int.from_bytes(hashlib.sha256("|".join(map(str, row)).encode()).digest()[:8], "big")
