"""What there is to ask: relations, their columns, functions and queries, as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.sql.catalog import find_query, list_queries, list_views
from pipeline.sql.functions import list_functions
from profiler.errors import UsageError
from profiler.schema import TABLES

if TYPE_CHECKING:
    from pipeline.sql.database import Database

__all__ = ["describe_columns", "describe_functions", "describe_queries", "describe_relations", "find_text"]


def describe_relations() -> pa.Table:
    """Return every table and view, and what it holds."""
    tables = [{"name": table.name, "kind": "table", "holds": table.meaning} for table in TABLES.values()]
    views = [{"name": view.name, "kind": "view", "holds": view.purpose} for view in list_views()]
    return pa.Table.from_pylist([*tables, *views])


def describe_columns(database: Database, relation: str) -> pa.Table:
    """Return the columns of a table or view: type, and of a table's unit and meaning.

    Raises
    ------
    UsageError
        If there is no such relation.
    """
    names = {row["name"] for row in describe_relations().to_pylist()}
    if relation not in names:
        raise UsageError(f"no table or view {relation!r}; there are {', '.join(sorted(names))}")
    known = {column.name: column for column in TABLES[relation].columns} if relation in TABLES else {}
    rows = [
        {
            "column": row["column_name"],
            "type": row["column_type"].lower(),
            "unit": known[row["column_name"]].unit if row["column_name"] in known else None,
            "meaning": known[row["column_name"]].meaning if row["column_name"] in known else None,
        }
        for row in database.sql(f"describe {relation}").to_pylist()
    ]
    return pa.Table.from_pylist(rows)


def describe_functions() -> pa.Table:
    """Return every function: how it is called, what it returns, what for, and an example."""
    return pa.Table.from_pylist([function.to_row() for function in list_functions()])


def describe_queries() -> pa.Table:
    """Return every named query: its parameters with their defaults, and its purpose."""
    return pa.Table.from_pylist([query.to_row() for query in list_queries()])


def find_text(name: str) -> str:
    """Return the SQL of a view, a function or a named query, with its documentation.

    Raises
    ------
    UsageError
        If there is none of that name.
    """
    texts = {view.name: view.text for view in list_views()}
    texts |= {function.name: function.text for function in list_functions() if function.text}
    return texts[name] if name in texts else find_query(name).text
