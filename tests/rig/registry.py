"""Which rigs stand on this machine, and how to remove one: the state file of each, and the marks in its namespaces.

A rig's file is written before its first namespace is made, so a crash at any moment leaves enough to clean up.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.rig.errors import RigError
from tests.rig.network import MARK, Network, run_command
from tests.rig.spec import NetworkSpec

__all__ = ["STATE_DIR", "Entry", "build", "entries", "is_orphan", "remove", "stray_namespaces", "sweep"]

STATE_DIR: Final = Path("/run/offbeat-rig")
_END_TIMEOUT_S: Final = 5.0
_NAMESPACE: Final = re.compile(r"(?P<prefix>ob[0-9a-f]{4}-)[a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One rig: its network, and the process that owns it (None: it stands until taken down by hand)."""

    network: Network
    owner_pid: int | None
    owner_started: int | None
    """Start time of the owner in clock ticks since boot: a process id alone may be taken by another process."""

    @property
    def path(self) -> Path:
        """The state file."""
        return STATE_DIR / f"{self.network.prefix}.json"

    @property
    def folder(self) -> Path:
        """Room for what the rig's processes write; it goes with the rig."""
        return STATE_DIR / self.network.prefix


def build(jobs: tuple[str, ...], spec: NetworkSpec, *, owner_pid: int | None) -> Entry:
    """Build a network and write down whose it is; what was made is removed again if anything fails."""
    entry = _enlist(jobs, spec, owner_pid=owner_pid)
    try:
        entry.network.build()
    except BaseException:
        remove(entry)
        raise
    return entry


def entries() -> list[Entry]:
    """Return every rig that has a state file."""
    return [entry for path in sorted(STATE_DIR.glob("*.json")) if (entry := _read(path)) is not None]


def is_orphan(entry: Entry) -> bool:
    """Tell whether a rig's owner ended without taking it down."""
    return entry.owner_pid is not None and _start_time(entry.owner_pid) != entry.owner_started


def stray_namespaces() -> list[str]:
    """Return namespaces that a rig made and marked, but whose state file is gone."""
    # Namespaces first: one that is listed had its state file written before it was made.
    named = {name: match["prefix"] for name in _namespaces() if (match := _NAMESPACE.fullmatch(name))}
    known = {entry.network.prefix for entry in entries()}
    return [name for name, prefix in named.items() if prefix not in known and _is_marked(name)]


def remove(entry: Entry) -> None:
    """Delete a rig: the processes in its namespaces, the namespaces, its folder, and at last its state file."""
    standing = set(_namespaces())
    for node in entry.network.nodes:
        if (namespace := entry.network.namespace(node)) in standing:
            _delete(namespace)
    shutil.rmtree(entry.folder, ignore_errors=True)
    entry.path.unlink(missing_ok=True)


def sweep(which: Callable[[Entry], bool]) -> list[str]:
    """Remove the rigs that a test picks, and strays; return the prefixes and namespaces removed."""
    removed = [entry for entry in entries() if which(entry)]
    for entry in removed:
        remove(entry)
    strays = stray_namespaces()
    for namespace in strays:
        _delete(namespace)
    return [entry.network.prefix for entry in removed] + strays


def _enlist(jobs: tuple[str, ...], spec: NetworkSpec, *, owner_pid: int | None) -> Entry:
    used = _namespaces() + [path.name for path in STATE_DIR.glob("*.json")]
    prefix = next(prefix for prefix in iter(_random_prefix, "") if not any(name.startswith(prefix) for name in used))
    started = None if owner_pid is None else _start_time(owner_pid)
    entry = Entry(network=Network(prefix=prefix, jobs=jobs, spec=spec), owner_pid=owner_pid, owner_started=started)
    STATE_DIR.mkdir(parents=True, exist_ok=True)
    partial = entry.path.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(entry)), encoding="utf-8")
    partial.replace(entry.path)
    entry.folder.mkdir()
    return entry


def _random_prefix() -> str:
    return f"ob{secrets.token_hex(2)}-"


def _read(path: Path) -> Entry | None:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        network = values["network"]
        spec = NetworkSpec(**network["spec"])
        values["network"] = Network(prefix=network["prefix"], jobs=tuple(network["jobs"]), spec=spec)
        return Entry(**values)
    except FileNotFoundError:
        return None  # another process removed it meanwhile
    except (KeyError, TypeError, ValueError) as error:
        raise RigError(f"{path}: not a rig's state file ({error}); remove it by hand") from error


def _namespaces() -> list[str]:
    return [line.split()[0] for line in run_command(["ip", "netns", "list"]).splitlines()]


def _is_marked(namespace: str) -> bool:
    try:
        links = json.loads(run_command(["ip", "-json", "-n", namespace, "link", "show", "lo"]))
    except RigError:
        if namespace in _namespaces():
            raise
        return False  # another process removed it meanwhile
    return bool(links) and links[0].get("ifalias") == MARK


def _delete(namespace: str) -> None:
    try:
        _end_processes(namespace)
        run_command(["ip", "netns", "delete", namespace])
    except RigError:
        if namespace in _namespaces():
            raise


def _end_processes(namespace: str) -> None:
    deadline_s = time.monotonic() + _END_TIMEOUT_S
    while pids := run_command(["ip", "netns", "pids", namespace]).split():
        if time.monotonic() > deadline_s:
            raise RigError(f"namespace {namespace}: processes {', '.join(pids)} do not end; end them, then try again")
        for pid in pids:
            _kill(int(pid))
        time.sleep(0.02)


def _kill(pid: int) -> None:
    if pid == os.getpid():
        raise RigError("this process is inside a namespace of the rig; take the rig down from outside")
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _start_time(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(")")[2].split()[19])  # field 22 of proc_pid_stat(5)
