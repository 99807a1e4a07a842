"""What the analysis of a fleet takes: on one process and two, on Ray, again, and killed half-way and resumed.

``python -m tests.bench.fleet_run LAKE [--engines local ray] [--queries]``, of a lake that `tests.bench.fleet` wrote.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from profiler.store import Lake
from tests.bench.queries import queries_table, run_queries
from tests.bench.tables import layout
from tests.bench.watch import FamilyWatch
from tests.data import ROOT

__all__ = ["FleetRun", "fleet_table", "run_fleet"]

MB: Final = 10**6
OFFBEAT: Final = (sys.executable, "-c", "from pipeline.cli.main import run; run()")
SCAN: Final = """
import sys, duckdb
duckdb.connect(config={"memory_limit": "1GB"}).execute(
    "select count(*), sum(value), max(t_ns), max(window_ns), max(flags), max(epoch), max(series_id) "
    "from read_parquet(?, hive_partitioning = false)", [sys.argv[1:]]).fetchall()
"""
"""Every column of the samples is read, and nothing but summed up."""
LOOK_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """What one step took, all processes together; ``exit_code`` is negative if it was killed."""

    name: str
    wall_s: float
    cpu_s: float
    peak_bytes: int
    exit_code: int


def run_fleet(lake: Path, *, engines: Sequence[str] = ("local",)) -> Iterator[FleetRun]:
    """Yield a bare scan of the samples, and the analyses; each begins without any finished shard unless it says so.

    Parameters
    ----------
    lake
        Folder of the lake; its cluster file stands beside it.
    engines
        Which of ``local`` and ``ray``.
    """
    cluster = ["--cluster", str(lake.with_suffix(".toml"))]
    yield _run("bare scan", [sys.executable, "-c", SCAN, *map(str, Lake.open(lake).files("samples"))])
    for engine in engines:
        for n_workers in (1, 2) if engine == "local" else (2,):
            with tempfile.TemporaryDirectory() as work:
                command = ["--engine", engine, "--workers", str(n_workers), "--work", work]
                name = f"analyze, {engine}, {n_workers} process{'es' if n_workers > 1 else ''}"
                yield _run(name, [*OFFBEAT, "analyze", "--lake", str(lake), *cluster, *command, "--json"])
                if (engine, n_workers) == ("local", 2):
                    yield _run("again, nothing new", [*OFFBEAT, "analyze", "--lake", str(lake), *command, "--json"])
                    n_shards = len(list(Path(work).glob("*.shard")))
    if "local" in engines:
        with tempfile.TemporaryDirectory() as work:
            command = [*OFFBEAT, "analyze", "--lake", str(lake), "--workers", "2", "--work", work, "--json"]
            yield _run("killed when half was done", command, work=Path(work), kill_at=n_shards // 2)
            yield _run("and resumed", command)


def fleet_table(runs: Sequence[FleetRun]) -> str:
    """Return one row a step; ratios are to the first one, the bare scan."""
    rows = [["step", "wall s", "CPU s", "peak MB", "CPU / scan", "exit"]]
    rows += [
        [
            run.name,
            f"{run.wall_s:.1f}",
            f"{run.cpu_s:.1f}",
            f"{run.peak_bytes / MB:.0f}",
            f"{run.cpu_s / runs[0].cpu_s:.1f}" if runs[0].cpu_s else "-",
            str(run.exit_code),
        ]
        for run in runs
    ]
    return layout(rows)


def _run(name: str, command: Sequence[str], *, work: Path | None = None, kill_at: int = 0) -> FleetRun:
    """Run a command, and kill it once a work folder has so many finished shards, if one is given."""
    start_s = time.monotonic()
    with (
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True) as process,
        FamilyWatch(process.pid) as family,
    ):
        while work is not None and process.poll() is None and len(list(work.glob("*.shard"))) < kill_at:
            time.sleep(LOOK_S)
        if work is not None:
            process.send_signal(signal.SIGKILL)
        exit_code = process.wait()
    return FleetRun(
        name=name,
        wall_s=time.monotonic() - start_s,
        cpu_s=family.cpu_s,
        peak_bytes=family.peak_bytes,
        exit_code=exit_code,
    )


def main() -> None:
    """Measure a lake as the command line tells, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--engines", nargs="+", default=["local"], choices=("local", "ray"))
    parser.add_argument("--queries", action="store_true", help="each named query as well")
    given = parser.parse_args()
    sys.stdout.write(fleet_table(list(run_fleet(given.lake, engines=given.engines))) + "\n")
    if given.queries:
        sys.stdout.write(queries_table(list(run_queries(given.lake))) + "\n")


if __name__ == "__main__":
    main()
