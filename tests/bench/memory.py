"""The most memory that ``offbeat ingest`` holds, and its pace: large dumps, and the same at twice the size.

Run alone with ``python -m tests.bench.memory [--mb 2048] [--trace-mb 1024] [--folder /tmp]``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.dumps import DUMPS, write_dump
from tests.bench.tables import layout
from tests.data import ROOT

__all__ = ["IngestRun", "Usage", "memory_table", "run_ingests", "run_offbeat"]

MB: Final = 10**6
KIB: Final = 1024
SMALL_MB: Final = 16
"""Of the first run, which shows what Python and its libraries take."""
_OFFBEAT: Final = """
import sys
from pathlib import Path
from pipeline.cli.main import main
code = main(sys.argv[2:])
Path(sys.argv[1]).write_text(Path("/proc/self/status").read_text())
sys.exit(code)
"""
OPTIONS: Final = {"switch table": ("--mapping", "zhejianglab")}


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRun:
    """What reading one dump took; the peak is of the process's resident memory."""

    name: str
    n_bytes: int
    n_expected: int
    n_samples: int
    lake_bytes: int
    wall_s: float
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a process took.

    Parameters
    ----------
    wall_s, cpu_s
        Seconds from its start to its end, imports included.
    peak_bytes
        The most that was resident, as proc(5) tells it; wait4(2) would count what its parent holds as well.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int


def run_offbeat(arguments: list[str], *, answer: Path) -> Usage:
    """Run a command in a process of its own; its answer goes to a file."""
    start_s, status_file = time.monotonic(), answer.with_suffix(".status")
    command = [sys.executable, "-c", _OFFBEAT, str(status_file), *arguments]
    with answer.open("wb") as stream:
        process = subprocess.Popen(command, cwd=ROOT, stdout=stream)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    told = dict(line.split(":", 1) for line in status_file.read_text(encoding="utf-8").splitlines())
    return Usage(
        wall_s=time.monotonic() - start_s,
        cpu_s=used.ru_utime + used.ru_stime,
        peak_bytes=int(told["VmHWM"].split()[0]) * KIB,
    )


def run_ingests(sizes_mb: dict[str, int], *, folder: Path | None = None) -> Iterator[IngestRun]:
    """Yield what each dump takes when it is small, of the size asked for, and of twice that."""
    for name, size_mb in sizes_mb.items():
        for n_mb in (min(SMALL_MB, size_mb), size_mb, 2 * size_mb):
            with tempfile.TemporaryDirectory(dir=folder) as made:
                yield _run_ingest(name, Path(made), n_bytes=n_mb * MB)


def memory_table(runs: Iterable[IngestRun]) -> str:
    """Return one row a run."""
    rows = [["dump", "MB", "samples", "peak MB", "wall s", "CPU s", "MB/s of CPU", "lake B/sample"]]
    rows += [
        [
            run.name,
            f"{run.n_bytes / MB:.0f}",
            str(run.n_samples),
            f"{run.peak_bytes / MB:.0f}",
            f"{run.wall_s:.1f}",
            f"{run.cpu_s:.1f}",
            f"{run.n_bytes / MB / run.cpu_s:.0f}",
            f"{run.lake_bytes / run.n_samples:.1f}",
        ]
        for run in runs
    ]
    return layout(rows)


def _run_ingest(name: str, folder: Path, *, n_bytes: int) -> IngestRun:
    dump, lake = folder / "dump", folder / "lake"
    n_expected = write_dump(name, dump, n_bytes=n_bytes)
    command = ["ingest", str(dump), "--lake", str(lake), "--host", "h1", *OPTIONS.get(name, ()), "--json"]
    used = run_offbeat(command, answer=folder / "answer")
    report = json.loads((folder / "answer").read_bytes())
    return IngestRun(
        name=name,
        n_bytes=dump.stat().st_size,
        n_expected=n_expected,
        n_samples=sum(found["n_samples"] for found in report["inputs"]),
        lake_bytes=sum(path.stat().st_size for path in lake.rglob("samples/**/*.parquet")),
        wall_s=used.wall_s,
        cpu_s=used.cpu_s,
        peak_bytes=used.peak_bytes,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=2048, help="size of tables")
    parser.add_argument("--trace-mb", type=int, default=1024, help="size of the trace")
    parser.add_argument("--folder", type=Path, help="where dumps and lakes are, for a while")
    parser.add_argument("dumps", nargs="*", default=list(DUMPS), help=f"which of {', '.join(DUMPS)}")
    asked = parser.parse_args()
    sizes = {name: asked.trace_mb if name == "profiler trace" else asked.mb for name in asked.dumps}
    sys.stdout.write(f"{memory_table(run_ingests(sizes, folder=asked.folder))}\n")
