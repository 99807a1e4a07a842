"""The lake in DuckDB: views over its files, named queries, read-only SQL. The only DuckDB code."""

from __future__ import annotations

from pipeline.sql.answer import Answer
from pipeline.sql.catalog import Query, find_query, list_queries, list_views
from pipeline.sql.database import MEMORY_LIMIT, Database, open_lake
from pipeline.sql.described import (
    describe_columns,
    describe_functions,
    describe_queries,
    describe_relations,
    find_text,
)
from pipeline.sql.export import export_views
from pipeline.sql.functions import Function, list_functions
from pipeline.sql.header import Parameter
from pipeline.sql.names import unknown_names
from pipeline.sql.rows import plain_rows, unique_names
from pipeline.sql.statements import ends_statement

__all__ = [
    "MEMORY_LIMIT",
    "Answer",
    "Database",
    "Function",
    "Parameter",
    "Query",
    "describe_columns",
    "describe_functions",
    "describe_queries",
    "describe_relations",
    "ends_statement",
    "export_views",
    "find_query",
    "find_text",
    "list_functions",
    "list_queries",
    "list_views",
    "open_lake",
    "plain_rows",
    "unique_names",
    "unknown_names",
]
