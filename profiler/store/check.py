"""Whether a lake is whole: every file that counts is there, unchanged, in order, and contradicts no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from profiler.errors import OffbeatError
from profiler.schema import TABLES
from profiler.store.manifest import Manifest
from profiler.store.overlaps import Overlap, find_overlaps
from profiler.store.recording import file_digest
from profiler.store.segments import final_path
from profiler.store.spans import Spans, read_keys

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from profiler.store.lake import Lake
    from profiler.store.segments import Segment

__all__ = ["LakeCheck", "check_lake"]

_LISTED: Final = 20
"""Overlaps told one by one; of the rest only how many."""
_RESTORE: Final = "restore it from a copy, or make the lake again from its inputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeCheck:
    """What was found.

    Parameters
    ----------
    n_files, n_rows, n_bytes
        What counts, and was checked.
    problems
        What is wrong: file, what, what to do. A lake with any is not whole.
    notes
        What is no fault: files that wait to be swept, readings that two files hold.
    """

    n_files: int
    n_rows: int
    n_bytes: int
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "lake_check", "version": 1, "is_whole": not self.problems, **asdict(self)}


def check_lake(lake: Lake, *, advance: Callable[[int], object] = int) -> LakeCheck:
    """Read every file of a lake and compare it with the manifest; others may write the lake meanwhile.

    Parameters
    ----------
    lake
        What to check.
    advance
        Called with the bytes of each file.

    Raises
    ------
    LakeError
        If the manifest itself cannot be read.
    """
    with Manifest(lake.root, mode="ro") as manifest:
        damages, entries, known = manifest.damages(), manifest.entries(), manifest.not_counting()
    faults, spans = _read_all(lake.root, entries, advance=advance)
    known.update(entry.path for entry in entries)
    strays = {path: name for path, name in _files(lake.root) if name not in known}
    with Manifest(lake.root, mode="ro") as manifest:  # what was sealed or replaced while the files were read
        counting, others = {entry.path for entry in manifest.entries()}, manifest.not_counting()
    known = counting | others
    problems = [f"{lake.root / path}: {fault}" for path, fault in faults.items() if path in counting]
    problems += [
        f"{path}: not in the manifest; no part of the lake, delete it"
        for path, name in strays.items()
        if name not in known and path.exists()
    ]
    return LakeCheck(
        n_files=len(entries),
        n_rows=sum(entry.n_rows for entry in entries),
        n_bytes=sum(entry.n_bytes for entry in entries),
        problems=(*damages, *problems),
        notes=(*_waiting(others), *_told(find_overlaps(spans))),
    )


def _read_all(
    root: Path, entries: Iterable[Segment], *, advance: Callable[[int], object]
) -> tuple[dict[str, str], dict[Path, Spans]]:
    """Return what is wrong with files, and what the sound ones of samples cover."""
    faults: dict[str, str] = {}
    spans: dict[Path, Spans] = {}
    for entry in entries:
        try:
            found = _fault(root / entry.path, entry) or _spans(root / entry.path, entry)
        except (OffbeatError, OSError, pa.ArrowException) as error:
            found = f"cannot be read ({str(error).splitlines()[0]}); {_RESTORE}"
        if isinstance(found, str):
            faults[entry.path] = found
        elif entry.table == "samples":
            spans[root / entry.path] = found
        advance(entry.n_bytes)
    return faults, spans


def _fault(path: Path, entry: Segment) -> str | None:
    """Return how a file's bytes are not those that were sealed."""
    if not path.exists():
        return f"missing; {_RESTORE}"
    n_bytes = path.stat().st_size
    if n_bytes != entry.n_bytes:
        return f"{n_bytes} bytes, {entry.n_bytes} in the manifest; {_RESTORE}"
    if file_digest(path) != entry.sha256:
        return f"changed since it was sealed (its SHA-256 differs); {_RESTORE}"
    return None


def _spans(path: Path, entry: Segment) -> Spans | str:
    """Return what each series of a file covers, or how the file is not what the manifest says."""
    with pq.ParquetFile(path) as file:
        n_rows = file.metadata.num_rows
        if n_rows != entry.n_rows:
            return f"{n_rows} rows, {entry.n_rows} in the manifest; {_RESTORE}"
        parts = [Spans.of_rows(np.empty(0, np.uint64), np.empty(0, np.int64))]
        last = (0, np.iinfo(np.int64).min)
        for series, t_ns in read_keys(file) if entry.table == "samples" else ():
            if (int(series[0]), int(t_ns[0])) < last or not _in_order(series, t_ns):
                return f"not in order of series and time; {_RESTORE}"
            parts.append(Spans.of_rows(series, t_ns))
            last = (int(series[-1]), int(t_ns[-1]))
    return Spans.joined(parts)


def _in_order(series: NDArray[np.uint64], t_ns: NDArray[np.int64]) -> bool:
    is_same = series[1:] == series[:-1]
    return bool(np.all((series[1:] > series[:-1]) | (is_same & (t_ns[1:] >= t_ns[:-1]))))


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield all files in the folders of tables, and the names that the manifest would have them by."""
    for table in sorted(TABLES):
        for path in sorted((root / table).rglob("*")):
            if path.is_file():
                yield path, str(final_path(path).relative_to(root))


def _waiting(paths: set[str]) -> list[str]:
    return [f"{len(paths)} files do not count: being written, or waiting to be swept"] if paths else []


def _told(overlaps: Iterable[Overlap]) -> list[str]:
    """Return which files hold readings of one series and time; of a counter the last reading then counts."""
    found = list(overlaps)
    notes = [
        f"{overlap.one} and {overlap.other}: {overlap.n_same} readings stand in both, "
        f"{overlap.n_differing} readings of one time that differ"
        for overlap in found[:_LISTED]
    ]
    return [*notes, f"and {len(found) - _LISTED} more pairs of files"] if len(found) > _LISTED else notes
