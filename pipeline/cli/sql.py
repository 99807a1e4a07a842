"""``offbeat sql``: any SQL over the lake, read-only; or the lake's views as a database for other DuckDB clients."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pipeline.cli.answer_format import AnswerFormat, AnswerFormatOption, MemoryOption, OutOption, answer_format
from pipeline.cli.answers import deliver, print_answer
from pipeline.cli.lake_options import MaybeLakeOption
from pipeline.cli.lost_files import LeaveOutFlag, without_lost
from pipeline.cli.printer import CsvFlag, JsonFlag, note, print_lines
from pipeline.cli.query_bar import QueryBar
from profiler.errors import BadInput, UsageError

if TYPE_CHECKING:
    from pipeline.sql import Database

__all__ = ["ROWS_HEAD", "sql"]

ROWS_HEAD: Final = {"kind": "rows", "version": 1}
"""What a JSON answer begins with."""
_DOT_COMMAND: Final = re.compile(r"(?:\A|;|\n)\s*(\.[a-z]+)")


def sql(
    statement: Annotated[
        str | None,
        typer.Argument(metavar="STATEMENT", help="What reads; - from stdin; none at a terminal: ask for statements."),
    ] = None,
    lake: MaybeLakeOption = None,
    file: Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Read statements from a file.")] = None,
    out: OutOption = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write a DuckDB database of views over the lake instead."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --out or --export if it exists.")] = False,
    functions: Annotated[bool, typer.Option("--functions", help="List the functions that SQL can call.")] = False,
    leave_out_lost: LeaveOutFlag = False,
    memory: MemoryOption = "1GB",
    output: AnswerFormatOption = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Run SQL over the lake's tables and views, read-only; without a statement, ask for them.

    Statements can read the lake and nothing else: no other file, no network, no setting. Functions count wraps, fold
    by a period and score two jobs: --functions. The prompt at a terminal has commands too, which begin with a dot
    (.help lists them); files and pipes hold SQL alone.

    Example:

        offbeat sql --lake lake "select host, device, max(rate_bps) as top_bps from rates group by all order by all"

        offbeat sql --lake lake
    """
    from pipeline.sql import Answer, describe_functions, export_views, open_lake

    chosen = answer_format(output, as_json=as_json, as_csv=as_csv, out=out)
    if functions:
        print_answer(Answer.of_table(describe_functions()), output=chosen, head={"kind": "functions", "version": 1})
        return
    if lake is None:
        raise UsageError("sql: give --lake LAKE, or --functions to see what SQL can call")
    if export is not None:
        _check_alone(statement, file)
        with without_lost(lake, leave_out=leave_out_lost) as lost:
            note(f"offbeat: wrote {export_views(lake, export, force=force, without=lost or ())}")
        return
    asks = statement is None and file is None and sys.stdin.isatty()
    text = "" if asks else _text(statement, file)
    with (
        without_lost(lake, leave_out=leave_out_lost) as lost,
        open_lake(lake, memory_limit=memory, without=lost) as database,
    ):
        if asks:
            from pipeline.cli.shell import run_shell

            run_shell(database, output=chosen)
        else:
            _run(database, text, output=chosen, out=out, force=force)


def _run(database: Database, text: str, *, output: AnswerFormat, out: Path | None, force: bool) -> None:
    """Run each statement of a text; an answer of several is a table or a JSON document each."""
    statements = _statements(database, text)
    if len(statements) > 1 and (out is not None or output in (AnswerFormat.CSV, AnswerFormat.PARQUET)):
        raise UsageError(f"expected one SQL statement, found {len(statements)}; several need --format table or json")
    for i, one in enumerate(statements):
        if i and output is AnswerFormat.TABLE:
            print_lines([""])
        with QueryBar() as bar:
            answer = database.stream(one, on_progress=bar.show)
            deliver(answer, output=output, head=ROWS_HEAD, out=out, force=force, bar=bar)


def _statements(database: Database, text: str) -> list[str]:
    try:
        return database.split(text) or [text]
    except UsageError:
        if command := _DOT_COMMAND.search(text):
            raise UsageError(
                f"{command[1]}: what begins with a dot is for the prompt of offbeat sql at a terminal; give SQL alone, "
                "or use offbeat query --list, offbeat query NAME or offbeat sql --functions"
            ) from None
        raise


def _check_alone(statement: str | None, file: Path | None) -> None:
    if statement is not None or file is not None:
        raise UsageError("sql: --export takes no statement; run them one after the other")


def _text(statement: str | None, file: Path | None) -> str:
    if file is not None:
        if statement is not None:
            raise UsageError("sql: give a statement or --file, not both")
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{file}: {error}; give a text file with SQL statements") from None
    return sys.stdin.read() if statement in (None, "-") else str(statement)
