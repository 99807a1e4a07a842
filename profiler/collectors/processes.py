"""Processes of a job: a tree below one, or the members of a control group; and the TCP sockets that they hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from profiler.errors import NotHere

__all__ = ["PROC", "cgroup_processes", "checked_cgroup", "process_tree", "socket_inodes"]

PROC: Final = Path("/proc")
_SOCKET: Final = "socket:["


def process_tree(pid: int, *, proc: Path = PROC) -> set[int]:
    """Return a process and all that descend from it; empty once it has ended.

    Notes
    -----
    A child whose parent ended belongs to init, and is no longer found.
    """
    parents = dict(_parents(proc))
    if pid not in parents:
        return set()
    children: dict[int, list[int]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    tree, waiting = set(), [pid]
    while waiting:
        process = waiting.pop()
        tree.add(process)
        waiting += [child for child in children.get(process, ()) if child not in tree]
    return tree


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
    """Return the folder of a control group.

    Raises
    ------
    NotHere
        If it is none.
    """
    if not (path / "cgroup.procs").is_file():
        raise NotHere(f"{path}: no control group; give its folder below /sys/fs/cgroup")
    return path


def socket_inodes(pids: set[int], *, proc: Path = PROC) -> set[int]:
    """Return the inodes of the sockets that some processes hold."""
    return {inode for pid in pids for inode in _inodes_of(proc / str(pid) / "fd")}


def _inodes_of(folder: Path) -> Iterator[int]:
    try:
        handles = list(folder.iterdir())
    except OSError:  # it ended, or is another user's
        return
    for handle in handles:
        try:
            target = str(handle.readlink())
        except OSError:
            continue
        if target.startswith(_SOCKET):
            yield int(target[len(_SOCKET) : -1])


def _parents(proc: Path) -> Iterator[tuple[int, int]]:
    for entry in os.scandir(proc):
        if entry.name.isdigit():
            try:
                text = (proc / entry.name / "stat").read_text()
            except OSError:  # it ended just now
                continue
            # The name in brackets may hold spaces and brackets; the parent is the second field after it.
            yield int(entry.name), int(text.rpartition(")")[2].split()[1])
