"""Samples in memory until they are sealed: columns of fixed size, in the order of arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from profiler.schema import arrow_schema
from profiler.store.arrays import column_of_numbers
from profiler.store.columns import COLUMN_TYPES
from profiler.store.segments import ROW_GROUP_ROWS
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

__all__ = ["BUFFER_ROWS", "DayRows", "SampleBuffer", "SampleRows"]

BUFFER_ROWS: Final = 8 * ROW_GROUP_ROWS
"""Rows sealed at a time, eight row groups: 29 MB in memory, 4 to 6 MB on disk."""

_PIECE_ROWS: Final = 2 * ROW_GROUP_ROWS
"""Rows copied at a time, 9 MB: between pieces the sealing thread waits for its turn to run Python."""

_DAY_NS: Final = 86_400 * NS_PER_S


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleRows:
    """Rows of a buffer, not copied; ``code`` is a row's place in ``series_ids``."""

    series_ids: NDArray[np.uint64]
    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns["t_ns"])

    def by_day(self) -> Iterator[DayRows]:
        """Yield the rows of each UTC date that they touch, sorted by series and time."""
        order, t_ns = self._order(), self.columns["t_ns"]
        if not len(order):
            return
        first, last = int(t_ns.min()) // _DAY_NS, int(t_ns.max()) // _DAY_NS
        if first == last:
            yield DayRows(rows=self, day=first, order=order)
            return
        day = t_ns[order] // _DAY_NS
        for number in np.unique(day):
            yield DayRows(rows=self, day=int(number), order=order[day == number])

    def take(self, places: NDArray[np.intp]) -> pa.Table:
        """Return some of the rows as a table."""
        columns = {name: column[places] for name, column in self.columns.items()}
        columns["series_id"] = self.series_ids[columns.pop("code")]
        schema = arrow_schema("samples")
        arrays = [column_of_numbers(columns[field.name], field.type) for field in schema]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _order(self) -> NDArray[np.intp]:
        """Return the order by series and time, ties in order of arrival.

        Samples of a series mostly arrive in order of time, and series are few: a stable sort of 16-bit ranks is a radix
        sort, several times faster than a sort by both keys.
        """
        rank, t_ns = self._ranks()[self.columns["code"]], self.columns["t_ns"]
        order = np.argsort(rank, kind="stable")
        rank_sorted, t_sorted = rank[order], t_ns[order]
        if np.all((t_sorted[1:] >= t_sorted[:-1]) | (rank_sorted[1:] != rank_sorted[:-1])):
            return order
        return np.lexsort((t_ns, rank))

    def _ranks(self) -> NDArray[np.unsignedinteger[Any]]:
        width: type[np.unsignedinteger[Any]] = np.uint16 if len(self.series_ids) <= 1 << 16 else np.uint32
        ranks = np.empty(len(self.series_ids), width)
        ranks[np.argsort(self.series_ids)] = np.arange(len(ranks))
        return ranks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DayRows:
    """Rows of one UTC date, sorted; copied some row groups at a time."""

    rows: SampleRows
    day: int
    order: NDArray[np.intp]

    @property
    def date(self) -> str:
        """The date, such as 2024-04-16."""
        return str(np.datetime64(self.day, "D"))

    @property
    def t_range_ns(self) -> tuple[int, int]:
        """First and last time, UTC epoch ns."""
        t_ns = self.rows.columns["t_ns"][self.order]
        return int(t_ns.min()), int(t_ns.max())

    def pieces(self) -> Iterator[pa.Table]:
        """Yield the rows, whole row groups at a time."""
        for start in range(0, len(self.order), _PIECE_ROWS):
            yield self.rows.take(self.order[start : start + _PIECE_ROWS])


class SampleBuffer:
    """Room for `BUFFER_ROWS` samples; rows never move once written, so another thread may seal them meanwhile."""

    def __init__(self) -> None:
        self._columns = {name: np.empty(BUFFER_ROWS, dtype) for name, dtype in COLUMN_TYPES.items()}
        self._columns["code"] = np.empty(BUFFER_ROWS, np.uint32)
        self._codes: dict[int, int] = {}
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    @property
    def n_free(self) -> int:
        """Rows that still fit."""
        return BUFFER_ROWS - self._n_rows

    def clear(self) -> None:
        """Forget all rows, so that the memory can be used again; no `SampleRows` may be in use."""
        self._n_rows = 0
        self._codes.clear()

    def append(self, series_id: int, n_rows: int, columns: Mapping[str, object]) -> None:
        """Add rows of a series; each column is an array of shape (n_rows,) or one value for all of them."""
        rows = slice(self._n_rows, self._n_rows + n_rows)
        self._columns["code"][rows] = self._codes.setdefault(series_id, len(self._codes))
        for name, values in columns.items():
            self._columns[name][rows] = values
        self._n_rows += n_rows

    def append_mixed(self, series_ids: NDArray[np.uint64], columns: Mapping[str, object]) -> None:
        """Add rows of several series, of which each has its id and those of one series follow one another."""
        starts = np.flatnonzero(np.append(True, series_ids[1:] != series_ids[:-1]))
        codes = [self._codes.setdefault(series_id, len(self._codes)) for series_id in series_ids[starts].tolist()]
        rows = slice(self._n_rows, self._n_rows + series_ids.size)
        self._columns["code"][rows] = np.repeat(codes, np.diff(starts, append=series_ids.size))
        for name, values in columns.items():
            self._columns[name][rows] = values
        self._n_rows += series_ids.size

    def rows(self, start: int = 0) -> SampleRows:
        """Return the rows from one on."""
        return SampleRows(
            series_ids=np.fromiter(self._codes, np.uint64, len(self._codes)),
            columns={name: column[start : self._n_rows] for name, column in self._columns.items()},
        )
