"""Small recordings with known contents, for the tests of the lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiler.store import Recording, Series, recording_id

if TYPE_CHECKING:
    from profiler.store import Lake

__all__ = ["T0_NS", "port", "recording", "row", "write"]

T0_NS = 1_796_000_000_000_000_000


def recording(name: str = "a") -> Recording:
    key = recording_id(name, parser="test", parser_version=1)
    return Recording(recording_id=key, source=f"{name}.csv", format="table", parameters={"interval_s": 0.001})


def port(device: str = "eth0", *, host: str = "h1") -> Series:
    return Series(host=host, device=device, direction="transmit", layer="netdev", raw_name="tx_bytes")


def write(lake: Lake, name: str, values: list[int], *, device: str = "eth0") -> int:
    """Write values a millisecond apart as one complete recording; return the series."""
    with lake.writer(recording(name)) as writer:
        series_id = writer.add_series(port(device))
        writer.write_samples(series_id, T0_NS + np.arange(len(values)) * 1_000_000, values)
    return series_id


def row(lake: Lake, name: str) -> dict[str, object]:
    """Return the row of a recording."""
    rows = {entry["recording_id"]: entry for entry in lake.read("recordings").to_pylist()}
    found: dict[str, object] = rows[recording(name).recording_id]
    return found
