"""Answers of SQL, printed or written batch by batch: however many rows there are, a few thousand are in memory."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final

from pipeline.cli.answer_format import AnswerFormat
from pipeline.cli.printer import Format, csv_writer, note, print_rows
from profiler.errors import UsageError
from profiler.results import json_ready

if TYPE_CHECKING:
    from pipeline.cli.query_bar import QueryBar
    from pipeline.sql import Answer

__all__ = ["deliver", "print_answer", "write_answer"]

TABLE_ROWS: Final = 1000
"""A table of more rows is printed in parts, each under its own heads."""


def deliver(
    answer: Answer, *, output: AnswerFormat, head: Mapping[str, Any], out: Path | None, force: bool, bar: QueryBar
) -> int:
    """Write an answer to a file and say so, or print it once nothing else is drawn; return its number of rows."""
    if out is not None:
        n_rows = write_answer(answer, out, output=output, head=head, force=force)
        bar.close()
        note(f"offbeat: wrote {out}: {n_rows} row{'' if n_rows == 1 else 's'}")
        return n_rows
    if sys.stdout.isatty():
        bar.close()
    return print_answer(answer, output=output, head=head)


def print_answer(answer: Answer, *, output: AnswerFormat, head: Mapping[str, Any]) -> int:
    """Write an answer to stdout, and return its number of rows.

    Parameters
    ----------
    answer
        Rows to print.
    output
        How to print them.
    head
        What a JSON document tells before its columns and rows.

    Raises
    ------
    UsageError
        If stdout is a terminal and the format is not text.
    """
    if output is AnswerFormat.TABLE:
        return _print_table(answer)
    if output is not AnswerFormat.PARQUET:
        return _write_text(answer, sys.stdout, output=output, head=head)
    if sys.stdout.isatty():
        raise UsageError("--format parquet is not text; give --out FILE.parquet, or redirect stdout")
    return _write_parquet(answer, sys.stdout.buffer)


def write_answer(answer: Answer, path: Path, *, output: AnswerFormat, head: Mapping[str, Any], force: bool) -> int:
    """Write an answer to a file, whole or not at all, and return its number of rows.

    Raises
    ------
    UsageError
        If the file exists and is not to be replaced, or Parquet has no such type.
    """
    from pipeline.outfile import new_file

    with new_file(path, existing="replace" if force else "keep") as file:
        if output is AnswerFormat.PARQUET:
            return _write_parquet(answer, file)
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        n_rows = _write_text(answer, text, output=output, head=head)
        text.flush()
        text.detach()
        return n_rows


def _write_text(answer: Answer, stream: IO[str], *, output: AnswerFormat, head: Mapping[str, Any]) -> int:
    return _write_csv(answer, stream) if output is AnswerFormat.CSV else _write_json(answer, stream, head=head)


def _print_table(answer: Answer) -> int:
    from pipeline.sql import plain_rows

    rows: list[dict[str, Any]] = []
    n_printed = 0
    for batch in answer:
        rows += plain_rows(batch)
        while len(rows) >= TABLE_ROWS:
            print_rows(rows[:TABLE_ROWS], output=Format.TABLE, columns=answer.columns)
            del rows[:TABLE_ROWS]
            n_printed += TABLE_ROWS
    if rows or not n_printed:
        print_rows(rows, output=Format.TABLE, columns=answer.columns)
    return n_printed + len(rows)


def _write_csv(answer: Answer, stream: IO[str]) -> int:
    from pipeline.sql import plain_rows

    writer = csv_writer(stream)
    writer.writerow(answer.columns)
    n_rows = 0
    for batch in answer:
        writer.writerows([_cell(value) for value in row.values()] for row in plain_rows(batch))
        n_rows += batch.num_rows
    return n_rows


def _cell(value: Any) -> Any:  # noqa: ANN401 - any plain value
    return json.dumps(json_ready(value), ensure_ascii=False) if isinstance(value, dict | list) else value


def _write_json(answer: Answer, stream: IO[str], *, head: Mapping[str, Any]) -> int:
    """Write one document as `json.dumps` would with an indent of 2, its rows as they come."""
    from pipeline.sql import plain_rows

    known = json.dumps(json_ready({**head, "columns": answer.columns}), indent=2, ensure_ascii=False, allow_nan=False)
    stream.write(known.removesuffix("\n}") + ',\n  "rows": [')
    n_rows = 0
    for batch in answer:
        for row in plain_rows(batch):
            text = json.dumps(json_ready(row), indent=2, ensure_ascii=False, allow_nan=False)
            stream.write((",\n    " if n_rows else "\n    ") + text.replace("\n", "\n    "))
            n_rows += 1
    stream.write("\n  ]\n}\n" if n_rows else "]\n}\n")
    return n_rows


def _write_parquet(answer: Answer, stream: BinaryIO) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows = 0
    try:
        with pq.ParquetWriter(stream, answer.schema, compression="zstd") as writer:
            for batch in answer:
                writer.write_batch(batch)
                n_rows += batch.num_rows
    except pa.ArrowNotImplementedError as error:
        raise UsageError(f"Parquet: {error}; cast that column, as in: interval_column::varchar") from None
    return n_rows
