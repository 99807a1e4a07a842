"""Whether a lake is whole: every file that counts is there, unchanged, in order, and contradicts no other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from profiler.store.manifest import Manifest

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from profiler.store.lake import Lake
    from profiler.store.segments import Segment

__all__ = ["LakeCheck", "check_lake"]

_READ_BYTES: Final = 1 << 20
_LISTED: Final = 20


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
        What is no fault: files that wait to be swept, readings that two inputs give differently.
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
    """Read every file of a lake and compare it with the manifest.

    Parameters
    ----------
    lake
        What to check.
    advance
        Called with the bytes of each file.

    Raises
    ------
    LakeError
        If the manifest itself is damaged.
    """
    with Manifest(lake.root, mode="ro") as manifest:
        entries, unlisted = manifest.entries(), manifest.unlisted()
    problems: list[str] = []
    for entry in entries:
        problems += _problems(lake.root / entry.path, entry)
        advance(entry.n_bytes)
    broken = {problem.partition(": ")[0] for problem in problems}
    sound = [entry for entry in entries if entry.table == "samples" and str(lake.root / entry.path) not in broken]
    known = {entry.path for entry in entries} | unlisted
    strays = [path for path in _parquet_files(lake.root) if path not in known]
    problems += [f"{lake.root / path}: not in the manifest; no part of the lake, delete it" for path in strays]
    return LakeCheck(
        n_files=len(entries),
        n_rows=sum(entry.n_rows for entry in entries),
        n_bytes=sum(entry.n_bytes for entry in entries),
        problems=tuple(problems),
        notes=(*_waiting(unlisted), *_contradictions(lake.root, sound)),
    )


def _problems(path: Path, entry: Segment) -> Iterator[str]:
    restore = "restore it from a copy, or make the lake again from its inputs"
    try:
        digest = _sha256(path)
        with pq.ParquetFile(path) as file:
            n_rows = file.metadata.num_rows
            unsorted = entry.table == "samples" and not _is_sorted(file)
    except (OSError, pa.ArrowInvalid) as error:
        yield f"{path}: cannot be read ({str(error).splitlines()[0]}); {restore}"
        return
    if digest != entry.sha256:
        yield f"{path}: changed since it was sealed (its SHA-256 differs); {restore}"
    elif n_rows != entry.n_rows:
        yield f"{path}: {n_rows} rows, {entry.n_rows} in the manifest; {restore}"
    elif unsorted:
        yield f"{path}: not in order of series and time; {restore}"


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_sorted(file: pq.ParquetFile) -> bool:
    last = (0, np.iinfo(np.int64).min)
    for batch in file.iter_batches(columns=["series_id", "t_ns"]):
        series, t_ns = batch["series_id"].to_numpy(), batch["t_ns"].to_numpy()
        if not series.size:
            continue
        if (int(series[0]), int(t_ns[0])) < last or not _in_order(series, t_ns):
            return False
        last = (int(series[-1]), int(t_ns[-1]))
    return True


def _in_order(series: NDArray[np.uint64], t_ns: NDArray[np.int64]) -> bool:
    is_same = series[1:] == series[:-1]
    return bool(np.all((series[1:] > series[:-1]) | (is_same & (t_ns[1:] >= t_ns[:-1]))))


def _parquet_files(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*.parquet")):
        yield str(path.relative_to(root))


def _waiting(unlisted: set[str]) -> list[str]:
    return [f"{len(unlisted)} files do not count: being written, or waiting to be swept"] if unlisted else []


def _contradictions(root: Path, entries: Sequence[Segment]) -> list[str]:
    """Return which files of one time hold other values of a series; of a counter the last reading then counts."""
    notes: list[str] = []
    ordered = sorted(entries, key=lambda entry: entry.t_first_ns or 0)
    for i, entry in enumerate(ordered):
        for other in ordered[i + 1 :]:
            if (other.t_first_ns or 0) > (entry.t_last_ns or 0):
                break
            n_rows = _n_contradictions(root / entry.path, root / other.path)
            if n_rows and len(notes) < _LISTED:
                notes.append(f"{root / entry.path} and {other.path}: {n_rows} readings of one time that differ")
    return notes


def _n_contradictions(one: Path, other: Path) -> int:
    rows = [pq.read_table(path, columns=["series_id", "t_ns", "value"], partitioning=None) for path in (one, other)]
    joined = rows[0].join(rows[1], keys=["series_id", "t_ns"], right_suffix="_other", join_type="inner")
    return int(np.count_nonzero(joined["value"].to_numpy() != joined["value_other"].to_numpy()))
