"""Importer of counter tables: CSV, TSV or Parquet, plain or with a column mapping."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from profiler.errors import BadInput
from profiler.importers.cells import Cells, counts, times
from profiler.importers.columns import ChosenColumn, chosen_columns, rows_by_name
from profiler.importers.contents import kind_of
from profiler.importers.coverage import Coverage
from profiler.importers.faults import Faults
from profiler.importers.feed import Feed
from profiler.importers.importer import Importer, Options
from profiler.importers.mapping import Mapping, plain_mapping
from profiler.importers.tables import open_table
from profiler.importers.text_table import split_header

if TYPE_CHECKING:
    import pyarrow as pa

    from profiler.importers.blocks import Block, Table
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["DELIMITED"]

PLAIN_TIMES: Final = ("t_ns", "t_s")
"""Names of a first column by which a table needs no mapping."""

_NAMED: Final = 20
"""Columns that a message names."""


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    table = open_table(source, delimiter=options.mapping.delimiter if options.mapping else None)
    mapping = options.mapping or _plain(table, source)
    return _Reading(source, table, mapping=mapping, sink=sink, host=options.host or source.default_host).run()


def _recognises(source: Input, head: bytes, options: Options) -> bool:
    kind = kind_of(head)
    if kind == "Parquet":
        columns = open_table(source).columns
    elif kind == "text":
        try:
            columns, _ = split_header(head, delimiter=options.mapping.delimiter if options.mapping else None)
        except BadInput:
            return False
    else:
        return False
    if options.mapping is not None:
        return options.mapping.time.column in columns
    return bool(columns) and columns[0] in PLAIN_TIMES


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host, "mapping": options.mapping and options.mapping.to_dict()}


DELIMITED: Final = Importer(
    name="delimited",
    version=1,
    reads="tables of counters (CSV, TSV, Parquet)",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)


def _plain(table: Table, source: Input) -> Mapping:
    first = table.columns[0] if table.columns else ""
    if first not in PLAIN_TIMES:
        raise BadInput(
            f"{source.name}: line 1: first column is {first[:60]!r}, expected t_ns or t_s; "
            "rename it, or tell what the columns are with --mapping"
        )
    return plain_mapping(first)


class _Reading:
    """One pass over a table."""

    def __init__(self, source: Input, table: Table, *, mapping: Mapping, sink: Sink, host: str) -> None:
        self._source = source
        self._table = table
        self._time = mapping.time
        self._sink = sink
        self._chosen = chosen_columns(table.columns, mapping, host=host)
        self._name_columns = {name for chosen in self._chosen for name in chosen.name_columns}
        self._feeds: dict[tuple[str, tuple[str, ...]], Feed] = {}
        self._faults = Faults()
        self._n_empty = 0
        self._coverage = Coverage()
        self._check(mapping)

    def run(self) -> Coverage:
        """Read the whole table; what is wrong with it after its header goes into the coverage."""
        used = {self._time.column, *self._name_columns, *(chosen.column for chosen in self._chosen)}
        columns = [column for column in self._table.columns if column in used]
        try:
            for block in self._table.blocks(columns, integers=self._integers()):
                self._take(block)
        except BadInput as error:
            self._coverage.problems.append(str(error))
        for feed in self._feeds.values():
            feed.close()
        self._report(not_used=[column for column in self._table.columns if column not in used])
        return self._coverage

    def _check(self, mapping: Mapping) -> None:
        wanted = [self._time.column, *sorted(self._name_columns)]
        missing = [column for column in wanted if column not in self._table.columns]
        if not self._chosen:
            missing += [counter.column for counter in mapping.counters]
        if missing:
            raise BadInput(
                f"{self._source.name}: no column {', '.join(missing)}, expected by mapping {mapping.name}; "
                f"its columns are {', '.join(self._table.columns[:_NAMED])}; rename them, or give another --mapping"
            )

    def _integers(self) -> list[str]:
        columns = [chosen.column for chosen in self._chosen]
        if self._time.format is None and self._time.unit != "s":
            columns.append(self._time.column)
        return [column for column in columns if column not in self._name_columns]

    def _take(self, block: Block) -> None:
        self._coverage.n_rows += block.n_rows
        when = self._cells(block, self._time.column, functools.partial(times, time=self._time))
        self._coverage.saw(when.value[when.known])
        by_names: dict[tuple[str, ...], list[ChosenColumn]] = {}
        for chosen in self._chosen:
            by_names.setdefault(chosen.name_columns, []).append(chosen)
        for name_columns, members in by_names.items():
            groups = list(rows_by_name([block.columns[name] for name in name_columns], block.n_rows))
            for chosen in members:
                convert = functools.partial(counts, scale=chosen.counter.scale)
                cells = self._cells(block, chosen.column, convert)
                self._take_column(chosen, when, cells, groups=groups)

    def _cells(self, block: Block, column: str, convert: Callable[[pa.Array], Cells]) -> Cells:
        try:
            cells = convert(block.columns[column])
        except BadInput as error:
            raise BadInput(
                f"{self._source.name}: column {column}: {error}; convert it, or correct the mapping"
            ) from error
        self._faults.note(block, column, cells)
        self._n_empty += int(np.count_nonzero(~cells.known & ~cells.bad))
        return cells

    def _take_column(
        self,
        chosen: ChosenColumn,
        when: Cells,
        cells: Cells,
        *,
        groups: list[tuple[tuple[str, ...], NDArray[np.intp] | slice]],
    ) -> None:
        known = when.known & cells.known
        complete = bool(known.all())
        for names, rows in groups:
            t_ns, value = when.value[rows], cells.value[rows]
            if not complete:
                t_ns, value = t_ns[known[rows]], value[known[rows]]
            self._feed(chosen, names).write(t_ns, value)

    def _feed(self, chosen: ChosenColumn, names: tuple[str, ...]) -> Feed:
        key = (chosen.column, names)
        if key not in self._feeds:
            self._feeds[key] = Feed(chosen.series(names, source=self._source.name), self._sink)
        return self._feeds[key]

    def _report(self, *, not_used: list[str]) -> None:
        coverage, name = self._coverage, self._source.name
        coverage.problems += [*self._faults.problems(name), *self._flaws()]
        coverage.n_samples = sum(feed.n_written for feed in self._feeds.values())
        if not coverage.n_samples:
            raise BadInput("\n".join(coverage.problems) or f"{name}: a header and no rows; is the file complete?")
        if not_used:
            coverage.skip(f"columns {', '.join(not_used[:_NAMED])}", "not counters of the mapping")
        n_dropped = sum(feed.n_dropped for feed in self._feeds.values())
        if n_dropped:
            coverage.skip(
                f"cells ({n_dropped})", "time stands there twice: same value, or the last of a counter is kept"
            )
        if self._n_empty:
            coverage.skip(f"cells ({self._n_empty})", "empty")
        coverage.totals["late"] = sum(feed.n_late for feed in self._feeds.values())

    def _flaws(self) -> Iterator[str]:
        ragged, garbled = self._table.ragged, self._table.garbled
        if ragged.n_lines:
            yield (
                f"{self._source.name}: {ragged.first}: not the {len(self._table.columns)} cells of the header; "
                f"lines like it ({ragged.n_lines}) were left out; correct them"
            )
        if garbled.n_lines:
            yield (
                f"{self._source.name}: {garbled.first}: not UTF-8, nor are others like it ({garbled.n_lines}); "
                "convert the file, as with iconv"
            )
