"""Parquet as blocks of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from profiler.errors import BadInput
from profiler.importers.blocks import Block, Flaw

if TYPE_CHECKING:
    from profiler.importers.inputs import Input

__all__ = ["ParquetBlock", "ParquetTable"]

BLOCK_ROWS: Final = 122_880


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetBlock:
    """Rows of a Parquet file."""

    columns: dict[str, pa.Array]
    n_rows: int
    first_row: int

    def line_of(self, i_row: int) -> int:
        """Return the number of a row, from 1."""
        return self.first_row + i_row


@dataclass(slots=True)
class ParquetTable:
    """A Parquet file of flat columns."""

    source: Input
    columns: list[str] = field(init=False)
    ragged: Flaw = field(default_factory=Flaw)
    garbled: Flaw = field(default_factory=Flaw)
    is_cut: bool = False

    def __post_init__(self) -> None:
        with _opened(replace(self.source, advance=int)) as file:
            self.columns = list(file.schema_arrow.names)

    def blocks(self, columns: Sequence[str], *, integers: Sequence[str]) -> Iterator[Block]:  # noqa: ARG002
        """Yield blocks of rows, typed as in the file; see `Table`.

        Raises
        ------
        BadInput
            After the last sound block, if the file is damaged.
        """
        first_row = 1
        try:
            with _opened(self.source) as file:
                for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=list(columns)):
                    arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
                    yield ParquetBlock(columns=arrays, n_rows=batch.num_rows, first_row=first_row)
                    first_row += batch.num_rows
        except (OSError, pa.ArrowException) as error:
            raise BadInput(
                f"{self.source.name}: damaged after row {first_row - 1} ({error}); what stood before was read; "
                "fetch it again"
            ) from error


@contextmanager
def _opened(source: Input) -> Iterator[pq.ParquetFile]:
    """Open a file, a copy of it if it is compressed as a whole: its index stands at its end."""
    with source.plain() as path:
        try:
            file = pq.ParquetFile(path)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise BadInput(f"{source.name}: not a readable Parquet file ({error}); fetch or write it again") from error
        with file:
            yield file
        if path == source.path:
            source.advance(path.stat().st_size)
