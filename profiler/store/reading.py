"""Sealed files as they are read: a file of this machine or an object of a bucket, whole or only what is asked for."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from profiler.errors import LakeError
from profiler.store.remote.address import RemotePath
from profiler.store.remote.faults import explained, is_of_bucket, told
from profiler.store.remote.filesystems import IO_THREADS, filesystem

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow.compute as pc
    import pyarrow.dataset as ds

__all__ = [
    "RESTORE_OBJECT",
    "Segments",
    "listed",
    "map_files",
    "parquet_file",
    "read_segments",
    "read_sound",
    "restoring",
    "sizes_of",
    "unreadable",
]

_Result = TypeVar("_Result")

RESTORE_OBJECT: Final = "copy it there again (offbeat lake LAKE --push ADDRESS), or make the lake again from its inputs"
"""What to do about an object that is not what was sealed."""
_RESTORE: Final = "restore it from a copy, or make the lake again from its inputs"


def read_segments(paths: Sequence[Path], schema: pa.Schema, **options: Any) -> pa.Table:  # noqa: ANN401
    """Read files in order as one table; a column that a file of an older Offbeat lacks is null.

    Of objects in a bucket several are read at a time, and of each only the columns and row groups that are asked for.

    Parameters
    ----------
    paths
        What to read.
    schema
        Of the table.
    **options
        ``columns`` and ``filters``, as of `pyarrow.parquet.read_table`.

    Raises
    ------
    LakeError
        If a file that the manifest names is missing or damaged.
    """
    return pa.concat_tables(
        [_empty(schema, **options), *map_files(lambda path: _read_sealed(path, schema, **options), paths)]
    )


class Segments:
    """Files that are read several times, each time a part: the footer of each is read once.

    Parameters
    ----------
    paths
        What to read, in order.
    schema
        Of the table.
    """

    def __init__(self, paths: Sequence[Path], schema: pa.Schema) -> None:
        import pyarrow.dataset as ds  # takes as long to import as a command may take in all

        self._paths = paths
        self._schema = schema
        self._dataset: ds.FileSystemDataset | None = None
        if paths and not any(isinstance(path, RemotePath) for path in paths):
            form, disk = ds.ParquetFileFormat(), pyarrow.fs.LocalFileSystem()
            fragments = [form.make_fragment(os.fspath(path.absolute()), filesystem=disk) for path in paths]
            self._dataset = ds.FileSystemDataset(fragments, schema, form, disk)

    def read(self, *, columns: list[str], filters: pc.Expression) -> pa.Table:
        """Return some rows of some columns, as `read_segments` does, with what it raises."""
        if self._dataset is None:
            return read_segments(self._paths, self._schema, columns=columns, filters=filters)
        try:
            rows = self._dataset.to_table(columns=columns, filter=filters, fragment_readahead=1)
            return rows.cast(_empty(self._schema, columns=columns).schema)
        except (OSError, pa.ArrowException):
            # One file at a time tells which of them it is.
            return read_segments(self._paths, self._schema, columns=columns, filters=filters)


def read_sound(paths: Sequence[Path], schema: pa.Schema, **options: Any) -> tuple[pa.Table, dict[Path, str]]:  # noqa: ANN401
    """Return the rows of those files that can be read, and why each of the others cannot, and what to do.

    The arguments are those of `read_segments`.
    """
    lost: dict[Path, str] = {}

    def read(path: Path) -> pa.Table:
        try:
            return _read_sealed(path, schema, **options)
        except LakeError as error:
            lost[path] = str(error).removeprefix(f"{path}: ")
            return _empty(schema, **options)

    return pa.concat_tables([_empty(schema, **options), *map_files(read, paths)]), lost


@contextmanager
def parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a file of which to read the footer, or rows some at a time.

    Raises
    ------
    OSError, pyarrow.ArrowException
        If it is missing or damaged.
    """
    if not isinstance(path, RemotePath):
        with pq.ParquetFile(path) as file:
            yield file
        return
    with path.open_file() as stream, pq.ParquetFile(stream, pre_buffer=True) as file:
        yield file


