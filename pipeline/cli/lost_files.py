"""``--leave-out-lost``: answers from the files of samples that are left, those lost named."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.faults import note_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LeaveOutFlag", "without_lost"]

LeaveOutFlag = Annotated[
    bool,
    typer.Option(
        "--leave-out-lost",
        help="Check all files of samples; answer without those missing or damaged, name them, and end with 1.",
    ),
]


@contextmanager
def without_lost(lake: Path, *, leave_out: bool) -> Iterator[list[Path] | None]:
    """Yield the files to leave out, and once the answer is given end with 1 if there are any: it is not whole.

    None where nothing was to be left out, and so nothing was checked.
    """
    from profiler.store import Lake
    from profiler.store.lost import lost_files

    if not leave_out:
        yield None
        return
    lost = lost_files(Lake.open(lake), "samples")
    note_faults([f"left out {path}: {why}" for path, why in lost.items()])
    yield list(lost)
    if lost:
        raise typer.Exit(1)
