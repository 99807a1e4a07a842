"""`open_lake`: a lake as a DuckDB database that can be read and nothing else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Self

import duckdb
import pyarrow as pa

from pipeline.sql.answer import Answer
from pipeline.sql.catalog import find_query
from pipeline.sql.faults import explained
from pipeline.sql.functions import make_kernels
from pipeline.sql.relations import Source, definitions, definitions_in, make_definitions, make_tables, missing_name
from pipeline.sql.statements import check_reads, split_statements
from pipeline.sql.worker import Worker
from profiler.errors import LakeError, UsageError
from profiler.schema import TABLES
from profiler.store import Lake
from profiler.store.lost import lost_among
from profiler.store.reading import sizes_of
from profiler.store.remote.address import RemotePath

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from pipeline.sql.objects import ObjectFiles
    from profiler.errors import OffbeatError

__all__ = ["MEMORY_LIMIT", "Database", "lake_sources", "open_lake"]

MEMORY_LIMIT: Final = "1GB"
"""What DuckDB may hold before it spills to the temporary folder."""

_SUSPECT_BYTES: Final = 1 << 28
"""Of files that are hashed to find the one that a query failed of: a second's reading; the last one read is first."""

_BATCH_ROWS: Final = 20_000
"""Rows that are drawn at a time: a few MB."""

FindLost = Callable[[Collection["Path"]], Mapping["Path", str]]
"""Returns which of some files are missing or damaged, and what to do."""

OnProgress = Callable[[float], None]
"""Called with the part of a query that is done, 0 to 1."""


class Database:
    """Read-only SQL over the lake's tables and the views and functions of ``queries``.

    The connection can read the files it is given and nothing else: no other file, no network, no extension, no
    setting. It is a context manager; closing it removes what it spilled. What memory does not hold is spilled to the
    folder of temporary files (``TMPDIR``).

    Parameters
    ----------
    sources
        Where each table's rows are.
    memory_limit
        As DuckDB reads it.
    threads
        Default: one a processor.
    find_lost
        Names the file where DuckDB fails without naming it; by default no file is named.
    is_checked
        Whether files that are lost were left out; if so, errors do not advise that.

    Raises
    ------
    LakeError
        If memory or the disk does not suffice. A file that is missing or is no Parquet is told by the statements that
        read its table.
    UsageError
        If the limit of memory is none.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        memory_limit: str = MEMORY_LIMIT,
        threads: int | None = None,
        find_lost: FindLost = lambda _paths: {},
        is_checked: bool = False,
    ) -> None:
        self._sources, self._find, self._is_checked = sources, find_lost, is_checked
        self._reader: pa.RecordBatchReader | None = None
        self._made = {name for name in definitions() if name in sources}
        with _memory_told(), ExitStack() as resources:
            spill = resources.enter_context(
                tempfile.TemporaryDirectory(prefix="offbeat-sql-", ignore_cleanup_errors=True)
            )
            self._connection = _connect(spill, memory_limit=memory_limit, threads=threads)
            resources.callback(self._connection.close)
            self._worker = Worker(self._connection)
            resources.callback(self._worker.close)
            self._objects = _register_objects(self._connection, sources)
            self._lost = make_tables(self._connection, sources, lost="leave out")
            make_kernels(self._connection)
            _lock(self._connection, sources)
            self._resources = resources.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and remove what it spilled to disk."""
        self._give_up()
        self._resources.close()

    def run(self, name: str, **parameters: Any) -> pa.Table:  # noqa: ANN401 - of each parameter's declared type
        """Run a named query and return its rows; a parameter that is not given has the value its header tells.

        Raises
        ------
        UsageError
            If there is no such query or parameter, or a value is not of the parameter's type.
        """
        return self.stream_query(name, parameters).read()

    def sql(self, statement: str) -> pa.Table:
        """Run one statement that reads: select, with, values, from, describe, summarize, show, explain.

        Raises
        ------
        UsageError
            If it is not one statement, does more than read, or is wrong; the message has DuckDB's own, with the place.
        LakeError
            If a file of the lake cannot be read, or memory does not suffice.
        """
        return self.stream(statement).read()

    def stream_query(
        self, name: str, parameters: Mapping[str, Any], *, on_progress: OnProgress | None = None
    ) -> Answer:
        """Run a named query; as `run`, but its rows are drawn one batch after the other."""
        query = find_query(name)
        values, read = query.values(parameters), definitions_in(query.text, made=self._made)
        return self._stream(query.text, values, read=read, on_progress=on_progress)

    def stream(self, statement: str, *, on_progress: OnProgress | None = None) -> Answer:
        """Run one statement; as `sql`, but its rows are drawn one batch after the other.

        Notes
        -----
        Errors can come while rows are drawn, and Ctrl-C ends the query then too. The next statement gives up an answer
        that was not read to its end.
        """
        check_reads(self._connection, statement)
        return self._stream(statement, {}, read=definitions().keys(), on_progress=on_progress)

    def split(self, text: str) -> list[str]:
        """Return the statements of a text, in order.

        Raises
        ------
        UsageError
            If it cannot be parsed.
        """
        return split_statements(self._connection, text)

    def _stream(
        self, statement: str, values: Mapping[str, Any], *, read: Set[str], on_progress: OnProgress | None
    ) -> Answer:
        def begin() -> pa.RecordBatchReader:
            self._begin_to_read(read)
            return self._connection.sql(statement, params=dict(values)).to_arrow_reader(_BATCH_ROWS)

        self._give_up()
        try:
            reader = self._worker.call(begin, on_progress=on_progress)
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            missing = missing_name(error)
            if missing in self._lost:
                raise LakeError(self._lost[missing]) from None
            raise UsageError(self._with_place(error, statement=statement, values=values)) from None
        except duckdb.Error as error:
            raise self._explained(error) from None
        self._reader = reader

        return Answer(reader.schema, lambda: self._draw(reader, on_progress=on_progress))

    def _draw(self, reader: pa.RecordBatchReader, *, on_progress: OnProgress | None) -> pa.RecordBatch | None:
        if self._reader != reader:
            raise UsageError("this answer was given up for a later one; read it to its end first")
        try:
            return self._worker.call(lambda: next(reader, None), on_progress=on_progress)
        except (duckdb.Error, OSError, pa.ArrowInvalid) as error:
            raise self._explained(error) from None

    def _explained(self, error: Exception) -> OffbeatError:
        return explained(error, find_lost=self._find_lost, may_leave_out=self._may_leave_out)

    def _find_lost(self) -> Mapping[Path, str]:
        """Return what is wrong with the files that were read last, as far as that is soon found."""
        suspects = list(_files(self._sources)) if self._objects is None else self._objects.latest
        sizes = accumulate((_size(path) or 0 for path in suspects), initial=0)
        return self._find([path for path, n_before in zip(suspects, sizes, strict=False) if n_before < _SUSPECT_BYTES])

    def _may_leave_out(self, lost: Collection[Path]) -> bool:
        samples = self._sources.get("samples", ())
        has_files = isinstance(samples, Sequence) and bool(samples)
        return not self._is_checked and has_files and all(path in samples for path in lost)

    def _begin_to_read(self, read: Set[str]) -> None:
        """Make views and functions that are not there yet, each of which takes tens of milliseconds.

        Then begin a transaction that cannot write: a WITH clause that deletes is a statement that selects.
        """
        with suppress(duckdb.TransactionException):  # there is none before the first statement
            self._connection.rollback()
        for name in make_definitions(self._connection, read - self._made, why=self._lost):
            self._made.add(name)
        self._connection.execute("begin transaction read only")

    def _give_up(self) -> None:
        """Close the answer that is open: a connection has one at a time."""
        if self._reader is not None:
            self._worker.call(self._reader.close)
            self._reader = None

    def _with_place(self, error: duckdb.Error, *, statement: str, values: Mapping[str, Any]) -> str:
        """Return an error's message with the line and column, which only ``execute`` tells; it fails before it runs."""
        try:
            self._connection.execute(statement, dict(values))
        except duckdb.Error as placed:
            return str(placed)
        return str(error)


