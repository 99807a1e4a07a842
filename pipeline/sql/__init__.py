"""The lake in DuckDB: views over its files, named queries, read-only SQL. The only DuckDB code."""

from __future__ import annotations

from pipeline.sql.catalog import Query, find_query, list_queries, list_views
from pipeline.sql.database import Database, open_lake
from pipeline.sql.export import export_views
from pipeline.sql.functions import Function, list_functions
from pipeline.sql.header import Parameter
from pipeline.sql.rows import plain_rows, unique_names

__all__ = [
    "Database",
    "Function",
    "Parameter",
    "Query",
    "export_views",
    "find_query",
    "list_functions",
    "list_queries",
    "list_views",
    "open_lake",
    "plain_rows",
    "unique_names",
]
