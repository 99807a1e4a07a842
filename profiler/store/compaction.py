"""Small sample files to large ones: a lake that was filled bit by bit reads as fast as one that was filled at once."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from profiler.schema import arrow_schema
from profiler.store.locks import RecordingLock
from profiler.store.manifest import Manifest
from profiler.store.recording import Recording, recording_id
from profiler.store.segments import ROW_GROUP_ROWS, Segment, read_segments, write_segment
from profiler.store.spans import Spans, read_keys

if TYPE_CHECKING:
    from profiler.store.lake import Lake

__all__ = ["Compaction", "compact"]

TARGET_BYTES: Final = 256 << 20
"""Size of a compacted file, between the 128 and 512 MB at which scans of object stores and of disks are fastest."""
_BLOCK_ROWS: Final = 8 * ROW_GROUP_ROWS
"""Samples in memory at a time: 35 MB, and as much again while they are sorted."""
_LOCK: Final = hashlib.sha256(b"compaction").hexdigest()
_FORMAT: Final = "compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """How many files became how many, with how many rows."""

    n_before: int
    n_after: int
    n_rows: int
    n_bytes: int


def compact(lake: Lake, *, target_bytes: int = TARGET_BYTES, advance: Callable[[int], object] = int) -> Compaction:
    """Merge the sample files of each day that are smaller than half of a target into files of about that size.

    Files of recordings that are being written, or were cut short, are left alone. Every row is kept. Readers see the
    old files or the new one; a kill leaves the old ones, and at most a file that is swept later.

    Parameters
    ----------
    lake
        What to compact; recordings may be written meanwhile.
    target_bytes
        Size of the merged files.
    advance
        Called with the bytes of the files merged in each step.

    Raises
    ------
    LakeError
        If another process compacts it, a file is damaged, the disk is full or the folder read-only.
    """
    n_before = n_after = n_rows = n_bytes = 0
    lock = RecordingLock(lake.root, _LOCK)
    try:
        with Manifest(lake.root, mode="rw") as manifest:
            for group in _groups(manifest.settled("samples"), target_bytes):
                merged = _merge(lake.root, manifest, group)
                if merged is None:
                    continue
                n_before, n_after = n_before + len(group), n_after + 1
                n_rows, n_bytes = n_rows + merged.n_rows, n_bytes + merged.n_bytes
                advance(_n_bytes(group))
    finally:
        lock.release()
    return Compaction(n_before=n_before, n_after=n_after, n_rows=n_rows, n_bytes=n_bytes)


def _groups(segments: Sequence[Segment], target_bytes: int) -> Iterator[list[Segment]]:
    """Yield files of one day, in order of time, that make about one file of the target, from half of it to twice."""
    days: dict[str, list[Segment]] = {}
    for segment in segments:
        if segment.n_bytes < target_bytes // 2:
            days.setdefault(PurePosixPath(segment.path).parent.name, []).append(segment)
    for _, small in sorted(days.items()):
        groups: list[list[Segment]] = [[]]
        for segment in sorted(small, key=lambda one: (one.t_first_ns or 0, one.path)):
            if _n_bytes(groups[-1]) + segment.n_bytes > target_bytes:
                groups.append([])
            groups[-1].append(segment)
        if len(groups) > 1 and _n_bytes(groups[-1]) < target_bytes // 2:
            rest = groups.pop()
            groups[-1] += rest
        yield from (group for group in groups if len(group) > 1)


def _n_bytes(segments: Sequence[Segment]) -> int:
    return sum(segment.n_bytes for segment in segments)


def _merge(root: Path, manifest: Manifest, group: Sequence[Segment]) -> Segment | None:
    """Write one file in the place of several; None if one of them was replaced meanwhile."""
    paths = [segment.path for segment in group]
    key = recording_id("+".join(sorted(paths)), parser=_FORMAT, parser_version=1)
    first_ns = min(segment.t_first_ns or 0 for segment in group)
    last_ns = max(segment.t_last_ns or 0 for segment in group)
    path = f"{PurePosixPath(paths[0]).parent}/merged-{first_ns}-{key[:16]}.parquet"
    manifest.announce([path])
    segment = write_segment(
        root, path, _pieces([root / one for one in paths]), table="samples", t_range_ns=(first_ns, last_ns)
    )
    row: dict[str, Any] = Recording(
        recording_id=key, source=f"{len(group)} files of {PurePosixPath(path).parent.name}", format=_FORMAT
    ).to_row()
    return segment if manifest.compact(paths, segment, row=row) else None


def _pieces(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield the rows of files in order of series and time, a row group at a time."""
    for chosen in _blocks(paths):
        rows = read_segments(paths, arrow_schema("samples"), filters=chosen)
        rows = rows.sort_by([("series_id", "ascending"), ("t_ns", "ascending")])
        for start in range(0, rows.num_rows, ROW_GROUP_ROWS):
            yield rows.slice(start, ROW_GROUP_ROWS).combine_chunks()


def _blocks(paths: Sequence[Path]) -> Iterator[pc.Expression]:
    """Yield which rows belong to each block of about `_BLOCK_ROWS`, in order of series and time."""
    runs = Spans.listed([run for path in paths for run in _runs(path)])
    order = np.lexsort((runs.first_ns, runs.series_id))
    block = (np.cumsum(runs.n_rows[order]) - 1) // _BLOCK_ROWS
    firsts = order[np.flatnonzero(np.diff(block, prepend=-1))]
    # Rows that other files have of the time at a cut go with the block after it.
    cuts = [(int(runs.series_id[i]), int(runs.first_ns[i])) for i in firsts]
    for start, stop in itertools.pairwise(cuts):
        yield _from(start) & _before(stop)
    yield _from(cuts[-1])


def _runs(path: Path) -> Iterator[Spans]:
    """Yield what consecutive rows of a file cover, some ten thousand at a time."""
    with pq.ParquetFile(path) as file:
        for series_id, t_ns in read_keys(file):
            yield Spans.of_rows(series_id, t_ns)


def _from(key: tuple[int, int]) -> pc.Expression:
    """Return whether a row is of a series and time or after it in their order."""
    series, t_ns = pc.field("series_id"), pc.field("t_ns")
    series_id = pa.scalar(key[0], pa.uint64())
    return (series > series_id) | ((series == series_id) & (t_ns >= key[1]))


def _before(key: tuple[int, int]) -> pc.Expression:
    series, t_ns = pc.field("series_id"), pc.field("t_ns")
    series_id = pa.scalar(key[0], pa.uint64())
    return (series < series_id) | ((series == series_id) & (t_ns < key[1]))
