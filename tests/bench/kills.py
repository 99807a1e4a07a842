"""Commands that write a lake, killed at random moments while others read it: nothing sealed lost, nobody misled.

Run alone with ``python -m tests.bench.kills [--kills 200] [--seed 5] [record ingest compact]``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from pipeline.sql import open_lake
from profiler.errors import LakeError
from profiler.store import Lake, check_lake
from tests.bench.tables import layout
from tests.bench.victims import VICTIMS, Readings, Victim
from tests.data import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["KillRun", "kills_table", "run_kills"]

SEED: Final = 5
KILLS_A_LAKE: Final = 10
"""After so many kills the command is let run to its end, and the next lake begins."""
EARLY: Final = 0.1
"""Part of the kills that come before the command's first write."""
LATEST: Final = 0.9
"""Part of the time that the command writes for in which it is killed: not when all is done."""
WAIT_S: Final = 0.002
LOOK_S: Final = 0.05
MANIFEST_LOG: Final = "manifest.sqlite-wal"


@dataclass(slots=True, kw_only=True)
class KillRun:
    """What killing one command many times did.

    Attributes
    ----------
    n_kills, n_while_writing
        Kills of a living process; those of one that had written something.
    n_reads, n_checks
        Times that the lake was read while the process lived, and checked after its death.
    n_readings
        Readings that were there at the last look.
    faults
        What was wrong; should be none.
    """

    name: str
    n_kills: int = 0
    n_while_writing: int = 0
    n_reads: int = 0
    n_checks: int = 0
    n_readings: int = 0
    faults: list[str] = field(default_factory=list)


def run_kills(name: str, *, n_kills: int, seed: int = SEED) -> KillRun:
    """Kill a command some times, each at a moment of its own, and check the lake after each."""
    moments = random.Random(seed)  # noqa: S311 - no secret
    command = [sys.executable, "-m", "tests.bench.hasty"]
    with (
        tempfile.TemporaryDirectory() as name_of_folder,
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forker,
    ):
        folder = Path(name_of_folder)
        (folder / "inputs").mkdir()
        siege = _Siege(KillRun(name=name), folder, forker)
        VICTIMS[name].prepare(folder / "inputs", folder / "first")
        siege.begin()
        with VICTIMS[name].world(folder / "inputs"):
            writes_s = LATEST * siege.let_live()
            while siege.run.n_kills < n_kills:
                siege.begin()
                for _ in range(min(KILLS_A_LAKE, n_kills - siege.run.n_kills)):
                    is_early = moments.random() < EARLY
                    if not siege.strike(after_s=moments.uniform(0.0, writes_s), is_early=is_early):
                        break
                siege.let_live()
    return siege.run


def kills_table(runs: Iterable[KillRun]) -> str:
    """Return one row a command."""
    rows = [["killed", "times", "while writing", "reads meanwhile", "checks after", "readings", "faults"]]
    rows += [
        [
            run.name,
            *(str(n) for n in (run.n_kills, run.n_while_writing, run.n_reads, run.n_checks, run.n_readings)),
            str(len(run.faults)),
        ]
        for run in runs
    ]
    return layout(rows)


class _Siege:
    """One lake after another, with the command that writes it and those who read it."""

    def __init__(self, run: KillRun, folder: Path, forker: subprocess.Popen[str]) -> None:
        self.run = run
        self._forker = forker
        self.lake = folder / "lake"
        self._first = folder / "first"
        self._inputs = folder / "inputs"
        self._victim = VICTIMS[run.name]
        self._reader = _Reader(self.lake, self._victim)

    def begin(self) -> None:
        """Begin with a new lake."""
        shutil.rmtree(self.lake, ignore_errors=True)
        if self._first.exists():
            shutil.copytree(self._first, self.lake)
        self._reader = _Reader(self.lake, self._victim)

    def strike(self, *, after_s: float, is_early: bool) -> bool:
        """Kill the command some time after its first write, or after its start; False if it had ended before."""
        with self._reader:
            command = self._started()
            was_writing = False if is_early else self._wait_for_write(command)
            time.sleep(after_s)
            command.kill()
            is_killed = command.wait() == signal.SIGKILL
        self.run.n_kills += is_killed
        self.run.n_while_writing += is_killed and was_writing
        self._look_after()
        return is_killed

    def let_live(self) -> float:
        """Let the command run to its end, and return for how long it wrote."""
        with self._reader:
            command = self._started()
            self._wait_for_write(command)
            start_s = time.monotonic()
            status = command.wait()
            spent_s = time.monotonic() - start_s
        if status:
            self.run.faults.append(f"{self.run.name}: ended with status {status}")
        self._look_after()
        if not self._victim.is_done(self._reader.last):
            self.run.faults.append(f"{self.run.name}: a run to the end did not bring all readings")
        return spent_s

    def _started(self) -> _Command:
        self._log_before = self._log()
        return _Command(self._forker, self._victim.arguments(self._inputs, self.lake))

    def _log(self) -> tuple[int, int] | None:
        """Return what changes with each write to the manifest."""
        try:
            found = (self.lake / MANIFEST_LOG).stat()
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size) if found.st_size else None

    def _wait_for_write(self, command: _Command) -> bool:
        while not command.has_ended(within_s=WAIT_S):
            log = self._log()
            if log is not None and log != self._log_before:
                return True
        return False

    def _look_after(self) -> None:
        """Check the lake as ``offbeat lake --check`` does, and that all that was seen is there."""
        self._reader.look(_read_by_python, _read_by_sql)
        self.run.n_reads += self._reader.n_reads
        self.run.faults += self._reader.faults
        self._reader.n_reads, self._reader.faults = 0, []
        self.run.n_readings = sum(len(t_ns) for t_ns, _ in self._reader.last.values())
        if self._reader.is_there:
            self.run.n_checks += 1
            self.run.faults += check_lake(Lake.open(self.lake)).problems


