"""`FamilyWatch`: what a process and all that it starts take, in memory and processor time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

__all__ = ["FamilyWatch"]

LOOK_EVERY_S: Final = 0.5
KIB: Final = 1024
TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


class FamilyWatch:
    """The most memory that a process and its descendants held at a time, shared pages counted once [1]_, and their CPU.

    ``cpu_s`` misses what a process did after it was last looked at, at most half a second of each.

    References
    ----------
    .. [1] https://www.kernel.org/doc/html/latest/filesystems/proc.html, smaps_rollup, Pss.
    """

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._root = Path("/proc") / str(pid)
        self._cpu_s: dict[Path, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def cpu_s(self) -> float:
        """Processor time of all of them, user and system, in seconds."""
        return sum(self._cpu_s.values())

    def _watch(self) -> None:
        while not self._done.wait(LOOK_EVERY_S):
            family = list(self._family())
            self.peak_bytes = max(self.peak_bytes, sum(map(_held_bytes, family)))
            self._cpu_s |= {process: spent_s for process in family if (spent_s := _spent_s(process)) is not None}

    def _family(self) -> Iterator[Path]:
        """Yield the folders in /proc of the process and all that it started."""
        waiting = [self._root]
        while waiting:
            process = waiting.pop()
            yield process
            for children in process.glob("task/*/children"):
                try:
                    waiting += [Path("/proc") / child for child in children.read_text(encoding="ascii").split()]
                except OSError:
                    continue


def _held_bytes(process: Path) -> int:
    """Return the proportional set size of a process, 0 once it has ended."""
    try:
        lines = (process / "smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * KIB for line in lines if line.startswith("Pss:"))


def _spent_s(process: Path) -> float | None:
    """Return the processor time of a process, None once it has ended."""
    try:
        fields = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) * TICK_S
