"""`plain_rows`: an answer as rows that JSON, CSV and a terminal can show."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import chain, count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["plain_rows", "unique_names"]


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return one dict a row: whole decimals as int, others as float, times and durations as ISO text, bytes as hex.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_rows(pa.table({"n": [Decimal(3)], "raw": [b"ab"]}))
    [{'n': 3, 'raw': '6162'}]
    """
    names = unique_names(table.column_names)
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names of which each stands once: those repeated get the first free of ``_1``, ``_2``, ...

    Examples
    --------
    >>> unique_names(["a", "a", "b", "a"])
    ['a', 'a_1', 'b', 'a_2']
    """
    unique: list[str] = []
    for name in names:
        choices = chain([name], (f"{name}_{i}" for i in count(1)))
        unique.append(next(choice for choice in choices if choice not in unique))
    return unique


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of SQL
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
