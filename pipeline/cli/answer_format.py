"""``--format`` and ``--out`` of the commands that answer with rows: a table, JSON, CSV or Parquet."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from profiler.errors import UsageError

__all__ = ["AnswerFormat", "AnswerFormatOption", "MemoryOption", "OutOption", "answer_format"]


class AnswerFormat(StrEnum):
    """Output formats of rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


AnswerFormatOption = Annotated[
    AnswerFormat | None, typer.Option("--format", help="How to print the answer.", show_default="table")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the answer to a .parquet, .csv or .json file.")
]
MemoryOption = Annotated[
    str, typer.Option("--memory", metavar="SIZE", help="Memory for a query; more is spilled to temporary files.")
]

_OF_SUFFIX: Final = {".parquet": AnswerFormat.PARQUET, ".csv": AnswerFormat.CSV, ".json": AnswerFormat.JSON}


def answer_format(output: AnswerFormat | None, *, as_json: bool, as_csv: bool, out: Path | None) -> AnswerFormat:
    """Return the format that the options ask for; a file's name tells it where they do not.

    Raises
    ------
    UsageError
        If a table is to be written to a file, or its name tells no format.
    """
    if as_json or as_csv:
        output = AnswerFormat.JSON if as_json else AnswerFormat.CSV
    if out is None:
        return output or AnswerFormat.TABLE
    chosen = output or _OF_SUFFIX.get(out.suffix.lower())
    if chosen is None or chosen is AnswerFormat.TABLE:
        raise UsageError(f"--out {out}: name a .parquet, .csv or .json file, or give --format")
    return chosen
