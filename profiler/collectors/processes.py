"""Processes of a job: a tree below one, or the members of a control group; and the TCP sockets that they hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from profiler.errors import NotHere

__all__ = [
    "PROC",
    "ProcessTree",
    "cgroup_name",
    "cgroup_processes",
    "checked_cgroup",
    "checked_rights",
    "network_namespace",
    "process_tree",
    "socket_inodes",
]

PROC: Final = Path("/proc")
_SOCKET: Final = "socket:["
_ENDED: Final = "ZX"
"""States of a process that waits for its parent to take notice of its end (proc_pid_stat(5))."""


class ProcessTree:
    """A process and all that descend from it, also those whose parent has ended since they were first seen.

    Parameters
    ----------
    pid
        The process.
    proc
        Root of the kernel's processes.
    """

    def __init__(self, pid: int, *, proc: Path = PROC) -> None:
        self._roots: dict[int, str] = {}
        self._first = pid
        self._proc = proc

    def processes(self) -> set[int]:
        """Return those that run now; none once all have ended."""
        table = {entry.pid: entry for entry in _entries(self._proc)}
        if not self._roots and self._first in table:
            self._roots[self._first] = table[self._first].started
        # A number is given to another process in time, which then began later.
        alive = [pid for pid, started in self._roots.items() if pid in table and table[pid].started == started]
        tree = _descendants(alive, table.values())
        self._roots.update({pid: table[pid].started for pid in tree})
        return tree


def process_tree(pid: int, *, proc: Path = PROC) -> set[int]:
    """Return a process and all that descend from it; empty once it has ended."""
    return ProcessTree(pid, proc=proc).processes()


def cgroup_processes(folder: Path) -> set[int]:
    """Return the processes of a control group and of those below it; empty once it is gone."""
    found: set[int] = set()
    for members in folder.rglob("cgroup.procs"):
        try:
            found.update(int(line) for line in members.read_text().split())
        except (OSError, ValueError):  # it ended just now
            continue
    return found


def checked_cgroup(path: Path) -> Path:
    """Return the folder of a control group, whatever way it was named.

    Raises
    ------
    NotHere
        If it is none.
    """
    if not (path / "cgroup.procs").is_file():
        raise NotHere(f"{path}: no control group; give its folder below /sys/fs/cgroup")
    return path.resolve()


def cgroup_name(folder: Path) -> str:
    """Return the path of a control group below where the kernel's tree is mounted, with ``:`` for each ``/``.

    Steps of different jobs have one name in Slurm; and ``/`` stands between the device and the port of a series.
    """
    mount = next(place for place in (folder, *folder.parents) if place.is_mount())
    return ":".join(folder.relative_to(mount).parts) or folder.name


def checked_rights(pids: set[int], *, proc: Path = PROC) -> None:
    """Raise `NotHere` unless the files of all of some processes may be seen."""
    for pid in sorted(pids):
        try:
            next((proc / str(pid) / "fd").iterdir(), None)
        except PermissionError as error:
            raise NotHere(f"process {pid} is another user's: its sockets are not to be seen; run as root") from error
        except OSError:  # it ended just now
            continue


def network_namespace(pid: int, *, proc: Path = PROC) -> str | None:
    """Return which network namespace a process is in, such as ``net:[4026531840]``; None if it is not to be seen."""
    try:
        return str((proc / str(pid) / "ns" / "net").readlink())
    except OSError:
        return None


def socket_inodes(pids: set[int], *, proc: Path = PROC) -> set[int]:
    """Return the inodes of the sockets that some processes hold."""
    return {inode for pid in pids for inode in _inodes_of(proc / str(pid) / "fd")}


class _Entry(NamedTuple):
    pid: int
    parent: int
    started: str


def _descendants(roots: Iterable[int], entries: Iterable[_Entry]) -> set[int]:
    children: dict[int, list[int]] = {}
    for entry in entries:
        children.setdefault(entry.parent, []).append(entry.pid)
    tree, waiting = set(), list(roots)
    while waiting:
        process = waiting.pop()
        tree.add(process)
        waiting += [child for child in children.get(process, ()) if child not in tree]
    return tree


def _inodes_of(folder: Path) -> Iterator[int]:
    try:
        handles = list(folder.iterdir())
    except OSError:  # it ended
        return
    for handle in handles:
        try:
            target = str(handle.readlink())
        except OSError:
            continue
        if target.startswith(_SOCKET):
            yield int(target[len(_SOCKET) : -1])


def _entries(proc: Path) -> Iterator[_Entry]:
    """Yield the processes that run: those that have ended and wait for their parents do not."""
    for entry in os.scandir(proc):
        if entry.name.isdigit():
            try:
                text = (proc / entry.name / "stat").read_text()
            except OSError:  # it ended just now
                continue
            # The name in brackets may hold spaces and brackets; fields are counted from the state, which follows it.
            fields = text.rpartition(")")[2].split()
            if fields[0] in _ENDED and int(fields[17]) <= 1:  # with more threads, the first alone has ended
                continue
            yield _Entry(pid=int(entry.name), parent=int(fields[1]), started=fields[19])
