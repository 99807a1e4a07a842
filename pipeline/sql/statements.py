"""Which statements may run: those that read, one at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import duckdb

from profiler.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_reads", "ends_statement", "split_statements"]

_BLANK: Final = r"(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*"
_EXPLAIN: Final = re.compile(
    rf"{_BLANK}explain\b(?:{_BLANK}analyze\b)?(?:{_BLANK}\(\s*(?:analyze|format)\b[^)]*\))?",
    re.IGNORECASE,
)
_PIECE: Final = re.compile(
    r"'(?:[^']|'')*(?:'|\Z)"
    r'|"(?:[^"]|"")*(?:"|\Z)'
    r"|\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)"
    r"|(?P<blank>\s+|--[^\n]*|/\*.*?\*/)"
    r"|/\*.*|.",
    re.DOTALL,
)
"""Text and names in quotes, what is not looked at, a comment that is still open, any other letter."""
_READS: Final = "select, with, values, from, describe, summarize, show or explain"
_HINTS: Final = {
    "MULTI": "; a pivot must name its values, as in: pivot rates on direction in ('transmit', 'receive') using ...",
    "SET": "; memory is an option of the command, --memory",
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
        explain = _EXPLAIN.match(statement)
        kinds = _kinds(connection, statement[explain.end() :]) if explain else kinds
    if kinds != ["SELECT"]:
        kind = kinds[0]
        raise UsageError(f"{kind} statement: the lake is read-only; expected {_READS}{_HINTS.get(kind, '')}")


def ends_statement(text: str) -> bool:
    """Return whether a text ends with a semicolon, comments after it aside.

    Examples
    --------
    >>> ends_statement("select 42; -- done"), ends_statement("select 'a; -- b")
    (True, False)
    """
    pieces = [piece[0] for piece in _PIECE.finditer(text) if piece["blank"] is None]
    return bool(pieces) and pieces[-1] == ";"


def _kinds(connection: duckdb.DuckDBPyConnection, statement: str) -> list[str]:
    return [part.type.name for part in _parts(connection, statement)]


def _parts(connection: duckdb.DuckDBPyConnection, text: str) -> Sequence[duckdb.Statement]:
    try:
        return connection.extract_statements(text)
    except duckdb.Error as error:
        raise UsageError(str(error)) from None
