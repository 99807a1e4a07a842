"""What failed, on stderr, where it is not the end of a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pipeline.cli.printer import note
from profiler.units import format_duration

if TYPE_CHECKING:
    from pipeline.runs import Run

__all__ = ["note_capacities", "note_faults", "note_window"]

MOST: Final = 20
"""One file can fail hundreds of shards; all of them are in the JSON."""


def note_faults(warnings: Sequence[str]) -> None:
    """Write the first of some warnings to stderr, and how many there are more."""
    for warning in warnings[:MOST]:
        note(f"offbeat: {warning}")
    if len(warnings) > MOST:
        note(f"offbeat: and {len(warnings) - MOST} more; --json lists them all")


def note_window(run: Run) -> None:
    """Write to stderr that the window is another than before: results are of another time, and shards are others."""
    if run.window_before_s is not None:
        note(
            f"offbeat: the analysis before had --window {format_duration(run.window_before_s)}: another time is "
            "profiled now, and shards finished for that window do not count"
        )


def note_capacities(n_otherwise: int) -> None:
    """Write to stderr that shards are finished, but for other capacities of their ports: of no use here."""
    if n_otherwise:
        are = "1 shard is" if n_otherwise == 1 else f"{n_otherwise} shards are"
        note(
            f"offbeat: {are} finished for other capacities of the ports, as another --cluster or none tells them, and "
            f"{'does' if n_otherwise == 1 else 'do'} not count"
        )
