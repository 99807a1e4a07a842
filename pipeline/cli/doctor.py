"""``offbeat doctor``: what this host can measure, at which interval, and what it is blind to."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.printer import (
    CsvFlag,
    Format,
    FormatOption,
    JsonFlag,
    chosen_format,
    print_json,
    print_lines,
    print_rows,
)

if TYPE_CHECKING:
    from profiler.doctor import Checkup

__all__ = ["doctor"]


def doctor(
    watch: Annotated[str, typer.Option("--for", metavar="TIME", help="Time to watch the counters.")] = "2s",
    sys_root: Annotated[Path, typer.Option("--sys-root", metavar="DIR", help="Root of the kernel's tree.")] = Path(
        "/sys"
    ),
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Tell what this host can measure, at which interval, and what it is blind to.

    Every counter is read each millisecond for a moment, so that a device which copies its counters more slowly is
    found, if it has traffic. Ends with 3 if nothing can be recorded here.

    Example:

        offbeat doctor
    """
    from profiler.doctor import examine
    from profiler.units import parse_duration_s

    found = examine(sys_root, host=socket.gethostname(), watch_s=parse_duration_s(watch))
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if chosen is Format.JSON:
        print_json(found.to_dict())
    elif chosen is Format.CSV:
        print_rows(found.to_rows(), output=chosen)
    else:
        print_rows([port.to_text_row() for port in found.ports], output=chosen)
        print_lines(["", *_lines(found)])
    if not any(port.is_up and port.counters for port in found.ports):
        raise typer.Exit(3)


def _lines(found: Checkup) -> list[str]:
    median_us, most_us = found.late_us
    lines = [f"{port.name}: {remark}" for port in found.ports for remark in port.remarks]
    lines.append(f"wakes up {median_us:.0f} us late (99 of 100 within {most_us:.0f} us)")
    if found.watched_s:
        lines.append(f"{found.missed_frac:.2%} of ticks missed at {found.interval_s * 1e3:g} ms")
    return [*lines, *found.remarks]
