"""Small sample files to large ones: a lake that was filled bit by bit reads as fast as one that was filled at once."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from profiler.errors import LakeError
from profiler.schema import arrow_schema
from profiler.store.hosts import MERGED_FILES
from profiler.store.locks import LakeLock
from profiler.store.manifest import MERGED, Manifest
from profiler.store.overlaps import find_overlaps
from profiler.store.reading import read_segments
from profiler.store.recording import Recording, recording_id
from profiler.store.sealer import SWEEP_AFTER_S
from profiler.store.segments import ROW_GROUP_ROWS, Segment, write_segment
from profiler.store.soundness import adding_series, examine
from profiler.store.spans import Spans, read_keys
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.store.lake import Lake

__all__ = ["Compaction", "compact"]

TARGET_BYTES: Final = 256 << 20
"""Size of a compacted file, between the 128 and 512 MB at which scans of object stores and of disks are fastest."""
_BLOCK_ROWS: Final = 8 * ROW_GROUP_ROWS
"""Samples in memory at a time: 35 MB, and as much again while they are sorted."""
_LOCK: Final = hashlib.sha256(b"compaction").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """How many files became how many, with how many rows, and which were left as they are because of what is wrong."""

    n_before: int
    n_after: int
    n_rows: int
    n_bytes: int
    problems: tuple[str, ...] = ()


def compact(lake: Lake, *, target_bytes: int = TARGET_BYTES, advance: Callable[[int], object] = int) -> Compaction:
    """Merge the sample files of each day that are smaller than half of a target into files of about that size.

    Files of recordings that are being written, or were cut short, are left alone. Every row is kept. Readers see the
    old files or the new one; a kill leaves the old ones, and at most a file that is swept later. What has not counted
    for longer than any reader needs it is deleted first.

    A file that is damaged or contradicts another is named and left as it is, as evidence; the others are merged.

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
        If another process compacts it, the disk is full or the folder read-only.
    UsageError
        If its readings are in a bucket.
    """
    n_before = n_after = n_rows = n_bytes = 0
    problems: list[str] = []
    root = lake.fillable()
    lock = LakeLock(root, _LOCK, work="compacting it")
    try:
        with Manifest(root, mode="rw") as manifest:
            manifest.sweep(before_ns=time.time_ns() - SWEEP_AFTER_S * NS_PER_S)
            adding = _adding(root, manifest)
            for group in _groups(manifest.settled("samples"), target_bytes):
                sound, faults = _told_apart(root, group, adding=adding)
                problems += faults
                merged = _merge(root, manifest, sound) if len(sound) > 1 else None
                advance(_n_bytes(group))
                if merged is None:
                    continue
                n_before, n_after = n_before + len(sound), n_after + 1
                n_rows, n_bytes = n_rows + merged.n_rows, n_bytes + merged.n_bytes
    finally:
        lock.release()
    return Compaction(n_before=n_before, n_after=n_after, n_rows=n_rows, n_bytes=n_bytes, problems=tuple(problems))


def _adding(root: Path, manifest: Manifest) -> frozenset[int]:
    """Return the series whose readings of one time add up, as far as sound files tell."""
    sound = examine(root, [entry for entry in manifest.entries() if entry.table == "series"]).spans
    return adding_series([path for path in manifest.files("series") if path in sound])


def _told_apart(root: Path, group: Sequence[Segment], *, adding: frozenset[int]) -> tuple[list[Segment], list[str]]:
    """Return the files to merge, and what is wrong with the others: merged, it would have a sound hash."""
    found = examine(root, group)
    problems = [f"{root / path}: {fault}" for path, fault in (found.faults | found.unread).items()]
    left: set[Path] = set()
    for overlap in find_overlaps(found.spans, adding=adding):
        if overlap.n_differing and not left & {overlap.one, overlap.other}:
            left.add(overlap.other)
            problems.append(str(overlap))
    return [segment for segment in group if root / segment.path in found.spans.keys() - left], problems


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
    key = recording_id("+".join(sorted(paths)), parser=MERGED, parser_version=1)
    first_ns = min(segment.t_first_ns or 0 for segment in group)
    last_ns = max(segment.t_last_ns or 0 for segment in group)
    path = f"{PurePosixPath(paths[0]).parent}/{MERGED_FILES}-{first_ns}-{key[:16]}.parquet"
    manifest.announce([path])
    segment = write_segment(
        root, path, _pieces([root / one for one in paths]), table="samples", t_range_ns=(first_ns, last_ns)
    )
    n_rows = sum(one.n_rows for one in group)
    if segment.n_rows != n_rows:
        raise LakeError(f"{root / path}: {segment.n_rows} rows merged of {n_rows}; nothing was replaced, run --check")
    row: dict[str, Any] = Recording(
        recording_id=key, source=f"{len(group)} files of {PurePosixPath(path).parent.name}", format=MERGED
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
