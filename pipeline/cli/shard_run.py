"""``offbeat analyze --shard``: one share of the shards, as a process of a job array does it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pipeline.cli.faults import note_capacities, note_faults
from pipeline.cli.printer import Format, print_json, print_rows
from pipeline.cli.progress import port_progress

if TYPE_CHECKING:
    from pipeline.batch import BatchOptions

__all__ = ["run_share"]


def run_share(lake: Path, *, shard: str, cluster: Sequence[Path] | None, batch: BatchOptions, output: Format) -> None:
    """Finish a share, print what became of it, and end with 1 if some of it failed."""
    from pipeline.batch import Share, profile_share
    from pipeline.measured import closed_shards, read_ports
    from pipeline.topology import read_cluster
    from profiler.store import Lake

    share, start_s = Share.parse(shard), time.monotonic()
    store = Lake.open(lake)
    ports = read_ports(store, read_cluster(*cluster).to_tables() if cluster else None)
    with port_progress() as on_port:
        run = profile_share(store, ports, options=batch, share=share, on_port=on_port, known=closed_shards(store))
    row = {
        "shard": shard,
        "shards": run.n_shards,
        "kept": run.n_kept,
        "finished": run.n_finished,
        "failed": run.n_shards - run.n_kept - run.n_finished,
        "duration_s": round(time.monotonic() - start_s, 3),
    }
    warnings = [f"{one.what}: {one.why}" for one in run.faults]
    if output is Format.JSON:
        print_json({"kind": "shard_run", "version": 1, **row, "warnings": warnings})
    else:
        print_rows([row], output=output)
    note_capacities(run.n_otherwise)
    note_faults(warnings)
    if warnings:
        raise typer.Exit(1)
