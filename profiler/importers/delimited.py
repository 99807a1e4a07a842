"""Importer of counter tables: CSV, TSV or Parquet, plain or with a column mapping."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from profiler.errors import BadInput
from profiler.importers.cells import Cells, counts, times
from profiler.importers.clocks import is_undated
from profiler.importers.columns import ChosenColumn, chosen_columns, rows_by_name
from profiler.importers.contents import kind_of
from profiler.importers.coverage import Coverage
from profiler.importers.faults import Faults
from profiler.importers.feed import Feed, tell_feeds
from profiler.importers.importer import Importer, Options
from profiler.importers.mapping import TIME_UNITS, Mapping, plain_mapping
from profiler.importers.tables import open_table
from profiler.importers.text_table import split_header
from profiler.importers.timeunits import dated_unit, mistaken_unit

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
    reading = _Reading(source, table, mapping=mapping, sink=sink, host=options.host or source.default_host)
    coverage = reading.run()
    if options.mapping is not None:
        for column in reading.not_found:
            coverage.skip(f"counter {column}", "of the mapping: no column has its name, or another counter took it")
    return coverage


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
        self._last_feed: Feed | None = None
        self._coverage = Coverage()
        self.not_found = _columns_not_found(mapping, self._chosen)
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
            feed.close(is_cut=self._table.is_cut and feed is self._last_feed)
        self._report(not_used=[column for column in self._table.columns if column not in used])
        return self._coverage

    def _check(self, mapping: Mapping) -> None:
        wanted = [self._time.column, *sorted(self._name_columns)]
        missing = [column for column in wanted if column not in self._table.columns]
        if not self._chosen:
            missing += self.not_found
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
        self._coverage.n_read += block.n_rows * len(self._chosen)
        when = self._cells(block, self._time.column, functools.partial(times, time=self._time))
        if self._time.format is None and not self._feeds:
            self._check_unit(when.value[when.known])
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

    def _check_unit(self, t_ns: NDArray[np.int64]) -> None:
        unit = self._time.unit
        looks_like = mistaken_unit(t_ns, unit)
        if looks_like is not None:
            raise BadInput(
                f"{self._source.name}: column {self._time.column}: times such as {t_ns[0] // TIME_UNITS[unit]} look "
                f"like {looks_like}: as {unit} they would be {np.median(np.diff(np.unique(t_ns))):g} ns apart; give a "
                f"--mapping with unit = {looks_like!r}, or name the column t_s if it is in s"
            )
        if t_ns.size and is_undated(int(t_ns.max())) and (likely := dated_unit(np.sort(t_ns), unit)):
            why = f"in {unit}, times such as {t_ns[0] // TIME_UNITS[unit]} are of 1970; in {likely} they were of today"
            self._coverage.skip("clock", why)

    def _cells(self, block: Block, column: str, convert: Callable[[pa.Array], Cells]) -> Cells:
        try:
            cells = convert(block.columns[column])
        except BadInput as error:
            raise BadInput(
                f"{self._source.name}: column {column}: {error}; convert it, or correct the mapping"
            ) from error
        self._faults.note(block, column, cells)
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
        if not complete:
            self._leave_out(when, cells)
        n_named = 0
        for names, rows in groups:
            t_ns, value = when.value[rows], cells.value[rows]
            if not complete:
                t_ns, value = t_ns[known[rows]], value[known[rows]]
            feed = self._feed(chosen, names)
            feed.write(t_ns, value)
            n_named += t_ns.size
            if chosen.column == self._table.columns[-1] and _holds_last(rows, known.size):
                self._last_feed = feed
        self._coverage.leave_out("no name", int(np.count_nonzero(known)) - n_named)

    def _leave_out(self, when: Cells, cells: Cells) -> None:
        """Count the cells of a column that have no time or no value."""
        coverage = self._coverage
        coverage.leave_out("no time", int(np.count_nonzero(~when.known)))
        coverage.leave_out("no number", int(np.count_nonzero(when.known & cells.bad)))
        coverage.leave_out("empty", int(np.count_nonzero(when.known & ~cells.known & ~cells.bad)))

    def _feed(self, chosen: ChosenColumn, names: tuple[str, ...]) -> Feed:
        key = (chosen.column, names)
        if key not in self._feeds:
            self._feeds[key] = Feed(chosen.series(names, source=self._source.name), self._sink)
        return self._feeds[key]

    def _report(self, *, not_used: list[str]) -> None:
        coverage, name = self._coverage, self._source.name
        coverage.problems += [*self._faults.problems(name), *self._flaws()]
        n_ragged = self._table.ragged.n_lines * len(self._chosen)
        coverage.n_read += n_ragged
        coverage.leave_out("not the cells of the header", n_ragged)
        tell_feeds(self._feeds.values(), coverage, cut_in=name)
        if not coverage.n_samples:
            raise BadInput("\n".join(coverage.problems) or f"{name}: a header and no rows; is the file complete?")
        if not_used:
            coverage.skip(f"columns {', '.join(not_used[:_NAMED])}", "not counters of the mapping")
        for why in ("empty", "no time", "no name"):
            if coverage.left_out[why]:
                coverage.skip(f"cells ({coverage.left_out[why]})", why)
        coverage.totals["late"] = sum(feed.n_late for feed in self._feeds.values())

    def _flaws(self) -> Iterator[str]:
        ragged, garbled = self._table.ragged, self._table.garbled
        if self._coverage.left_out["no time"] and self._time.timezone != "UTC":
            yield (
                f"{self._source.name}: column {self._time.column}: an hour of {self._time.timezone} that summer time "
                "repeats or skips has no times that can be told apart; write them in UTC, or with their offset"
            )
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


def _columns_not_found(mapping: Mapping, chosen: Sequence[ChosenColumn]) -> list[str]:
    """Return what a mapping calls the counters that no column was chosen for."""
    found = {id(column.counter) for column in chosen}
    return [counter.column for counter in mapping.counters if id(counter) not in found]


def _holds_last(rows: NDArray[np.intp] | slice, n_rows: int) -> bool:
    """Return whether the last row of a block is among some rows."""
    return isinstance(rows, slice) or bool(rows[-1] == n_rows - 1)
