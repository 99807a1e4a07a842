"""`plain_rows`: an answer as rows that JSON, CSV and a terminal can show."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["plain_rows"]


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return one dict a row: whole decimals as int, others as float, times and durations as ISO text, bytes as hex.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_rows(pa.table({"n": [Decimal(3)], "raw": [b"ab"]}))
    [{'n': 3, 'raw': '6162'}]
    """
    return [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]


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
