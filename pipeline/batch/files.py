"""The sample files of a lake and the series that each holds, read from each file once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.batch.sealed import CHANGED
from profiler.errors import BadInput
from profiler.store import file_digest
from profiler.store.manifest import Manifest
from profiler.store.reading import map_files, parquet_file, sizes_of
from profiler.store.remote.faults import told

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.batch.work import Work
    from profiler.store import Lake
    from profiler.store.segments import Segment

__all__ = ["BrokenFile", "SampleFile", "changed_files", "read_sample_files"]

INDEX_NAME: Final = "samples.index"
_SCHEMA: Final = pa.schema([("sha256", pa.string()), ("series_id", pa.uint64()), ("n_rows", pa.int64())])


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFile:
    """A file of samples that counts, how many rows it has of each series, and its tag in a bucket, if that is known."""

    path: Path
    sha256: str
    first_ns: int
    last_ns: int
    n_rows: Mapping[int, int]
    tag: str | None = None

    def n_between(self, series_id: int, *, from_ns: int, to_ns: int) -> int:
        """Return about how many rows of a series lie in a range of time, as if they were evenly spread."""
        overlap_ns = min(to_ns, self.last_ns + 1) - max(from_ns, self.first_ns)
        n_rows = self.n_rows.get(series_id, 0)
        return n_rows * max(0, overlap_ns) // (self.last_ns + 1 - self.first_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenFile:
    """A file that the manifest names and that cannot be read, and why."""

    path: Path
    why: str


def read_sample_files(lake: Lake, work: Work) -> tuple[list[SampleFile], list[BrokenFile]]:
    """Return the files of table ``samples`` in the order of sealing, and those that cannot be read.

    What each holds is kept in the work folder, so that only new files are read.

    Raises
    ------
    LakeError
        If the manifest is damaged.
    """
    with Manifest(lake.root, mode="ro") as manifest:
        entries = [entry for entry in manifest.entries() if entry.table == "samples"]
        # Other processes may be in other folders.
        paths = [manifest.place(entry).absolute() for entry in entries]
        tags = manifest.tags()
    known = _read_index(work.folder / INDEX_NAME)
    sizes = sizes_of(paths)
    sound: list[SampleFile] = []
    broken: list[BrokenFile] = []

    entry_of = dict(zip(paths, entries, strict=True))

    def look(path: Path) -> SampleFile | BrokenFile:
        entry = entry_of[path]
        return _looked_at(entry, path, n_bytes=sizes.get(path), n_rows=known.get(entry.sha256))

    for entry, one in zip(entries, map_files(look, paths), strict=True):
        if isinstance(one, SampleFile):
            sound.append(replace(one, tag=tags.get(entry.path)))
        else:
            broken.append(one)
    if {one.sha256 for one in sound} != set(known):
        _write_index(work, sound)
    return sound, broken


def changed_files(files: Iterable[SampleFile], paths: Collection[Path]) -> list[BrokenFile]:
    """Return those of some files whose bytes are no more those that were sealed; they are read whole."""
    changed: list[BrokenFile] = []
    for file in files:
        if file.path in paths:
            try:
                is_changed = file_digest(file.path) != file.sha256
            except BadInput as error:
                changed.append(BrokenFile(path=file.path, why=str(error)))
                continue
            if is_changed:
                changed.append(BrokenFile(path=file.path, why=CHANGED))
    return changed


def _looked_at(
    entry: Segment, path: Path, *, n_bytes: int | None, n_rows: Mapping[int, int] | None
) -> SampleFile | BrokenFile:
    """Return what a file holds, or why that cannot be told; its rows are counted if that is not known."""
    try:
        n_bytes = path.stat().st_size if n_bytes is None else n_bytes
        if n_bytes != entry.n_bytes:
            return BrokenFile(path=path, why=f"{n_bytes} bytes, {entry.n_bytes} in the manifest")
        n_rows = _count_rows(path) if n_rows is None else n_rows
    except (OSError, pa.ArrowException) as error:
        return BrokenFile(path=path, why=getattr(error, "strerror", None) or told(error))
    first_ns, last_ns = entry.t_first_ns or 0, entry.t_last_ns or 0
    return SampleFile(path=path, sha256=entry.sha256, first_ns=first_ns, last_ns=last_ns, n_rows=n_rows)


def _count_rows(path: Path) -> dict[int, int]:
    """Return how many rows a file has of each series; a batch of rows is in memory at a time."""
    n_rows: dict[int, int] = {}
    with parquet_file(path) as file:
        for batch in file.iter_batches(columns=["series_id"]):
            counts = pc.value_counts(batch["series_id"])
            for series_id, n in zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True):
                n_rows[series_id] = n_rows.get(series_id, 0) + n
    return n_rows


def _read_index(path: Path) -> dict[str, dict[int, int]]:
    """Return the rows of each series by the digest of a file; nothing if the index is missing or torn."""
    try:
        table = pq.read_table(path, partitioning=None)
        digests, series = table["sha256"].combine_chunks(), table["series_id"].to_numpy()
        n_rows = table["n_rows"].to_numpy()
    except (OSError, pa.ArrowException, KeyError):
        return {}
    runs = pc.run_end_encode(digests)
    ends = np.asarray(runs.run_ends)
    starts = [0, *ends[:-1].tolist()] if len(ends) else []
    return {
        digest: dict(zip(series[start:end].tolist(), n_rows[start:end].tolist(), strict=True))
        for digest, start, end in zip(runs.values.to_pylist(), starts, ends.tolist(), strict=True)
    }


def _write_index(work: Work, files: Sequence[SampleFile]) -> None:
    def column(kind: pa.DataType, values: Iterable[object]) -> pa.Array:
        return pa.array(list(values), kind)

    table = pa.table(
        [
            column(pa.string(), (one.sha256 for one in files for _ in one.n_rows)),
            column(pa.uint64(), (series_id for one in files for series_id in one.n_rows)),
            column(pa.int64(), (n for one in files for n in one.n_rows.values())),
        ],
        schema=_SCHEMA,
    )
    work.replace(INDEX_NAME, lambda path: pq.write_table(table, path, compression="zstd"))
