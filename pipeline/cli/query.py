"""``offbeat query``: a named question to the lake."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pipeline.cli.answer_format import AnswerFormatOption, MemoryOption, OutOption, answer_format
from pipeline.cli.answers import deliver, print_answer
from pipeline.cli.assignments import read_assignments
from pipeline.cli.lake_options import MaybeLakeOption
from pipeline.cli.lost_files import LeaveOutFlag, without_lost
from pipeline.cli.printer import CsvFlag, JsonFlag, note
from pipeline.cli.query_bar import QueryBar
from profiler.errors import UsageError

__all__ = ["query"]


def query(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the query; see --list.")] = None,
    lake: MaybeLakeOption = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="A parameter's value; may be repeated.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the queries, their parameters and defaults.")] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Print the SQL of a query, view or function, with its notes.")
    ] = False,
    out: OutOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --out if it exists.")] = False,
    leave_out_lost: LeaveOutFlag = False,
    memory: MemoryOption = "1GB",
    output: AnswerFormatOption = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Answer a named question about the lake, such as jobs_by_link.

    Example:

        offbeat query jobs_by_link --lake lake --param min_jobs=2

        offbeat query utilisation_by_link --lake lake --out utilisation.parquet
    """
    from pipeline.sql import Answer, describe_queries, find_text, open_lake, unknown_names

    chosen = answer_format(output, as_json=as_json, as_csv=as_csv, out=out)
    if list_all:
        print_answer(Answer.of_table(describe_queries()), output=chosen, head=_head(name))
    elif name is None:
        raise UsageError("query: give a NAME and --lake, or --list to see the names")
    elif show:
        typer.echo(find_text(name), nl=False)
    elif lake is None:
        raise UsageError(f"query {name}: give --lake LAKE, or --show to read the query")
    else:
        values = read_assignments(param or [], place="--param")
        with (
            without_lost(lake, leave_out=leave_out_lost) as lost,
            open_lake(lake, memory_limit=memory, without=lost) as database,
            QueryBar() as bar,
        ):
            answer = database.stream_query(name, values, on_progress=bar.show)
            if not deliver(answer, output=chosen, head=_head(name), out=out, force=force, bar=bar):
                for sentence in unknown_names(database, values):
                    note(f"offbeat: {sentence}")


def _head(name: str | None) -> dict[str, Any]:
    return {"kind": "query", "version": 1, "name": name}
