"""Counters of a process's own network namespace, such as a container's: ``/proc/<pid>/net/dev``.

All that the namespace's interfaces moved, whatever the protocol and however short-lived the socket. Nothing but a file
is read, so no rights are needed beyond those to see the process.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from profiler.collectors.base import CounterSpec, ProbedCounter, Source
from profiler.collectors.processes import PROC, network_namespace
from profiler.errors import NotHere
from profiler.store.series import Series

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["NamespaceProbe", "open_namespace"]

_CHUNK_BYTES: Final = 1 << 16
_COLUMNS: Final = {"tx_bytes": 8, "rx_bytes": 0, "tx_packets": 9, "rx_packets": 1}
"""Places of the counters in a line, after the interface's name (Linux, net/core/net-procfs.c)."""


def open_namespace(pid: int, *, host: str, proc: Path = PROC) -> list[NamespaceProbe]:
    """Return a probe of each interface of a process's network namespace but for the loopback.

    Raises
    ------
    NotHere
        If there is no such process, or it has no namespace of its own: then these are the host's counters.
    """
    namespace = network_namespace(pid, proc=proc)
    if namespace is None:
        raise NotHere(f"process {pid}: its network namespace is not to be seen; is it still running, and yours?")
    if namespace == network_namespace(os.getpid()):
        raise NotHere(f"process {pid} is in this network namespace, with all others: take --pid {pid}, or --iface")
    path = proc / str(pid) / "net" / "dev"
    names = sorted(name for name, _ in _lines(path.read_bytes()) if name != "lo")
    if not names:
        raise NotHere(f"{path}: no interface but the loopback")
    return [NamespaceProbe(pid, name, host=host, known=frozenset(names), proc=proc) for name in names]


class NamespaceProbe:
    """Reads one interface of a process's network namespace.

    Parameters
    ----------
    pid
        The process.
    interface
        Name within its namespace.
    host
        Name of this host.
    known
        All interfaces of the namespace that are read.
    proc
        Root of the kernel's processes.

    Attributes
    ----------
    counts : frozenset of str
        The interface, in its namespace.
    remarks : tuple of str
        What is counted.
    """

    def __init__(self, pid: int, interface: str, *, host: str, known: frozenset[str], proc: Path = PROC) -> None:
        folder = proc / str(pid)
        self._interface = interface
        self._known = known
        self._host = host
        self._source = Source(collector="namespaces", device=f"pid{pid}", port=interface, folder=folder, is_up=True)
        self._process = os.pidfd_open(pid)
        self._handle = os.open(folder / "net" / "dev", os.O_RDONLY | os.O_CLOEXEC)
        self.counts = frozenset({f"{network_namespace(pid, proc=proc)} {interface}"})
        self.remarks: Sequence[str] = (
            f"{self._source.name}: what moves there in the process's network namespace, other processes' too",
        )

    @property
    def lost(self) -> Sequence[str]:
        """Which interfaces came after the start; see `profiler.collectors.base.Probe`."""
        if self._interface != min(self._known):  # one of the namespace's probes is enough to say it
            return ()
        try:
            came = sorted({name for name, _ in _lines(_read_all(self._handle))} - self._known - {"lo"})
        except OSError:  # the namespace has ended
            return ()
        names = ", ".join(came)
        return (f"{self._source.device}: not read, for they came after the start: {names}",) if came else ()

    @property
    def is_over(self) -> bool:
        """Whether the process has ended."""
        return bool(select.select([self._process], [], [], 0)[0])

    def read(self) -> Sequence[int]:
        """Return the counters; see `profiler.collectors.base.Probe`."""
        offset = 0
        while chunk := os.pread(self._handle, _CHUNK_BYTES, offset):
            for name, counts in _lines(chunk):
                if name == self._interface:
                    return [int(counts[column]) for column in _COLUMNS.values()]
            offset += len(chunk)  # the kernel gives whole lines, a page of them at a time
        raise ValueError(f"{self._interface} is gone from the process's network namespace")

    def counters(self) -> tuple[ProbedCounter, ...]:
        """Return what is read."""
        return tuple(self._counter(i, name) for i, name in enumerate(_COLUMNS))

    def close(self) -> None:
        """Close the files."""
        os.close(self._handle)
        os.close(self._process)

    def _counter(self, i_value: int, name: str) -> ProbedCounter:
        way, _, metric = name.partition("_")
        spec = CounterSpec(
            file=name,
            metric=metric,
            direction="transmit" if way == "tx" else "receive",
            help=f"{metric} of an interface of the process's network namespace",
        )
        series = Series(
            host=self._host,
            device=self._source.device,
            port=self._source.port,
            direction=spec.direction,
            metric=metric,
            unit=metric,
            layer="netdev",
            raw_name=name,
            source="namespaces",
        )
        return ProbedCounter(source=self._source, spec=spec, series=series, probe=self, i_value=i_value)


def _read_all(handle: int) -> bytes:
    text = b""
    while chunk := os.pread(handle, _CHUNK_BYTES, len(text)):
        text += chunk
    return text


def _lines(text: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Yield each interface of a page of ``net/dev`` with its counts; the two lines of the head have no colon."""
    for line in text.splitlines():
        name, colon, counts = line.partition(b":")
        if colon:
            yield name.strip().decode(), counts.split()
