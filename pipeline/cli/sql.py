"""``offbeat sql``: any SQL over the lake, read-only; or the lake's views as a database for other DuckDB clients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.printer import CsvFlag, Format, FormatOption, JsonFlag, chosen_format, note, print_json, print_rows
from profiler.errors import BadInput, UsageError

__all__ = ["sql"]


def sql(
    lake: Annotated[Path, typer.Option("--lake", metavar="FOLDER", help="Folder of the lake.")],
    statement: Annotated[
        str | None, typer.Argument(metavar="STATEMENT", help="One statement that reads; - or none: from stdin.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Read the statement from a file.")] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write a DuckDB database of views over the lake instead."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --export if it exists.")] = False,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Run SQL over the lake's tables and views, read-only.

    Example:

        offbeat sql --lake lake "select host, device, max(rate_bps) as top_bps from rates group by all order by all"
    """
    from pipeline.sql import export_views, open_lake, plain_rows, unique_names

    if export is not None:
        if statement is not None or file is not None:
            raise UsageError("sql: --export takes no statement; run them one after the other")
        note(f"offbeat: wrote {export_views(lake, export, force=force)}")
        return
    text = _statement(statement, file)
    with open_lake(lake) as database:
        answer = database.sql(text)
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    columns, rows = unique_names(answer.column_names), plain_rows(answer)
    if chosen is Format.JSON:
        print_json({"kind": "rows", "version": 1, "columns": columns, "rows": rows})
    else:
        print_rows(rows, output=chosen, columns=columns)


def _statement(statement: str | None, file: Path | None) -> str:
    if file is not None:
        if statement is not None:
            raise UsageError("sql: give a statement or --file, not both")
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{file}: {error}; give a text file with one SQL statement") from None
    if statement not in (None, "-"):
        return str(statement)
    if statement is None and sys.stdin.isatty():
        raise UsageError('sql: give a statement, such as "select * from series", or --file')
    return sys.stdin.read()
