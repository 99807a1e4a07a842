"""What the analysis of a fleet takes: on one process and two, on Ray, as a job array, again, and killed and resumed.

``python -m tests.bench.fleet_run LAKE [--engines local ray] [--discover]``, of a lake that `tests.bench.fleet` or
`tests.bench.fleet_ingest` wrote.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.bench.steps import OFFBEAT, Step, run_step, run_together, scan_command, steps_table

__all__ = ["ARRAY", "DISCOVERED", "KILLED", "RESUMED", "WHOLE", "discover_fleet", "run_fleet"]

WHOLE: Final = "analyze, local, 2 processes"
KILLED: Final = "killed when half was done"
RESUMED: Final = "and resumed"
DISCOVERED: Final = "discover"
N_SHARES: Final = 3
ARRAY: Final = f"{N_SHARES} shares, then merged"


def run_fleet(lake: Path, *, engines: Sequence[str] = ("local",)) -> Iterator[Step]:
    """Yield a bare scan of the samples, and the analyses; each begins without any finished shard unless it says so.

    Parameters
    ----------
    lake
        Folder of the lake; its cluster file stands beside it.
    engines
        Which of ``local`` and ``ray``.
    """
    yield run_step("bare scan", scan_command(lake))
    n_shards = 0
    for engine in engines:
        for n_workers in (1, 2) if engine == "local" else (2,):
            with tempfile.TemporaryDirectory() as work:
                command = _analyze(lake, work, "--engine", engine, "--workers", str(n_workers))
                yield run_step(f"analyze, {engine}, {n_workers} process{'es' if n_workers > 1 else ''}", command)
                if (engine, n_workers) == ("local", 2):
                    yield run_step("again, nothing new", command)
                    n_shards = len(list(Path(work).glob("*.shard")))
    if n_shards:
        yield from _interrupted(lake, kill_at=n_shards // 2)
        with tempfile.TemporaryDirectory() as work:
            shares = [_analyze(lake, work, "--shard", f"{i + 1}/{N_SHARES}") for i in range(N_SHARES)]
            yield run_together(ARRAY, [*shares, _analyze(lake, work, "--merge")])


def discover_fleet(lake: Path) -> Step:
    """Return what it takes to find the jobs without a scheduler."""
    return run_step(DISCOVERED, [*OFFBEAT, "discover", "--lake", str(lake), "--json"])


def _interrupted(lake: Path, *, kill_at: int) -> Iterator[Step]:
    with tempfile.TemporaryDirectory() as work:
        command = _analyze(lake, work, "--workers", "2")
        yield run_step(KILLED, command, work=Path(work), kill_at=kill_at)
        yield run_step(RESUMED, command)


def _analyze(lake: Path, work: str, *options: str) -> list[str]:
    cluster = str(lake.with_suffix(".toml"))
    return [*OFFBEAT, "analyze", "--lake", str(lake), "--cluster", cluster, "--work", work, *options, "--json"]


def main() -> None:
    """Measure a lake as the command line tells, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--engines", nargs="+", default=["local"], choices=("local", "ray"))
    parser.add_argument("--discover", action="store_true", help="find the jobs without a cluster file as well")
    given = parser.parse_args()
    steps = list(run_fleet(given.lake, engines=given.engines))
    steps += [discover_fleet(given.lake)] if given.discover else []
    sys.stdout.write(steps_table(steps) + "\n")


if __name__ == "__main__":
    main()
