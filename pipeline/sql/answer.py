"""`Answer`: the rows of a statement as they come, so that no answer need fit in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pyarrow as pa

from pipeline.sql.rows import unique_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Answer"]


class Answer:
    """Rows of one statement, in order; only one answer of a database can be read at a time.

    It is an iterator of record batches, of which each column has a name of its own.

    Parameters
    ----------
    schema
        Of the rows, names as the statement gave them.
    pull
        Returns the next batch, None after the last.
    """

    def __init__(self, schema: pa.Schema, pull: Callable[[], pa.RecordBatch | None]) -> None:
        names = unique_names(schema.names)
        self.schema = pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])
        self._pull = pull

    @property
    def columns(self) -> list[str]:
        """Names of the columns, each once."""
        return list(self.schema.names)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        batch = self._pull()
        if batch is None:
            raise StopIteration
        return pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)

    def read(self) -> pa.Table:
        """Return all rows that are left, in memory."""
        return pa.Table.from_batches(list(self), schema=self.schema)

    @classmethod
    def of_table(cls, table: pa.Table) -> Self:
        """Return the rows of a table as an answer."""
        batches = iter(table.to_batches())
        return cls(table.schema, lambda: next(batches, None))