def sizes_of(paths: Collection[Path]) -> dict[Path, int]:
    """Return the size of each file that is there, in bytes; of those in a bucket by listing their folders.

    Raises
    ------
    LakeError
        If a bucket does not tell.
    """
    sizes: dict[Path, int] = {}
    remote = sorted(path for path in paths if isinstance(path, RemotePath))
    for path in paths:
        if not isinstance(path, RemotePath) and (size := _size(path)) is not None:
            sizes[path] = size
    for folder, members in groupby(remote, key=_table_folder):
        found = {path: path.n_bytes for path in listed(folder)}
        sizes.update((path, size) for path in members if (size := found.get(path)) is not None)
    return sizes


def listed(folder: RemotePath) -> list[RemotePath]:
    """Return the objects below a folder of a bucket, and their sizes.

    Raises
    ------
    LakeError
        If the bucket does not tell.
    """
    selector = pyarrow.fs.FileSelector(folder.inside, recursive=True, allow_not_found=True)
    with explained(folder):
        found = filesystem(folder.bucket).get_file_info(selector)
    start = len(folder.bucket.name) + 1
    is_file = pyarrow.fs.FileType.File
    return [RemotePath(folder.bucket, info.path[start:], info.size) for info in found if info.type is is_file]


def map_files(function: Callable[[Path], _Result], paths: Sequence[Path]) -> Iterable[_Result]:
    """Yield what a function returns of each file, in order; of objects in a bucket, many are read at a time.

    A bucket takes tens of milliseconds to answer, however many ask it.
    """
    if not any(isinstance(path, RemotePath) for path in paths):
        yield from map(function, paths)
        return
    with ThreadPoolExecutor(IO_THREADS) as pool:
        yield from pool.map(function, paths)


def restoring(path: Path) -> str:
    """Return what to do about a file that is not what was sealed."""
    return RESTORE_OBJECT if isinstance(path, RemotePath) else _RESTORE


def unreadable(error: OSError | pa.ArrowException, path: Path) -> str:
    """Return why a sealed file is not read, and what to do about it; without its path."""
    if isinstance(error, PermissionError):
        return f"may not be read ({os.strerror(errno.EACCES)}); run as a user who may, or change its permissions"
    if is_of_bucket(error):
        return f"cannot be read: {told(error)}"
    number = errno.ENOENT if isinstance(error, FileNotFoundError) else getattr(error, "errno", None)
    return f"cannot be read ({os.strerror(number) if number else str(error).splitlines()[0]}); {restoring(path)}"


def _empty(schema: pa.Schema, **options: Any) -> pa.Table:  # noqa: ANN401
    return schema.empty_table().select(options.get("columns") or schema.names)


def _read_sealed(path: Path, schema: pa.Schema, **options: Any) -> pa.Table:  # noqa: ANN401
    try:
        return _read(path, schema, **options).cast(_empty(schema, **options).schema)
    except (OSError, pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise LakeError(f"{path}: the manifest names it, but it {unreadable(error, path)}") from error


def _read(path: Path, schema: pa.Schema, **options: Any) -> pa.Table:  # noqa: ANN401
    if not isinstance(path, RemotePath):
        return pq.read_table(path, partitioning=None, schema=schema, **options)
    import pyarrow.dataset as ds  # takes as long to import as a command may take in all

    fragment = ds.ParquetFileFormat().make_fragment(
        path.inside, filesystem=filesystem(path.bucket), file_size=path.n_bytes
    )
    return fragment.to_table(schema=schema, columns=options.get("columns"), filter=options.get("filters"))


def _table_folder(path: RemotePath) -> RemotePath:
    """Return the folder of a table, whose files may be in folders of their day below it."""
    folder = path.key.rpartition("/")[0]
    above, _, last = folder.rpartition("/")
    return RemotePath(path.bucket, above if last.startswith("date=") else folder)


def _size(path: Any) -> int | None:  # noqa: ANN401
    try:
        size: int = path.stat().st_size
    except OSError:  # deleted meanwhile, or in a folder that is not ours to look into
        return None
    return size
