"""How a lake is divided into shards and who computes them, as the command line gives it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.units import parse_duration_s

if TYPE_CHECKING:
    from pipeline.batch import BatchOptions

__all__ = [
    "EngineChoice",
    "EngineOption",
    "EveryOption",
    "MergeFlag",
    "RunsOption",
    "ShardOption",
    "WindowOption",
    "WorkOption",
    "WorkersOption",
    "read_batch",
]


class EngineChoice(StrEnum):
    """Values of ``--engine``."""

    LOCAL = "local"
    RAY = "ray"


EngineOption = Annotated[
    EngineChoice,
    typer.Option("--engine", help="Who profiles: processes of this machine, or tasks of the cluster at RAY_ADDRESS."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="Processes that profile; else one a processor. With --engine ray, of the cluster started here.",
    ),
]
WindowOption = Annotated[
    str,
    typer.Option(
        "--window",
        metavar="TIME",
        help="Analyse of each port the last one to two of these; of earlier time each one once, for history_by_job.",
    ),
]
WorkOption = Annotated[
    Path | None,
    typer.Option("--work", metavar="DIR", help="Folder for finished shards.", show_default="work/ in the lake"),
]
ShardOption = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Only profile the I-th of N shares, counted from 1; then --merge."),
]
MergeFlag = Annotated[
    bool, typer.Option("--merge", help="Analyse what --shard runs have finished, and profile nothing.")
]
EveryOption = Annotated[
    str | None,
    typer.Option("--every", metavar="TIME", help="Analyse again so often, such as 5m, until Ctrl-C: one row a run."),
]
RunsOption = Annotated[int | None, typer.Option("--runs", metavar="N", help="With --every: end after N runs.")]


def read_batch(
    engine: EngineChoice, *, workers: int | None, window: str, work: Path | None, merge: bool = False
) -> BatchOptions:
    """Return how shards are computed.

    Raises
    ------
    UsageError
        If the window is no duration.
    """
    from pipeline.batch import BatchOptions

    return BatchOptions(
        engine=engine.value,
        n_workers=workers,
        window_s=parse_duration_s(window),
        work=work,
        compute="nothing" if merge else "missing",
    )
