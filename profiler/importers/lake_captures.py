"""Captures of a lake as they are compared with another: which are of the same time, and where their bins are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from profiler.errors import LakeError
from profiler.importers.importer import Options
from profiler.importers.shared_bins import BinFiles
from profiler.importers.shared_flows import Captured
from profiler.schema import arrow_schema
from profiler.store.locks import LakeLock
from profiler.store.manifest import Manifest
from profiler.store.reading import read_segments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from profiler.importers.sink import MemorySink
    from profiler.store import Lake, LakeWriter, Recording

__all__ = [
    "CAPTURES",
    "captured",
    "captured_by",
    "captured_in_memory",
    "captures_near",
    "captures_of",
    "flows_of",
    "has_own_bins",
    "is_written",
    "parameters_of",
]

CAPTURES: Final = "capture"
"""Format of the recordings that hold packets."""


def captures_of(lake: Lake) -> list[dict[str, Any]]:
    """Return the recordings of a lake that hold packets, oldest first."""
    with Manifest(lake.root, mode="ro") as manifest:
        return [row for row in manifest.recordings() if row["format"] == CAPTURES]


def captures_near(lake: Lake, recording: Recording, *, span_ns: tuple[int, int] | None) -> list[dict[str, Any]]:
    """Return the other captures of a lake that may have packets of the same time."""
    found = [row for row in captures_of(lake) if row["recording_id"] != recording.recording_id]
    return [row for row in found if _may_meet(_span(lake, row), span_ns)]


def _span(lake: Lake, row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the time of a capture; None if it has none."""
    first_ns, last_ns = row["t_first_ns"], row["t_last_ns"]
    if first_ns is not None and (row["status"] == "ok" or lake.holds(row["recording_id"])):
        return first_ns, last_ns
    # Its samples are those of a compaction, or some of them were not written.
    told = Captured(flows_of(lake, row["recording_id"]), host=None).span_ns
    if told is None or first_ns is None:
        return told
    return min(first_ns, told[0]), max(last_ns, told[1])


def _may_meet(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one[0] <= other[1] and other[0] <= one[1]


def captured(lake: Lake, row: Mapping[str, Any], *, beside: Captured) -> Captured:
    """Return a capture of a lake, to be compared with another."""
    key = row["recording_id"]
    are_own, parameters = has_own_bins(lake, row), parameters_of(row)

    def find_bins() -> BinFiles | None:
        width_ns = _width_ns(parameters)
        if beside.bins is None or width_ns is None:
            return None
        paths = lake.files("samples", recording_id=key if are_own else None)
        series = read_segments(lake.files("series"), arrow_schema("series"))
        own = set(beside.bins.paths)
        return BinFiles(paths=tuple(path for path in paths if path not in own), width_ns=width_ns, series=series)

    return Captured(flows_of(lake, key), host=parameters.get("host"), find_bins=find_bins, are_own=are_own)


def flows_of(lake: Lake, recording_id: str) -> pa.Table:
    """Return the flows of a recording."""
    return read_segments(lake.files("flows", recording_id=recording_id), arrow_schema("flows"))


def captured_by(lake: Lake, writer: LakeWriter) -> Captured:
    """Return the capture that was written."""
    parameters = writer.recording.parameters

    def find_bins() -> BinFiles | None:
        width_ns, paths = _width_ns(parameters), tuple(writer.sealed("samples"))
        series = read_segments(lake.files("series"), arrow_schema("series"))
        return BinFiles(paths=paths, width_ns=width_ns, series=series) if paths and width_ns else None

    flows = read_segments(writer.sealed("flows"), arrow_schema("flows"))
    return Captured(flows, host=parameters.get("host"), find_bins=find_bins)


def captured_in_memory(read: MemorySink, recording: Recording) -> Captured:
    """Return the capture that was read without a lake."""

    def find_bins() -> BinFiles | None:
        counters, width_ns = read.counters(), _width_ns(recording.parameters)
        return BinFiles.in_memory(counters, width_ns=width_ns) if counters and width_ns else None

    return Captured(pa.concat_tables(read.flows), host=recording.parameters.get("host"), find_bins=find_bins)


def parameters_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a recording was read."""
    parameters: dict[str, Any] = json.loads(row["parameters"] or "{}")
    return parameters


def _width_ns(parameters: Mapping[str, Any]) -> int | None:
    width_s = parameters.get("bin_s")
    return None if width_s is None else Options(bin_s=width_s).bin_ns


def is_written(lake: Lake, row: Mapping[str, Any]) -> bool:
    """Return whether somebody writes a recording."""
    try:
        LakeLock(lake.root, row["recording_id"], work="replacing it").release()
    except LakeError:
        return True
    return False


def has_own_bins(lake: Lake, row: Mapping[str, Any]) -> bool:
    """Return whether the samples of a recording are not merged with others by compaction."""
    with Manifest(lake.root, mode="ro") as manifest:
        n_rows = manifest.n_rows_of("samples", row["recording_id"])
    if n_rows:
        return bool(n_rows == row["n_rows"])
    if row["n_rows"]:
        return False
    # Of a lake that was compacted and merged into this one it is only known that packets had times.
    return (
        not lake.holds(row["recording_id"]) or Captured(flows_of(lake, row["recording_id"]), host=None).span_ns is None
    )
