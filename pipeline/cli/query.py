"""``offbeat query``: a named question to the lake."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.printer import CsvFlag, Format, FormatOption, JsonFlag, chosen_format, print_json, print_rows
from profiler.errors import UsageError

__all__ = ["query"]


def query(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the query; see --list.")] = None,
    lake: Annotated[Path | None, typer.Option("--lake", metavar="FOLDER", help="Folder of the lake.")] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="A parameter's value; may be repeated.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the queries, their parameters and defaults.")] = False,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Answer a named question about the lake, such as jobs_by_link.

    Example:

        offbeat query jobs_by_link --lake lake --param min_jobs=2
    """
    from pipeline.sql import list_queries, open_lake, plain_rows

    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if list_all:
        columns, rows = ["query", "params", "purpose"], [query.to_row() for query in list_queries()]
    elif name is None or lake is None:
        raise UsageError("query: give a NAME and --lake, or --list to see the names")
    else:
        with open_lake(lake) as database:
            answer = database.run(name, **_assignments(param or []))
        columns, rows = answer.column_names, plain_rows(answer)
    if chosen is Format.JSON:
        print_json({"kind": "query", "version": 1, "name": name, "columns": columns, "rows": rows})
    else:
        print_rows(rows, output=chosen, columns=columns)


def _assignments(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for (key, equals, _), text in zip(pairs, texts, strict=True):
        if not key or not equals:
            raise UsageError(f"--param {text!r}: expected name=value, such as link_id=trunk")
    return {key: value for key, _, value in pairs}
