"""``offbeat demo``: everything on the sample data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.printer import (
    CsvFlag,
    Format,
    FormatOption,
    JsonFlag,
    chosen_format,
    note,
    print_json,
    print_lines,
    print_rows,
)

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the lake and the report.")] = Path(
        "out/demo"
    ),
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Folder of the sample data; else that of the source.")
    ] = None,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Run the whole path on real sample data, from counters to advice.

    Two training jobs share a 400 Mbit/s trunk: what is found is compared with what the jobs wrote down. Running it
    again replaces its own report.

    Example:

        offbeat demo --out out/demo
    """
    from datetime import UTC, datetime

    from pipeline.demo import find_sample_data, run_demo

    done = run_demo(find_sample_data(data), out=out, made_at=datetime.now(tz=UTC), on_step=note)
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if chosen is Format.JSON:
        print_json(done.to_dict())
        return
    print_rows(done.to_rows(), output=chosen)
    if chosen is Format.TABLE:
        print_lines(["", *done.in_words()])
