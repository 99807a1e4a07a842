"""Whether sealed files are as they were sealed: their bytes, the number of their rows and the order of these."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profiler.schema import arrow_schema
from profiler.store.reading import parquet_file, read_segments, restoring, unreadable
from profiler.store.remote.address import located
from profiler.store.rows import last_of_each_key
from profiler.store.spans import Spans, read_keys

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from profiler.store.segments import Segment

__all__ = ["Examined", "adding_series", "examine", "fault_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examined:
    """What was found of some files; every one is in exactly one of the three.

    Parameters
    ----------
    spans
        What the sound ones cover; of files of other tables than samples, nothing.
    faults
        How a file is not what was sealed, and what to do, by its path in the lake.
    unread
        Why a file may not be read, by its path in the lake; it may be sound.
    """

    spans: dict[Path, Spans] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)


def examine(root: Path, entries: Iterable[Segment], *, advance: Callable[[int], object] = int) -> Examined:
    """Read files whole and compare them with what the manifest says of them.

    Parameters
    ----------
    root
        Folder of the lake.
    entries
        The files, as they were sealed.
    advance
        Called with the bytes of each file.
    """
    found = Examined()
    for entry in entries:
        path = located(root, entry.path, n_bytes=entry.n_bytes)
        try:
            seen = fault_of(path, entry) or _spans(path, entry)
        except PermissionError as error:
            found.unread[entry.path] = unreadable(error, path)
        except (OSError, pa.ArrowException) as error:
            found.faults[entry.path] = unreadable(error, path)
        else:
            if isinstance(seen, str):
                found.faults[entry.path] = seen
            else:
                found.spans[path] = seen
        advance(entry.n_bytes)
    return found


def fault_of(path: Path, entry: Segment) -> str | None:
    """Return how a file's bytes are not those that were sealed, and what to do; None if they are.

    Raises
    ------
    OSError
        If the file is there and cannot be read.
    """
    try:
        n_bytes = path.stat().st_size
    except FileNotFoundError:
        return f"missing; {restoring(path)}"
    if n_bytes != entry.n_bytes:
        return f"{n_bytes} bytes, {entry.n_bytes} in the manifest; {restoring(path)}"
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return None if digest == entry.sha256 else f"changed since it was sealed (its SHA-256 differs); {restoring(path)}"


def adding_series(paths: Sequence[Path]) -> frozenset[int]:
    """Return the series of which different readings of one time add up and contradict nothing; see `in_order`.

    Parameters
    ----------
    paths
        Sound files of table ``series``.
    """
    rows = last_of_each_key("series", read_segments(paths, arrow_schema("series")))
    return frozenset(rows.filter(pc.equal(rows["kind"], "delta"))["series_id"].to_pylist())


def _spans(path: Path, entry: Segment) -> Spans | str:
    """Return what each series of a file covers, or how the file is not what the manifest says."""
    with parquet_file(path) as file:
        n_rows = file.metadata.num_rows
        if n_rows != entry.n_rows:
            return f"{n_rows} rows, {entry.n_rows} in the manifest; {restoring(path)}"
        parts = [Spans.of_rows(np.empty(0, np.uint64), np.empty(0, np.int64))]
        last = (0, np.iinfo(np.int64).min)
        for series, t_ns in read_keys(file) if entry.table == "samples" else ():
            if (int(series[0]), int(t_ns[0])) < last or not _in_order(series, t_ns):
                return f"not in order of series and time; {restoring(path)}"
            parts.append(Spans.of_rows(series, t_ns))
            last = (int(series[-1]), int(t_ns[-1]))
    return Spans.joined(parts)


def _in_order(series: NDArray[np.uint64], t_ns: NDArray[np.int64]) -> bool:
    is_same = series[1:] == series[:-1]
    return bool(np.all((series[1:] > series[:-1]) | (is_same & (t_ns[1:] >= t_ns[:-1]))))
