"""`open_lake`: a lake as a DuckDB database that can be read and nothing else."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import duckdb

from pipeline.sql.catalog import find_query
from pipeline.sql.functions import make_kernels
from pipeline.sql.relations import Source, make_relations
from profiler.errors import LakeError, UsageError
from profiler.schema import TABLES
from profiler.store import Lake

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

__all__ = ["MEMORY_LIMIT", "Database", "lake_sources", "open_lake"]

MEMORY_LIMIT: Final = "1GB"
"""What DuckDB may hold before it spills to the temporary folder."""

_EXPLAIN: Final = re.compile(r"\s*explain(\s+analyze)?\b(\s*\([^)]*\))?", re.IGNORECASE)


class Database:
    """Read-only SQL over the lake's tables and the views of ``queries/views``.

    The connection can read the files it is given and nothing else: no other file, no network, no extension, no
    setting. It is a context manager; closing it removes what it spilled.

    Parameters
    ----------
    sources
        Where each table's rows are.
    memory_limit
        As DuckDB reads it.
    threads
        Default: one a processor.

    Raises
    ------
    LakeError
        If a file is missing or is not Parquet.
    """

    def __init__(
        self, sources: Mapping[str, Source], *, memory_limit: str = MEMORY_LIMIT, threads: int | None = None
    ) -> None:
        self._spill = tempfile.TemporaryDirectory(prefix="offbeat-sql-", ignore_cleanup_errors=True)
        self._connection = duckdb.connect(
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "memory_limit": memory_limit,
                "threads": str(threads or os.cpu_count() or 1),
                "temp_directory": self._spill.name,
            }
        )
        try:
            make_relations(self._connection, sources)
            make_kernels(self._connection)
        except LakeError:
            self.close()
            raise
        readable = [
            str(path.resolve()) for source in sources.values() if isinstance(source, Sequence) for path in source
        ]
        self._connection.execute("set allowed_paths = ?", [readable])
        self._connection.execute("set enable_external_access = false")
        # It would be drawn on stdout, amid the answer.
        self._connection.execute("set enable_progress_bar = false")
        self._connection.execute("set lock_configuration = true")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and remove what it spilled to disk."""
        self._connection.close()
        self._spill.cleanup()

    def run(self, name: str, **parameters: Any) -> pa.Table:  # noqa: ANN401 - of each parameter's declared type
        """Run a named query; a parameter that is not given has the value its header tells.

        Raises
        ------
        UsageError
            If there is no such query or parameter, or a value is not of the parameter's type.
        """
        query = find_query(name)
        return self._table(query.text, query.values(parameters))

    def sql(self, statement: str) -> pa.Table:
        """Run one statement that reads: select, with, values, from, describe, summarize, show, explain.

        Raises
        ------
        UsageError
            If it is not one statement, does more than read, or is wrong; the message has DuckDB's own, with the place.
        LakeError
            If a file of the lake cannot be read, or memory does not suffice.
        """
        self._check_reads(statement)
        return self._table(statement, {})

    def _table(self, statement: str, values: Mapping[str, Any]) -> pa.Table:
        try:
            return self._interruptible(statement, values)
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            raise UsageError(self._with_place(error, statement, values)) from None
        except duckdb.OutOfMemoryException as error:
            raise LakeError(f"{error}\nselect fewer rows or columns, or aggregate") from None
        except duckdb.IOException as error:
            raise LakeError(f"{error}\na file that the manifest names cannot be read: ingest its input again") from None
        except duckdb.Error as error:
            raise UsageError(str(error)) from None

    def _interruptible(self, statement: str, values: Mapping[str, Any]) -> pa.Table:
        """Run a statement in a thread of its own: DuckDB is deaf to signals, but can be told to stop."""
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: self._connection.sql(statement, params=dict(values)).to_arrow_table())
            try:
                return answer.result()
            except KeyboardInterrupt:
                self._connection.interrupt()
                raise

    def _with_place(self, error: duckdb.Error, statement: str, values: Mapping[str, Any]) -> str:
        """Return an error's message with the line and column, which only ``execute`` tells; it fails before it runs."""
        try:
            self._connection.execute(statement, dict(values))
        except duckdb.Error as placed:
            return str(placed)
        return str(error)

    def _check_reads(self, statement: str) -> None:
        kinds = self._kinds(statement)
        if len(kinds) != 1:
            raise UsageError(f"expected one SQL statement, found {len(kinds)}; run them one at a time")
        if kinds == ["EXPLAIN"]:
            # EXPLAIN ANALYZE runs what it explains.
            kinds = self._kinds(_EXPLAIN.sub("", statement, count=1))
        if kinds != ["SELECT"]:
            raise UsageError(
                f"{kinds[0]} statement: the lake is read-only; expected select, with, values, from, describe, "
                "summarize, show or explain"
            )

    def _kinds(self, statement: str) -> list[str]:
        try:
            return [part.type.name for part in self._connection.extract_statements(statement)]
        except duckdb.Error as error:
            raise UsageError(str(error)) from None


def open_lake(
    path: str | Path,
    *,
    memory_limit: str = MEMORY_LIMIT,
    threads: int | None = None,
    without: Collection[Path] = (),
) -> Database:
    """Open a lake for SQL, as it stands now; what is written later needs a new `Database`.

    Parameters
    ----------
    path
        Folder of the lake.
    memory_limit, threads
        As for `Database`.
    without
        Files of the lake to leave out, such as one that is missing.

    Raises
    ------
    LakeError
        If there is no lake, it is of another version, or a file of it is missing.
    """
    return Database(lake_sources(path, without=without), memory_limit=memory_limit, threads=threads)


def lake_sources(path: str | Path, *, without: Collection[Path] = ()) -> dict[str, Source]:
    """Return where the rows of each table of a lake are, some files left out.

    Raises
    ------
    LakeError
        If there is no lake, or it is of another version.
    """
    lake = Lake.open(Path(path))
    left_out = {file.resolve() for file in without}
    sources: dict[str, Source] = {
        table: [file for file in lake.files(table) if file.resolve() not in left_out] for table in TABLES
    }
    # Recordings stand in the manifest itself, not in a file.
    return sources | {"recordings": lake.read("recordings")}