class _Command:
    """A command that runs."""

    def __init__(self, forker: subprocess.Popen[str], arguments: list[str]) -> None:
        if forker.stdin is None or forker.stdout is None:
            raise TypeError
        self._lines = forker.stdout
        forker.stdin.write(f"{json.dumps(arguments)}\n")
        forker.stdin.flush()
        self._pid = int(self._lines.readline())
        self._handle = os.pidfd_open(self._pid)

    def has_ended(self, *, within_s: float) -> bool:
        """Wait some time at most, and return whether it ended."""
        return bool(select.select([self._handle], [], [], within_s)[0])

    def kill(self) -> None:
        """Kill it, if it lives."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def wait(self) -> int:
        """Wait until it ends, and return its status as of waitpid(2): the signal, if one ended it."""
        status = int(self._lines.readline())
        os.close(self._handle)
        return status


class _Reader:
    """Reads a lake again and again, by Python and by SQL in turn, and compares what it reads with the truth."""

    def __init__(self, lake: Path, victim: Victim) -> None:
        self.last: Readings = {}
        self.is_there = False
        self.n_reads = 0
        self.faults: list[str] = []
        self._lake = lake
        self._victim = victim
        self._done = threading.Event()
        self._thread = ThreadPoolExecutor(1)
        self._looks: Future[None] | None = None

    def __enter__(self) -> Self:
        self._done.clear()
        self._looks = self._thread.submit(self._look_until_done)
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._looks is not None:
            self._looks.result()

    def look(self, *ways: Callable[[Path], Readings]) -> None:
        """Read once each way."""
        for read in ways:
            try:
                now = read(self._lake)
            except LakeError as error:
                if self.is_there:
                    self.faults.append(f"a reader was told: {error}")
                return  # not made yet
            self.is_there = True
            self.n_reads += 1
            self.faults += [*_changed(self.last, now), *self._victim.faults(now)]
            self.last = now

    def _look_until_done(self) -> None:
        ways = itertools.cycle((_read_by_python, _read_by_python, _read_by_python, _read_by_sql))
        while not self._done.wait(LOOK_S):
            self.look(next(ways))


def _read_by_python(path: Path) -> Readings:
    lake = Lake.open(path)
    ids = lake.read("series")["series_id"].to_pylist()
    return {key: (counter.t_ns, counter.value) for key, counter in lake.counters(ids) if len(counter)}


def _read_by_sql(path: Path) -> Readings:
    with open_lake(path, threads=1) as database:
        rows = database.sql("select series_id, t_ns, value from samples order by series_id, t_ns")
    keys, t_ns, value = (rows[name].to_numpy() for name in ("series_id", "t_ns", "value"))
    found, starts = np.unique(keys, return_index=True)
    edges = [*starts.tolist(), len(keys)]
    return {int(key): (t_ns[a:b], value[a:b]) for key, (a, b) in zip(found, itertools.pairwise(edges), strict=True)}


def _changed(before: Readings, now: Readings) -> Iterator[str]:
    """Yield what was seen and is gone or other now, and readings that are there twice."""
    for key, (t_ns, value) in before.items():
        now_t_ns, now_value = now.get(key, (t_ns[:0], value[:0]))
        if not (np.array_equal(now_t_ns[: len(t_ns)], t_ns) and np.array_equal(now_value[: len(t_ns)], value)):
            yield f"series {key}: {len(t_ns)} readings were seen, {len(now_t_ns)} are there or they are others"
    for key, (t_ns, _) in now.items():
        if np.any(np.diff(t_ns) <= 0):
            yield f"series {key}: a reading is there twice"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", default=list(VICTIMS), help="which of record, ingest and compact")
    parser.add_argument("--kills", type=int, default=200, help="of each command")
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    done = []
    for command in asked.commands:
        done.append(run_kills(command, n_kills=asked.kills, seed=asked.seed))
        sys.stdout.write("\n".join([kills_table(done[-1:]), *done[-1].faults]) + "\n")
        sys.stdout.flush()
    sys.exit(any(run.faults for run in done))
