"""Importer of lakes: what `offbeat record` wrote elsewhere, or another lake, recording by recording."""

from __future__ import annotations

import itertools
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from profiler.errors import BadInput, LakeError
from profiler.importers.contents import kind_of
from profiler.importers.coverage import Coverage
from profiler.importers.importer import Importer, Options
from profiler.store import Lake, Recording, Series
from profiler.store.reading import parquet_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["RECORDER", "merge_recording", "recordings_of", "series_of"]

_SAMPLE_COLUMNS: Final = ("t_ns", "value", "window_ns", "flags", "epoch")


def merge_recording(lake: Lake, recording: Recording, *, sink: Sink, series: Mapping[int, Series]) -> Coverage:
    """Copy one recording to another lake.

    Raises
    ------
    BadInput
        If the recording is not finished where it comes from: after the copy, so that it is taken anew the next time; of
        a capture, of which nobody can tell which packets are there yet, before it.
    LakeError
        If a file of the lake is missing or damaged.
    """
    coverage = Coverage()
    is_whole = lake.holds(recording.recording_id)
    unfinished = (
        f"{lake.root}: recording {recording.recording_id[:12]} is still being written there, or its writer was killed"
    )
    if recording.format == "capture" and not is_whole:
        raise BadInput(f"{unfinished}: nothing of it was taken; ingest the capture itself, or this again once it ended")
    _copy_recording(lake, recording.recording_id, sink=sink, series=series, coverage=coverage)
    if not is_whole:
        raise BadInput(f"{unfinished}; its {coverage.n_samples} samples were copied; ingest again to complete it")
    return coverage


def recordings_of(lake: Lake) -> list[Recording]:
    """Return the recordings of a lake that hold anything, oldest first."""
    rows = lake.read("recordings").to_pylist()
    return [
        Recording(
            recording_id=row["recording_id"],
            source=row["source"],
            format=row["format"],
            parameters=json.loads(row["parameters"] or "{}"),
            anchor_wall_ns=row["anchor_wall_ns"],
            anchor_monotonic_ns=row["anchor_monotonic_ns"],
        )
        for row in rows
        if row["n_rows"] or row["status"] != "error"
    ]


def series_of(lake: Lake) -> dict[int, Series]:
    """Return every series of a lake by its identity."""
    names = [field.name for field in fields(Series)]
    return {row["series_id"]: Series(**{name: row[name] for name in names}) for row in lake.read("series").to_pylist()}


def _copy_recording(
    lake: Lake, recording_id: str, *, sink: Sink, series: Mapping[int, Series], coverage: Coverage
) -> None:
    """Copy the samples and flows of one recording to a sink, and note in the coverage what they are.

    Raises
    ------
    LakeError
        If a file of the lake is missing or damaged.
    """
    coverage.n_rows += 1
    for path in lake.files("samples", recording_id=recording_id):
        for batch in _batches(path):
            _copy_samples(batch, sink, series=series, coverage=coverage)
    for path in lake.files("flows", recording_id=recording_id):
        for batch in _batches(path):
            sink.write_flows(pa.Table.from_batches([batch]))


def _copy_samples(batch: pa.RecordBatch, sink: Sink, *, series: Mapping[int, Series], coverage: Coverage) -> None:
    owner = batch["series_id"].to_numpy()
    columns: dict[str, NDArray[Any]] = {name: batch[name].to_numpy() for name in _SAMPLE_COLUMNS}
    edges = [0, *(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), owner.size]
    for start, stop in itertools.pairwise(edges):
        if start == stop:
            continue
        series_id = int(owner[start])
        if series_id not in series:
            raise LakeError(f"series {series_id} has samples but no row in table series; make that lake again")
        sink.add_series(series[series_id])
        part = {name: column[start:stop] for name, column in columns.items()}
        sink.write_samples(series_id, part.pop("t_ns"), part.pop("value"), **part)
        coverage.n_read += stop - start
        coverage.n_samples += stop - start
    coverage.saw(columns["t_ns"])


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    try:
        with parquet_file(path) as file:
            yield from file.iter_batches()
    except (OSError, pa.ArrowInvalid) as error:
        raise LakeError(
            f"{path}: the lake names it, but it cannot be read ({error}); restore it from a copy"
        ) from error


def _read(source: Input, sink: Sink, options: Options) -> Coverage:  # noqa: ARG001 - as every importer
    if not source.is_lake:
        raise BadInput(
            f"{source.name}: one file of a lake, which does not say what its series are; give the lake's folder"
        )
    lake = Lake.open(source.path)
    series = series_of(lake)
    coverage = Coverage()
    for recording in recordings_of(lake):
        _copy_recording(lake, recording.recording_id, sink=sink, series=series, coverage=coverage)
    return coverage


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    if source.is_lake:
        return True
    if kind_of(head) != "Parquet":
        return False
    try:
        with pq.ParquetFile(source.path) as file:
            return b"offbeat_table" in (file.schema_arrow.metadata or {})
    except (OSError, pa.ArrowException, UnicodeDecodeError):  # whoever reads it will say what is wrong with it
        return False


def _parameters(options: Options) -> dict[str, Any]:  # noqa: ARG001 - as every importer
    return {}


RECORDER: Final = Importer(
    name="recorder",
    version=1,
    reads="lakes",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)
