"""``offbeat lake``: what a lake holds, whether it is whole, and its small files made large ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.lake_options import lake_address
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
from profiler.errors import UsageError

if TYPE_CHECKING:
    from profiler.store import Lake

__all__ = ["lake"]


def lake(
    folder: Annotated[
        Path, typer.Argument(metavar="LAKE", parser=lake_address, help="Folder, or address in a bucket.")
    ],
    check: Annotated[bool, typer.Option("--check", help="Read every file and compare it with the manifest.")] = False,
    compact: Annotated[bool, typer.Option("--compact", help="Merge the small sample files of each day.")] = False,
    push: Annotated[
        str | None,
        typer.Option(
            "--push", metavar="ADDRESS", help="Copy it to a bucket: s3://BUCKET/FOLDER or gs://BUCKET/FOLDER."
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Show what a lake holds, check that it is whole, compact it, or copy it to a bucket.

    --check reads all: hashes, counts and order of rows, files that are missing or do not belong, and readings that two
    files give differently; it ends with 3 if the lake is not whole, or may not be read. --compact may run while others
    record and read; it names files that are wrong, leaves them as they are, and ends with 3. --push copies what the
    bucket has not yet, and may run while others record and read too: the copy is whole at any instant.

    Example:

        offbeat lake lake

        offbeat lake lake --check

        offbeat lake lake --push s3://bucket/lake
    """
    from profiler.store import Lake

    if sum([check, compact, push is not None]) > 1:
        raise UsageError("lake: --check, --compact or --push, one at a time")
    found = Lake.open(folder)
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if check:
        _check(found, chosen)
    elif compact:
        _compact(found, chosen)
    elif push is not None:
        _push(found, push, chosen)
    else:
        _show(found, chosen)


def _show(found: Lake, chosen: Format) -> None:
    from profiler.units import format_bytes

    sizes, states, leftovers = found.sizes(), found.states(), found.leftovers()
    if chosen is Format.JSON:
        print_json({"kind": "lake", "version": 1, "tables": sizes, "recordings": states, "leftovers": leftovers})
    elif chosen is Format.CSV:
        print_rows(sizes, output=chosen)
    else:
        print_rows([_readable(row, format_bytes=format_bytes) for row in sizes], output=chosen)
        told = ", ".join(f"{n} {state}" for state, n in states.items()) or "none"
        print_lines(["", f"recordings: {told}"])
        if leftovers["n_files"]:
            size = f"{leftovers['n_files']} files, {format_bytes(leftovers['n_bytes'])}"
            print_lines([f"not counting: {size}: being written, or replaced; --compact deletes what is an hour old"])


def _readable(row: dict[str, Any], *, format_bytes: Callable[[float], str]) -> dict[str, str]:
    import pandas as pd

    first, last = (
        "" if row[key] is None else str(pd.Timestamp(row[key], unit="ns", tz="UTC").floor("s"))[:19]
        for key in ("t_first_ns", "t_last_ns")
    )
    return {
        "table": row["table"],
        "files": str(row["n_files"]),
        "rows": str(row["n_rows"]),
        "size": format_bytes(row["n_bytes"]),
        "from (UTC)": first,
        "to (UTC)": last,
    }


def _check(found: Lake, chosen: Format) -> None:
    from profiler.store import check_lake
    from profiler.units import format_bytes

    with _progress("checking", found) as advance:
        result = check_lake(found, advance=advance)
    if chosen is Format.JSON:
        print_json(result.to_dict())
    elif chosen is Format.CSV:
        rows = [{"problem": problem} for problem in (*result.problems, *result.unread)]
        print_rows(rows, output=chosen, columns=["problem"])
    else:
        state = {True: "whole", False: "not whole", None: "not known to be whole"}[result.is_whole]
        size = f"{result.n_files} files, {result.n_rows} rows, {format_bytes(result.n_bytes)}"
        print_lines([*result.problems, *result.unread, *result.notes, f"{found.root}: {state}: {size}"])
    if not result.is_whole:
        raise typer.Exit(3)


def _compact(found: Lake, chosen: Format) -> None:
    from dataclasses import asdict

    from profiler.store import compact as compact_lake

    with _progress("compacting", found) as advance:
        result = compact_lake(found, advance=advance)
    done = asdict(result)
    if chosen is Format.JSON:
        print_json({"kind": "compaction", "version": 1, **done})
    else:
        print_rows([{name: value for name, value in done.items() if name != "problems"}], output=chosen)
        for problem in result.problems:
            note(f"offbeat: left as it is: {problem}")
    if result.problems:
        raise typer.Exit(3)
    if not result.n_before:
        note("offbeat: nothing to merge")


def _push(found: Lake, target: str, chosen: Format) -> None:
    from dataclasses import asdict

    from profiler.store import push as push_lake

    with _progress("copying", found) as advance:
        result = push_lake(found, target, advance=advance)
    if chosen is Format.JSON:
        print_json(result.to_dict())
    else:
        print_rows([asdict(result)], output=chosen)


@contextmanager
def _progress(what: str, found: Lake) -> Iterator[Callable[[int], object]]:
    """Yield what moves a bar on stderr by a number of bytes, if that is a terminal."""
    if not sys.stderr.isatty():
        yield int
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=sum(row["n_bytes"] for row in found.sizes()))
        yield lambda n_bytes: bar.advance(task, n_bytes)
