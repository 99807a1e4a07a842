"""``offbeat analyze --every``: one row a run, printed as it ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from pipeline.cli.faults import note_capacities, note_faults, note_window
from pipeline.cli.printer import Format, csv_writer, note, print_lines
from pipeline.cli.progress import port_progress
from profiler.units import NS_PER_S, format_duration

if TYPE_CHECKING:
    from pipeline.runs import Request, Run

__all__ = ["print_runs"]

COLUMNS: Final = (
    "run_ns",
    "duration_s",
    "series",
    "profiled",
    "periodic",
    "jobs",
    "links",
    "skipped",
    "late",
    "changes",
    "error",
)
"""Columns of the CSV."""
WIDTHS: Final = {"time": 20, "took": 8, "series": 6, "anew": 6, "periodic": 8, "links": 5}
"""Columns of the table but the last, which is prose."""


def print_runs(request: Request, *, every_s: float, n_runs: int | None, output: Format) -> bool:
    """Analyse again and again, print each run as it ends, and return whether the last one was whole."""
    from pipeline.runs import repeat

    is_whole = True
    with port_progress() as on_port:
        runs = repeat(request, every_s=every_s, n_runs=n_runs, on_port=on_port)
        _print_head(output)
        for run in runs:
            _print_run(run, output=output)
            is_whole = run.is_whole
    return is_whole


def _print_head(output: Format) -> None:
    """Print what stands above the rows."""
    if output is Format.CSV:
        csv_writer(sys.stdout).writerow(COLUMNS)
    elif output is Format.TABLE:
        print_lines([_line([*WIDTHS, "changes"])])


def _print_run(run: Run, *, output: Format) -> None:
    document = run.to_dict()
    changes = "; ".join(map(str, run.changes))
    if output is Format.JSON:
        sys.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")
    elif output is Format.CSV:
        csv_writer(sys.stdout).writerow([changes if name == "changes" else document[name] for name in COLUMNS])
    else:
        begun = datetime.fromtimestamp(run.run_ns // NS_PER_S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        figures = [document[name] for name in ("series", "profiled", "periodic", "links")]
        cells = [begun, format_duration(run.duration_s), *("-" if one is None else str(one) for one in figures)]
        print_lines([_line([*cells, run.error or changes or "none"])])
    sys.stdout.flush()
    note_window(run)
    note_capacities(run.n_otherwise)
    note_faults(run.warnings if run.error is None else [*run.warnings, run.error])
    if run.n_late:
        left_out = "1 run was" if run.n_late == 1 else f"{run.n_late} runs were"
        note(f"offbeat: {left_out} left out: the one before took longer than --every")


def _line(cells: Sequence[str]) -> str:
    widths = [*WIDTHS.values(), 0]
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
