"""Tables of counters written for a test, and what is read of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profiler.importers import read_counters

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store import Series

__all__ = ["LEAF", "PLAIN", "first", "read", "table"]

PLAIN = "t_ns,eth0.rx_bytes,eth0.tx_bytes\n1000,1,2\n2000,3,4\n3000,5,6\n"
"""A table that needs no mapping."""

LEAF = """host = { column = "switch" }
device = { column = "port" }
[time]
column = "when"
unit = "ms"
[[counter]]
column = "in"
direction = "in"
kind = "delta"
[[counter]]
column = "out"
direction = "out"
kind = "delta"
"""
"""A mapping of a long table of deltas."""


def table(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(path: Path, **told: Any) -> dict[tuple[str, str, str], tuple[list[int], list[int]]]:
    """Return times and values by host, device and direction; nothing may be wrong."""
    counters, problems = read_counters(path, **told)
    assert problems == []
    return {(s.host, s.device, s.direction): (t_ns.tolist(), value.tolist()) for s, t_ns, value, _ in counters}


def first(path: Path, **told: Any) -> tuple[Series, list[int], list[int]]:
    counters, problems = read_counters(path, **told)
    assert problems == []
    series, t_ns, value, _ = counters[0]
    return series, t_ns.tolist(), value.tolist()
