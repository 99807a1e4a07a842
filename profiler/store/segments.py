"""Parquet files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from profiler.errors import LakeError
from profiler.schema import TABLES, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from _typeshed import ReadableBuffer

__all__ = [
    "ROW_GROUP_ROWS",
    "Segment",
    "final_path",
    "remedy",
    "temporary_path",
    "write_segment",
]

ROW_GROUP_ROWS: Final = 122_880
"""DuckDB's own row-group size: one row group is one unit of its parallel scan."""

_WRITE_BYTES: Final = 1 << 20
"""Bytes handed to Python at a time: each time the sealing thread waits for its turn among the others."""

_REMEDIES: Final = {
    errno.ENOSPC: "free some space and run again; what was sealed before is kept",
    errno.EDQUOT: "free some space and run again; what was sealed before is kept",
    errno.EROFS: "choose a lake elsewhere",
    errno.EACCES: "change its permissions or choose a lake elsewhere",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A sealed file, not yet in the manifest; ``path`` is relative to the lake."""

    path: str
    table: str
    n_rows: int
    n_bytes: int
    t_first_ns: int | None = None
    t_last_ns: int | None = None
    sha256: str = ""


def write_segment(
    root: Path,
    segment_path: str,
    pieces: Iterable[pa.Table],
    *,
    table: str,
    t_range_ns: tuple[int, int] | None = None,
) -> Segment:
    """Write rows to a Parquet file that survives a power cut once this returns.

    Parameters
    ----------
    root, segment_path
        The lake's folder, and the file's place in it.
    pieces
        Rows, in the table's schema; each piece starts a row group.
    table
        Table of the lake.
    t_range_ns
        First and last time, UTC epoch ns, for the manifest.

    Raises
    ------
    LakeError
        If the disk is full or the folder cannot be written.
    """
    path = root / segment_path
    temporary = temporary_path(path)
    try:
        _make_folder(path.parent)
        with temporary.open("wb") as file:
            stream = _DigestingStream(file)
            n_rows = _encode(pieces, table, stream)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise LakeError(f"{path}: {error.strerror}; {remedy(error)}") from error
    first_ns, last_ns = t_range_ns or (None, None)
    return Segment(
        path=segment_path,
        table=table,
        n_rows=n_rows,
        n_bytes=stream.n_bytes,
        t_first_ns=first_ns,
        t_last_ns=last_ns,
        sha256=stream.sha256,
    )


def temporary_path(path: Path) -> Path:
    """Return the name that a file has while it is being written."""
    return path.with_name(f".{path.name}.tmp")


def final_path(path: Path) -> Path:
    """Return the name that a file being written will have; other names are returned as they are."""
    is_temporary = path.name.startswith(".") and path.name.endswith(".tmp")
    return path.with_name(path.name[1:-4]) if is_temporary else path


def remedy(error: OSError) -> str:
    """Return what to do about a failed write."""
    return _REMEDIES.get(error.errno or 0, "check the folder and its file system")


class _DigestingStream(io.RawIOBase):
    """Writes to a file, and knows the digest of what it wrote; Parquet files are written from start to end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.n_bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        self._digest.update(data)
        written = self._file.write(data)
        self.n_bytes += written
        return written

    def tell(self) -> int:
        return self.n_bytes

    @property
    def sha256(self) -> str:
        """SHA-256 of what was written, in hexadecimal digits."""
        return self._digest.hexdigest()


def _encode(pieces: Iterable[pa.Table], table: str, stream: _DigestingStream) -> int:
    schema = arrow_schema(table)
    integers = [field.name for field in schema if pa.types.is_integer(field.type)]
    key = [pq.SortingColumn(schema.get_field_index(name)) for name in TABLES[table].key]
    n_rows = 0
    with (
        pa.BufferedOutputStream(pa.PythonFile(stream, "w"), _WRITE_BYTES) as sink,
        pq.ParquetWriter(
            sink,
            schema,
            compression="zstd",
            use_dictionary=[name for name in schema.names if name not in integers],
            column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
            write_statistics=list(TABLES[table].key),  # what readers prune by; the rest costs a tenth of the time
            sorting_columns=key if table == "samples" else None,
        ) as writer,
    ):
        for piece in pieces:
            writer.write_table(piece, row_group_size=ROW_GROUP_ROWS)
            n_rows += piece.num_rows
    return n_rows


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