@contextmanager
def _memory_told() -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise explained(error) from None


def _connect(spill: str, *, memory_limit: str, threads: int | None) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "memory_limit": memory_limit,
        "preserve_insertion_order": "false",  # every query says its order; to keep that of files takes twice the memory
        "threads": str(threads or os.cpu_count() or 1),
        "temp_directory": spill,
    }
    try:
        connection = duckdb.connect(config=config)
    except duckdb.Error as error:
        raise UsageError(f"memory {memory_limit!r}: {error}; give a size such as 4GB") from None
    # It is asked for, not drawn on stdout amid the answer.
    connection.execute("set enable_progress_bar = true")
    connection.execute("set enable_progress_bar_print = false")
    return connection


def _register_objects(connection: duckdb.DuckDBPyConnection, sources: Mapping[str, Source]) -> ObjectFiles | None:
    """Let DuckDB read the files that are in a bucket, if there are any."""
    objects = [path for path in _files(sources) if isinstance(path, RemotePath)]
    if not objects:
        return None
    from pipeline.sql.objects import ObjectFiles  # fsspec takes 0.2 s to import

    files = ObjectFiles(objects)
    connection.register_filesystem(files)
    return files


def _size(path: Path) -> int | None:
    return path.n_bytes if isinstance(path, RemotePath) else sizes_of([path]).get(path)


def _files(sources: Mapping[str, Source]) -> Iterator[Path]:
    return (path for source in sources.values() if isinstance(source, Sequence) for path in source)


def _lock(connection: duckdb.DuckDBPyConnection, sources: Mapping[str, Source]) -> None:
    """Let a connection read the files of its tables and nothing else, for good."""
    readable = [str(path.resolve()) for path in _files(sources)]
    connection.execute("set allowed_paths = ?", [readable])
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


def open_lake(
    path: str | Path,
    *,
    memory_limit: str = MEMORY_LIMIT,
    threads: int | None = None,
    without: Collection[Path] | None = None,
) -> Database:
    """Open a lake for SQL, as it stands now; what is written later needs a new `Database`.

    Parameters
    ----------
    path
        Folder of the lake, or its address such as ``s3://bucket/folder``.
    memory_limit, threads
        As for `Database`.
    without
        Files of the lake to leave out, such as one that is missing; if given, errors do not advise to leave out any.

    Raises
    ------
    LakeError
        If there is no lake, it is of another version, or its bucket does not let us read.
    """
    return Database(
        lake_sources(path, without=without or ()),
        memory_limit=memory_limit,
        threads=threads,
        find_lost=lambda paths: lost_among(Lake.open(path), paths),
        is_checked=without is not None,
    )


def lake_sources(path: str | Path, *, without: Collection[Path] = ()) -> dict[str, Source]:
    """Return where the rows of each table of a lake are, some files left out.

    Raises
    ------
    LakeError
        If there is no lake, or it is of another version.
    """
    lake = Lake.open(path)
    left_out = {file.resolve() for file in without}
    sources: dict[str, Source] = {
        table: [file for file in lake.files(table) if file.resolve() not in left_out] for table in TABLES
    }
    # Recordings stand in the manifest itself, not in a file.
    return sources | {"recordings": lake.read("recordings")}
