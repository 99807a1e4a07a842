"""How every command prints its answer: one declaration of ``--format``, one place that writes to stdout.

The answer goes to stdout, everything else to stderr.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import typer

from profiler.results import json_ready

if TYPE_CHECKING:
    from _csv import Writer as CsvWriter

__all__ = [
    "CsvFlag",
    "Format",
    "FormatOption",
    "JsonFlag",
    "chosen_format",
    "csv_writer",
    "note",
    "print_json",
    "print_lines",
    "print_rows",
]


PIPE_WIDTH: Final = 100_000
"""Where stdout is no terminal a row is one line, however long."""
GAP: Final = 2
PROSE: Final = 30
"""Columns of a terminal that prose in the last column needs at least."""


class Format(StrEnum):
    """Output formats of every command."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the answer.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Short for --format json.")]
CsvFlag = Annotated[bool, typer.Option("--csv", help="Short for --format csv.")]


def chosen_format(output: Format, *, as_json: bool, as_csv: bool) -> Format:
    """Return the format that the flags ask for; ``--json`` and ``--csv`` are short for ``--format``."""
    if as_json:
        return Format.JSON
    return Format.CSV if as_csv else output


def csv_writer(stream: IO[str]) -> CsvWriter:
    """Return what writes CSV whose lines end with LF alone: a CR would stay in what a shell reads from it."""
    return csv.writer(stream, lineterminator="\n")


def note(message: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(message + "\n")


def print_json(value: Mapping[str, Any]) -> None:
    """Write one JSON document to stdout, without NaN."""
    sys.stdout.write(json.dumps(json_ready(dict(value)), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def print_rows(rows: Sequence[Mapping[str, Any]], *, output: Format, columns: Sequence[str] | None = None) -> None:
    """Write rows as a table or CSV to stdout; for JSON call `print_json`."""
    names = list(columns or (rows[0] if rows else ()))
    if output is Format.CSV:
        writer = csv_writer(sys.stdout)
        writer.writerow(names)
        writer.writerows([row[name] for name in names] for row in rows)
        return
    shown = [["-" if row[name] is None else _shown(str(row[name])) for name in names] for row in rows]
    heads = [_shown(name) for name in names]
    if sys.stdout.isatty() and _least_width(heads, shown) > shutil.get_terminal_size().columns:
        _print_records(heads, shown)
    else:
        _print_table(heads, shown)


def _least_width(heads: Sequence[str], shown: Sequence[Sequence[str]]) -> int:
    """Return the columns of a terminal that a table needs whose last column, the prose, may be folded."""
    widths = [max(map(len, cells)) for cells in zip(heads, *shown, strict=True)]
    return sum(width + GAP for width in widths[:-1]) + min(PROSE, widths[-1] if widths else 0)


def _print_table(heads: Sequence[str], shown: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold", no_wrap=head != heads[-1])
    for cells in shown:
        table.add_row(*cells)
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(file=sys.stdout, width=width, highlight=False, markup=False).print(table)


def _print_records(heads: Sequence[str], shown: Sequence[Sequence[str]]) -> None:
    """Write a line a value, for a terminal that is too narrow for the table."""
    if not shown:
        note(f"offbeat: no rows of {', '.join(heads)}")
    indent = max(map(len, heads)) + GAP
    for cells in shown:
        typer.echo("\n".join(f"{head:<{indent}}{cell}" for head, cell in zip(heads, cells, strict=True)) + "\n")


def print_lines(lines: Iterable[str]) -> None:
    """Write prose to stdout, a sentence or finding a line."""
    for line in lines:
        typer.echo(_shown(line))


def _shown(text: str) -> str:
    """Return text whose control characters are written out: a name must not command the terminal."""
    return "".join(repr(letter)[1:-1] if unicodedata.category(letter) == "Cc" else letter for letter in text)
