"""`run_step`: commands in processes of their own, and what they took, all their processes together."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from profiler.store import Lake
from tests.bench.tables import layout
from tests.bench.watch import FamilyWatch
from tests.data import ROOT

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MB", "OFFBEAT", "Step", "run_step", "run_together", "scan_command", "steps_table"]

MB: Final = 10**6
OFFBEAT: Final = (sys.executable, "-c", "from pipeline.cli.main import run; run()")
LOOK_S: Final = 0.05
_SCAN_CODE: Final = """
import sys, duckdb
duckdb.connect(config={"memory_limit": "1GB"}).execute(
    "select count(*), sum(value), max(t_ns), max(window_ns), max(flags), max(epoch), max(series_id) "
    "from read_parquet(?, hive_partitioning = false)", [sys.argv[1:]]).fetchall()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What some commands took.

    Parameters
    ----------
    wall_s, cpu_s
        Seconds; of CPU, those of all processes.
    peak_bytes
        The most that all processes held at a time, shared pages counted once.
    load
        Load average of the last minute when they ended: the processors may be shared.
    exit_code
        Negative if it was killed.
    answer
        Digest of the JSON on stdout, times of computing left out; "" of none.
    """

    name: str
    wall_s: float
    cpu_s: float
    peak_bytes: int
    load: float
    exit_code: int
    answer: str = ""


def run_step(name: str, command: Sequence[str], *, work: Path | None = None, kill_at: int = 0) -> Step:
    """Run a command, and kill it once a work folder has so many finished shards, if one is given."""
    with tempfile.TemporaryFile() as stdout:
        start_s, before_s = time.monotonic(), _reaped_s()
        with (
            subprocess.Popen(
                command, cwd=ROOT, stdout=stdout, stderr=subprocess.DEVNULL, start_new_session=True
            ) as process,
            FamilyWatch(process.pid) as family,
        ):
            while work is not None and process.poll() is None and len(list(work.glob("*.shard"))) < kill_at:
                time.sleep(LOOK_S)
            if work is not None:
                process.send_signal(signal.SIGKILL)
            exit_code = process.wait()
        wall_s, reaped_s = time.monotonic() - start_s, _reaped_s() - before_s
        stdout.seek(0)
        answer = _digest(stdout.read())
    return Step(
        name=name,
        wall_s=wall_s,
        cpu_s=max(family.cpu_s, reaped_s),
        peak_bytes=family.peak_bytes,
        load=os.getloadavg()[0],
        exit_code=exit_code,
        answer=answer,
    )


def run_together(name: str, commands: Sequence[Sequence[str]]) -> Step:
    """Run commands one after the other, and return what they took together; the answer is that of the last."""
    steps = [run_step(name, command) for command in commands]
    return replace(
        steps[-1],
        wall_s=sum(step.wall_s for step in steps),
        cpu_s=sum(step.cpu_s for step in steps),
        peak_bytes=max(step.peak_bytes for step in steps),
        exit_code=max(step.exit_code for step in steps),
    )


def scan_command(lake: Path) -> list[str]:
    """Return the command of a bare scan in DuckDB: every column of the samples is read, and nothing but summed up."""
    return [sys.executable, "-c", _SCAN_CODE, *map(str, Lake.open(lake).files("samples"))]


def steps_table(steps: Sequence[Step]) -> str:
    """Return one row a step, with the ratio of its CPU time to that of the first one."""
    rows = [["step", "wall s", "CPU s", "times the first", "peak MB", "load", "exit", "answer"]]
    rows += [
        [
            step.name,
            f"{step.wall_s:.1f}",
            f"{step.cpu_s:.1f}",
            f"{step.cpu_s / steps[0].cpu_s:.1f}" if steps[0].cpu_s else "-",
            f"{step.peak_bytes / MB:.0f}",
            f"{step.load:.1f}",
            str(step.exit_code),
            step.answer[:8] or "-",
        ]
        for step in steps
    ]
    return layout(rows)


def _reaped_s() -> float:
    """Return the processor time of all children that ended and of theirs, but for those of one that was killed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _digest(stdout: bytes) -> str:
    """Return the digest of a JSON document but for the times that it took to compute; "" if there is none."""
    if not stdout.startswith(b"{"):
        return ""
    document = json.loads(stdout, object_hook=lambda given: {k: v for k, v in given.items() if k != "elapsed_s"})
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
