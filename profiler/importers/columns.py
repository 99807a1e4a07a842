"""Which columns of a table are counters, and which series each of its rows belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from profiler.importers.mapping import ColumnName, CounterColumn, Mapping
from profiler.store.series import Series

__all__ = ["ChosenColumn", "chosen_columns", "rows_by_name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenColumn:
    """A column of the table that a mapping calls a counter, with the names of what it counts."""

    column: str
    counter: CounterColumn
    names: Dict[str, str | ColumnName]

    @property
    def name_columns(self) -> tuple[str, ...]:
        """Columns whose cells name what is counted."""
        return tuple(name.column for name in self.names.values() if isinstance(name, ColumnName))

    def series(self, cells: Sequence[str], *, source: str) -> Series:
        """Return the series of the rows with these cells in `name_columns`."""
        given = iter(cells)
        names = {key: next(given) if isinstance(name, ColumnName) else name for key, name in self.names.items()}
        is_gauge = self.counter.kind == "gauge"
        return Series(
            **names,
            direction=self.counter.direction,
            metric="bytes_per_s" if is_gauge else "bytes",
            unit="bytes/s" if is_gauge else "bytes",
            kind=self.counter.kind,
            layer=self.counter.layer,
            raw_name=self.column,
            raw_scale=float(self.counter.scale),
            width_bits=None if is_gauge else self.counter.width_bits,
            source=source,
        )


def chosen_columns(columns: Sequence[str], mapping: Mapping, *, host: str) -> list[ChosenColumn]:
    """Return the counters among a table's columns; a column that two patterns fit is the first one's.

    Parameters
    ----------
    columns
        Names of the table's columns.
    mapping
        Tells which of them are counters.
    host
        Name of the host where neither mapping nor column tells it.
    """
    chosen = []
    for column in columns:
        for counter in mapping.counters:
            found = counter.match(column)
            if found is not None and column != mapping.time.column:
                names = {"host": host, "device": "", "port": "", **mapping.names, **counter.names, **found}
                chosen.append(ChosenColumn(column=column, counter=counter, names=names))
                break
    return chosen


def rows_by_name(names: Sequence[pa.Array], n_rows: int) -> Iterator[tuple[tuple[str, ...], NDArray[np.intp] | slice]]:
    """Yield each combination of names with its rows, in the order of the table; rows that lack a name are left out.

    Notes
    -----
    Sorting the rows of a block by the codes of their names costs O(n log n), whatever the number of names.
    """
    if not names:
        yield (), slice(None)
        return
    code = np.zeros(n_rows, dtype=np.int64)
    complete = np.ones(n_rows, dtype=bool)
    for column in names:
        encoded = column.cast(pa.string()).dictionary_encode()
        code = code * max(1, len(encoded.dictionary)) + pc.fill_null(encoded.indices, 0).to_numpy()
        complete &= pc.is_valid(column).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(complete)
    order = rows[np.argsort(code[rows], kind="stable")]
    for group in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        if group.size:
            cells = tuple(str(column[int(group[0])].as_py()) for column in names)
            yield cells, slice(None) if group.size == n_rows else group
