"""What each named query takes on a lake, beside a bare DuckDB scan of the same files; every run a process of its own.

Run alone with ``python -m tests.bench.queries LAKE [--query NAME ...]``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.sql import list_queries
from tests.bench.steps import MB, OFFBEAT, scan_command
from tests.bench.tables import layout
from tests.data import ROOT

__all__ = ["SCAN", "VIEWS", "QueryRun", "queries_table", "run_queries"]

SCAN: Final = "bare scan"
"""Every column of the samples is read, and nothing but summed up."""
VIEWS: Final = {
    "view rates, whole": "select count(*), sum(bytes) from rates",
    "view link_jobs": "select count(*), sum(mean_bps) from link_jobs",
    "view link_contention": "select count(*), sum(over_bytes) from link_contention",
    "view job_timeline": "select count(*), sum(bytes) from job_timeline",
}
KIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRun:
    """What one query took; the peak is the resident set of the process, as wait4(2) tells it.

    ``load`` is the load average of the last minute when it ended; ``exit_code`` is not 0 if it failed.
    """

    name: str
    wall_s: float
    cpu_s: float
    peak_bytes: int
    answer_bytes: int
    load: float
    exit_code: int


def run_queries(lake: Path, names: Sequence[str] = ()) -> Iterator[QueryRun]:
    """Yield the bare scan, views, and each named query, or only some of these."""
    yield _run(SCAN, scan_command(lake))
    with tempfile.TemporaryDirectory() as made:
        for name, statement in VIEWS.items():
            out = Path(made) / f"{name}.parquet"
            yield _run(name, [*OFFBEAT, "sql", "--lake", str(lake), statement, "--out", str(out)], out)
        for name in names or [query.name for query in list_queries()]:
            out = Path(made) / f"{name}.parquet"
            yield _run(name, [*OFFBEAT, "query", name, "--lake", str(lake), "--out", str(out)], out)


def queries_table(runs: Iterable[QueryRun]) -> str:
    """Return one row a run, with the ratio of its CPU time to that of the bare scan, which comes first."""
    rows = [["query", "wall s", "CPU s", "times the scan", "peak MB", "answer KB", "load", "exit"]]
    scan_s: float | None = None
    for run in runs:
        scan_s = run.cpu_s if scan_s is None else scan_s
        rows.append(
            [
                run.name,
                f"{run.wall_s:.2f}",
                f"{run.cpu_s:.2f}",
                f"{run.cpu_s / scan_s:.1f}",
                f"{run.peak_bytes / MB:.0f}",
                f"{run.answer_bytes / 1000:.1f}",
                f"{run.load:.1f}",
                str(run.exit_code),
            ]
        )
    return layout(rows)


def _run(name: str, command: Sequence[str], out: Path | None = None) -> QueryRun:
    began_s = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return QueryRun(
        name=name,
        wall_s=time.perf_counter() - began_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * KIB,
        answer_bytes=out.stat().st_size if out is not None and out.exists() else 0,
        load=os.getloadavg()[0],
        exit_code=process.returncode,
    )


def main() -> None:
    """Print what each query takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--query", action="append", default=[])
    arguments = parser.parse_args()
    sys.stdout.write(queries_table(run_queries(arguments.lake, arguments.query)) + "\n")


if __name__ == "__main__":
    main()
