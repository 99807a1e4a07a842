"""Rows of the small tables, as they are stored: in the table's own schema, one row a key."""

from __future__ import annotations

import pyarrow as pa

from profiler.errors import BadInput
from profiler.schema import TABLES, arrow_schema

__all__ = ["checked_rows", "last_of_each_key"]


def checked_rows(table: str, rows: pa.Table) -> pa.Table:
    """Return rows in a table's schema; a column that may be null may be absent.

    Raises
    ------
    BadInput
        If a key is absent or null, a column is unknown, or its type does not convert without loss.
    """
    schema = arrow_schema(table)
    unknown = sorted(set(rows.column_names) - set(schema.names))
    if unknown:
        raise BadInput(f"table {table}: unknown column {unknown[0]}; its columns are {', '.join(schema.names)}")
    columns = [_column(table, field, rows) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def last_of_each_key(table: str, rows: pa.Table) -> pa.Table:
    """Return the last row of each key, in the order of rows."""
    key = list(TABLES[table].key)
    places = rows.select(key).append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    last = places.group_by(key).aggregate([("place", "max")])["place_max"]
    return rows.take(last.combine_chunks().sort()) if rows.num_rows else rows


def _column(table: str, field: pa.Field, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
    if field.name not in rows.column_names:
        if field.nullable:
            return pa.nulls(rows.num_rows, field.type)
        raise BadInput(f"table {table}: column {field.name} is missing; it must be given in each row")
    try:
        column = rows[field.name].cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadInput(f"table {table}: column {field.name}: expected {field.type}: {error}") from error
    if column.null_count and not field.nullable:
        raise BadInput(f"table {table}: column {field.name}: {column.null_count} nulls; it must be given in each row")
    return column
