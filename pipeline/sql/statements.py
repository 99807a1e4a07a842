"""Which statements may run: those that read, one at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import duckdb

from profiler.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_reads", "split_statements"]

_EXPLAIN: Final = re.compile(r"\s*explain(\s+analyze)?\b(\s*\([^)]*\))?", re.IGNORECASE)
_READS: Final = "select, with, values, from, describe, summarize, show or explain"
_HINTS: Final = {
    "MULTI": "; a pivot must name its values, as in: pivot rates on direction in ('transmit', 'receive') using ...",
    "SET": "; memory and threads are options of the command",
    "COPY": "; offbeat sql --out FILE writes an answer to a file",
    "EXPORT": "; offbeat sql --export FILE writes a database of views",
}
"""What to do instead of some kinds of statements."""


def split_statements(connection: duckdb.DuckDBPyConnection, text: str) -> list[str]:
    """Return the statements of a text, in order, without those that are empty.

    Raises
    ------
    UsageError
        If it cannot be parsed; the message tells the place.
    """
    return [part.query.strip() for part in _parts(connection, text)]


def check_reads(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Check that a text is one statement that does nothing but read.

    Raises
    ------
    UsageError
        If it is not.
    """
    kinds = _kinds(connection, statement)
    if len(kinds) != 1:
        raise UsageError(f"expected one SQL statement, found {len(kinds)}; run them one at a time")
    if kinds == ["EXPLAIN"]:
        # EXPLAIN ANALYZE runs what it explains.
        kinds = _kinds(connection, _EXPLAIN.sub("", statement, count=1))
    if kinds != ["SELECT"]:
        kind = kinds[0]
        raise UsageError(f"{kind} statement: the lake is read-only; expected {_READS}{_HINTS.get(kind, '')}")


def _kinds(connection: duckdb.DuckDBPyConnection, statement: str) -> list[str]:
    return [part.type.name for part in _parts(connection, statement)]


def _parts(connection: duckdb.DuckDBPyConnection, text: str) -> Sequence[duckdb.Statement]:
    try:
        return connection.extract_statements(text)
    except duckdb.Error as error:
        raise UsageError(str(error)) from None
