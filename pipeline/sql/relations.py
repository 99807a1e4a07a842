"""What SQL sees: a view for every table of the schema, functions, and the views of ``queries/views`` on top."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import duckdb
import pyarrow as pa

from pipeline.sql.catalog import list_views
from pipeline.sql.faults import is_of_way, reason
from pipeline.sql.functions import OF_VIEWS, list_functions
from profiler.errors import LakeError
from profiler.schema import TABLES

if TYPE_CHECKING:
    from profiler.schema import Column, Table

__all__ = ["Source", "definitions", "definitions_in", "make_definitions", "make_tables", "missing_name"]

Source: TypeAlias = Sequence[Path] | pa.Table
"""Where a table's rows are: Parquet files in the order in which they were sealed, or the rows themselves."""

_DUCKDB_TYPES: Final = {
    pa.string(): "varchar",
    pa.float64(): "double",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.uint16(): "usmallint",
    pa.uint64(): "ubigint",
    pa.list_(pa.int64()): "bigint[]",
    pa.list_(pa.float64()): "double[]",
}
_REPEATED: Final = ("series", "profile_history")
"""Tables in which a key can stand in several files; the row sealed last counts."""
_GROWING: Final = ("flows", "profile_history")
"""Tables whose files may be of several versions of Offbeat, of which an older one knew fewer columns."""
_MISSING: Final = re.compile(r"with name (?P<name>\w+) does not exist")
_ANALYSE: Final = "offbeat analyze writes it anew"
_REMEDIES: Final = {
    **dict.fromkeys(("profiles", "phases", "compat", "shifts"), _ANALYSE),
    "samples": "restore it from a copy, make the lake again, or answer without it: --leave-out-lost, in Python "
    "open_lake(..., without=[...])",
}
"""What to do if a table's file is lost, where that is not the same for all."""


def make_tables(
    connection: duckdb.DuckDBPyConnection,
    sources: Mapping[str, Source],
    *,
    lost: Literal["refuse", "leave out"] = "refuse",
) -> dict[str, str]:
    """Make a relation for every table of the schema, and for what is given as rows in the place of a view.

    Parameters
    ----------
    connection
        An empty database that may be written and may read files.
    sources
        Where each table's rows are; a table that is not named has none, and the same columns. Rows under a view's name
        stand in its place: it is then not told from other tables.
    lost
        What to do if a file cannot be opened; to leave out is not to make its table, and so nothing that reads it,
        since rows that are silently too few are worse than none.

    Returns
    -------
    dict
        Name of each table that was left out, and why.

    Raises
    ------
    LakeError
        If a file is missing or is not Parquet and to be refused, or a bucket cannot be asked.
    """
    why: dict[str, str] = {}
    for name, table in TABLES.items():
        try:
            _make_relation(connection, table, sources.get(name, ()))
        except duckdb.Error as error:
            if is_of_way(error):  # each other table would wait as long for the bucket
                raise LakeError(reason(error)) from None
            remedy = _REMEDIES.get(name, "restore it from a copy, or make the lake again")
            why[name] = f"table {name}: {reason(error)}; the manifest names this file: {remedy}"
            if lost == "refuse":
                raise LakeError(why[name]) from None
    for name in definitions():
        rows = sources.get(name)
        if isinstance(rows, pa.Table):
            _make_table(connection, name, rows)
    return why


def make_definitions(
    connection: duckdb.DuckDBPyConnection, names: Collection[str], *, why: MutableMapping[str, str]
) -> Iterator[str]:
    """Make views and functions of ``queries``, those first that others read, and yield the name of each.

    Parameters
    ----------
    connection
        A database that has all tables, and what these definitions read that is not among them.
    names
        Which.
    why
        What was left out, and why; of a definition that reads it the same is noted there.
    """
    for name, text in definitions().items():
        if name not in names:
            continue
        try:
            connection.execute(text)
        except duckdb.CatalogException as error:
            if not why:
                raise
            # It may name a part of the statement that reads what is lost.
            why[name] = why.get(missing_name(error) or "", next(iter(why.values())))
        yield name


def definitions_in(text: str, *, made: Set[str] = frozenset()) -> frozenset[str]:
    """Return the views and functions that a text names, and those that they read, and so on, without those made."""
    found: set[str] = set()
    waiting = (_words(text) & definitions().keys()) - made
    while waiting:
        found |= waiting
        waiting = {read for name in waiting for read in _reads()[name]} - found - made
    return frozenset(found)


def missing_name(error: duckdb.Error) -> str | None:
    """Return the relation or function that an error says there is not, in lower case."""
    found = _MISSING.search(str(error))
    return found["name"].lower() if found else None


@cache
def definitions() -> dict[str, str]:
    """Return the statement of each function and view by its name, those first that others read."""
    return dict(_in_order())


@cache
def _reads() -> dict[str, set[str]]:
    return {name: _words(text) & definitions().keys() for name, text in definitions().items()}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _in_order() -> Iterator[tuple[str, str]]:
    """Yield name and statement of each function and view, those first that others read."""
    functions = [function for function in list_functions() if function.text]
    yield from ((function.name, function.text) for function in functions if not function.reads_views)
    texts = {function.name: function.text for function in functions}
    left = list(OF_VIEWS)
    for view in list_views():
        n_needed = max((i + 1 for i, name in enumerate(left) if f" {name}(" in view.text), default=0)
        yield from ((name, texts[name]) for name in left[:n_needed])
        del left[:n_needed]
        yield view.name, f"create view {view.name} as {view.text}"
    yield from ((name, texts[name]) for name in left)


def _make_relation(connection: duckdb.DuckDBPyConnection, table: Table, source: Source) -> None:
    # A statement that makes a view takes no parameters: names are the schema's, paths are quoted.
    if isinstance(source, pa.Table):
        _make_table(connection, table.name, source)
    elif source:
        known = _known(connection, source if table.name in _GROWING else source[:1])
        connection.execute(f"create view {table.name} as {_rows_of(table, source, known=known)}")
    else:
        connection.execute(f"create view {table.name} as select {', '.join(map(_null, table.columns))} where false")


def _make_table(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    connection.register("arrow_rows", rows)
    connection.execute(f"create table {name} as select * from arrow_rows")  # noqa: S608
    connection.unregister("arrow_rows")


def _known(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> set[str]:
    """Return the columns of files; an older Offbeat knew fewer."""
    found = connection.execute(
        "select name from parquet_schema(?)", [[str(path.resolve()) for path in paths]]
    ).fetchall()
    return {name for (name,) in found}


def _rows_of(table: Table, paths: Sequence[Path], *, known: set[str]) -> str:
    # A function that reads the view may have a parameter of the same name.
    columns = ", ".join(f"rows.{column.name}" if column.name in known else _null(column) for column in table.columns)
    files = ", ".join(_quoted(str(path.resolve())) for path in paths)
    by_name = ", union_by_name = true" if table.name in _GROWING and len(paths) > 1 else ""
    scan = f"select {columns} from read_parquet([{files}], hive_partitioning = false{by_name}) as rows"  # noqa: S608
    if table.name not in _REPEATED or len(paths) == 1:
        return scan
    latest = f"list_position([{files}], filename) desc"
    return f"{scan} qualify row_number() over (partition by {', '.join(table.key)} order by {latest}) = 1"


def _null(column: Column) -> str:
    return f"cast(null as {_DUCKDB_TYPES[column.type]}) as {column.name}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
