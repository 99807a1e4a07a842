"""`open_table`: an input as a table, whatever kind of table it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput
from profiler.importers.contents import kind_of
from profiler.importers.parquet_table import ParquetTable
from profiler.importers.text_table import TextTable, split_header

if TYPE_CHECKING:
    from profiler.importers.blocks import Table
    from profiler.importers.inputs import Input

__all__ = ["open_table"]

LONGEST_HEADER_BYTES: Final = 4 << 20


def open_table(source: Input, *, delimiter: str | None = None) -> Table:
    """Return an input as a table.

    Raises
    ------
    BadInput
        If it is neither delimited text with a header nor Parquet; the message names what it looks like.
    """
    head = source.head(LONGEST_HEADER_BYTES)
    kind = kind_of(head)
    if kind == "Parquet":
        return ParquetTable(source)
    if kind == "empty":
        raise BadInput(f"{source.name}: empty; a table needs a header and rows")
    if kind != "text":
        raise BadInput(f"{source.name}: looks like {kind}, not like a delimited table; give CSV, TSV or Parquet")
    return TextTable(source, *split_header(head, delimiter=delimiter, name=source.name))
