"""Bytes of the TCP sockets of some processes, from the kernel's socket diagnosis: a job is measured, not its host."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from profiler.collectors.base import CounterSpec, ProbedCounter, Source
from profiler.collectors.cost import checked_cost_s
from profiler.collectors.ownership import LOOK_EVERY_S, Lost, Ownership, Socket
from profiler.collectors.processes import (
    PROC,
    ProcessTree,
    cgroup_name,
    cgroup_processes,
    checked_cgroup,
    checked_rights,
    network_namespace,
)
from profiler.errors import NotHere, UsageError
from profiler.store.series import Series
from profiler.units import format_bytes, format_count, format_duration

if TYPE_CHECKING:
    from pathlib import Path

    from pyroute2 import DiagSocket

__all__ = ["SocketsProbe", "can_diagnose"]

_INFO: Final = 1 << 1
"""Asks for ``struct tcp_info`` (linux/inet_diag.h, INET_DIAG_INFO - 1)."""
_STATES: Final = (1 << 12) - 1 & ~(1 << 10) & ~(1 << 6)
"""Every state but listening and waiting for late segments, of which nothing is told."""
MAX_DUTY: Final = 0.5
"""Most of the time that reading may take: it is this process's own, and the host's sockets are many."""
_MAX_SHOWN: Final = 8
"""A message lists so many processes."""
_DIRECTIONS: Final[tuple[Literal["transmit", "receive"], ...]] = ("transmit", "receive")


class SocketsProbe:
    """Adds up what the TCP sockets of some processes sent and received.

    Payload, each byte once: what is sent again is not counted. A socket that was open before counts from then on, one
    opened later from its first byte. What a socket moves between the last read and its end is not seen.

    Parameters
    ----------
    name
        What the series call it, as device.
    pids
        Returns the processes at this moment; none once they have ended.
    host
        Name of this host.
    interval_s
        How often it will be read.
    namespace
        A process in whose network namespace the sockets are; None for this process's own.

    Attributes
    ----------
    cost_s : float
        Time of a read when it was opened.
    counts : frozenset of str
        The processes.
    remarks : list of str
        What a read costs, and what is not seen.

    Raises
    ------
    NotHere
        If there are no such processes, or the kernel does not tell of sockets.
    UsageError
        If reading so often would take more than half of the time.
    """

    def __init__(
        self,
        name: str,
        *,
        pids: Callable[[], set[int]],
        host: str,
        interval_s: float,
        namespace: int | None = None,
    ) -> None:
        first = pids()
        if not first:
            raise NotHere(f"{name}: no such process; is it still running?")
        checked_rights(first)
        self._diagnosis = _diagnosis(namespace or min(first))
        self._source = Source(collector="sockets", device=name, folder=PROC / str(min(first)), is_up=True)
        self._host = host
        self._total = [0, 0]
        self._pids = pids
        self._namespace = network_namespace(namespace or min(first))
        self._elsewhere: set[int] = set()
        self._ownership = Ownership(self._processes, list(_sockets(self._diagnosis)))
        self._told_elsewhere = frozenset(self._elsewhere)
        self.counts = frozenset(f"process {pid}" for pid in first)
        try:
            self.cost_s = checked_cost_s(self.read, interval_s=interval_s, max_duty=MAX_DUTY, name=name)
        except UsageError:
            self._diagnosis.close()
            raise
        self.remarks: Sequence[str] = [
            f"{name}: a read takes {self.cost_s * 1e3:.2g} ms, {self.cost_s / interval_s:.0%} of the time",
            f"{name}: payload of TCP alone; {_unseen(self._ownership.slowest_s, interval_s=interval_s)}",
            *_namespace_remarks(name, self._elsewhere, namespace or min(first)),
        ]

    @classmethod
    def of_process(cls, pid: int, *, host: str, interval_s: float) -> SocketsProbe:
        """Return a probe of a process and all that descend from it."""
        tree = ProcessTree(pid)
        return cls(f"pid{pid}", pids=tree.processes, host=host, interval_s=interval_s, namespace=pid)

    @classmethod
    def of_cgroup(cls, folder: Path, *, host: str, interval_s: float) -> SocketsProbe:
        """Return a probe of the processes of a control group, named as `profiler.collectors.processes.cgroup_name`.

        Raises
        ------
        NotHere
            If it is none, or has no processes.
        """
        group = checked_cgroup(folder)
        if not cgroup_processes(group):
            raise NotHere(f"{group}: no process is in this control group; is the job still running?")
        return cls(cgroup_name(group), pids=lambda: cgroup_processes(group), host=host, interval_s=interval_s)

    def read(self) -> Sequence[int]:
        """Return bytes sent and received since the probe was made; see `profiler.collectors.base.Probe`."""
        sockets = list(_sockets(self._diagnosis))
        self._ownership.update(sockets)
        counted = self._ownership.counted
        for cookie, _, moved in sockets:
            before = counted.get(cookie)
            if before is not None:
                for i, count in enumerate(moved):
                    self._total[i] += max(0, count - before[i])
                counted[cookie] = moved
        return list(self._total)

    @property
    def is_over(self) -> bool:
        """Whether the processes have ended."""
        return self._ownership.is_over

    @property
    def lost(self) -> Sequence[str]:
        """What could not be counted so far; see `profiler.collectors.base.Probe`."""
        name = self._source.device
        return [
            *_late_remarks(name, self._elsewhere - self._told_elsewhere),
            *_lost_remarks(name, self._ownership.lost),
        ]

    def _processes(self) -> set[int]:
        """Return the processes, and remember which are in another network namespace: they may enter it at any time."""
        found = self._pids()
        self._elsewhere |= {pid for pid in found if network_namespace(pid) not in (None, self._namespace)}
        return found

    def counters(self) -> tuple[ProbedCounter, ...]:
        """Return what is read."""
        return tuple(self._counter(i, direction) for i, direction in enumerate(_DIRECTIONS))

    def close(self) -> None:
        """Close the socket to the kernel."""
        self._diagnosis.close()

    def _counter(self, i_value: int, direction: Literal["transmit", "receive"]) -> ProbedCounter:
        raw_name = "tcpi_bytes_sent - tcpi_bytes_retrans" if direction == "transmit" else "tcpi_bytes_received"
        series = Series(
            host=self._host,
            device=self._source.device,
            direction=direction,
            layer="socket",
            raw_name=raw_name,
            source="sockets",
        )
        spec = CounterSpec(file=raw_name, metric="bytes", direction=direction, help="payload of TCP sockets")
        return ProbedCounter(source=self._source, spec=spec, series=series, probe=self, i_value=i_value)


def _unseen(slowest_s: tuple[float, float], *, interval_s: float) -> str:
    known, new = (format_duration(max(interval_s, one_s)) for one_s in slowest_s)
    return (
        "of a socket that closes, what it moved after the last read is not seen, and nothing of one that was open for"
        f" less than {known}, or {new} if its process had just begun; nor is a process followed whose parent started it"
        f" and ended within {format_duration(max(LOOK_EVERY_S, slowest_s[1]))}"
    )


def _namespace_remarks(name: str, elsewhere: set[int], namespace: int) -> Iterator[str]:
    """Yield what the network namespaces of the processes mean."""
    if elsewhere:
        yield f"{name}: not counted, for they are in other network namespaces: processes {_listed(elsewhere)}"
    if network_namespace(namespace) != network_namespace(os.getpid()):
        yield f"{name}: is in a network namespace of its own; --netns {namespace} reads all that moves there, for less"


def _late_remarks(name: str, elsewhere: set[int]) -> Iterator[str]:
    if elsewhere:
        yield (
            f"{name}: not counted, for they were in other network namespaces meanwhile: processes {_listed(elsewhere)};"
            " take --netns of one"
        )


def _lost_remarks(name: str, lost: Lost) -> Iterator[str]:
    if lost.n_sockets:
        sockets = format_count(lost.n_sockets, "TCP socket")
        sent, received = format_bytes(lost.sent_bytes), format_bytes(lost.received_bytes)
        yield (
            f"{name}: {sockets} of its network closed before it was known whose they were, with {sent} sent and"
            f" {received} received: not counted, though some may be its own"
        )


def _listed(pids: set[int]) -> str:
    shown = ", ".join(map(str, sorted(pids)[:_MAX_SHOWN]))
    return shown if len(pids) <= _MAX_SHOWN else f"{shown}, …"


def _diagnosis(pid: int) -> DiagSocket:
    """Open the kernel's socket diagnosis in the network namespace of a process."""
    from pyroute2 import DiagSocket, netns

    path = PROC / str(pid) / "ns" / "net"
    try:
        is_own = path.readlink() == (PROC / "self" / "ns" / "net").readlink()
        if not is_own:
            netns.pushns(str(path))
        try:
            diagnosis = DiagSocket()
            diagnosis.bind()
        finally:
            if not is_own:
                netns.popns()
    except OSError as error:
        raise NotHere(
            f"sockets of process {pid}: {error.strerror or error}; run as root, or take --netns if it is in a container"
        ) from error
    return diagnosis


def _sockets(diagnosis: DiagSocket) -> Iterator[Socket]:
    """Yield cookie, inode, and bytes sent once and received, of each socket; OSError if the kernel refuses."""
    from pyroute2.netlink.exceptions import NetlinkError

    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            messages = diagnosis.get_sock_stats(family=family, states=_STATES, extensions=_INFO)
        except NetlinkError as error:
            raise OSError(f"the kernel tells nothing of sockets: {error}") from error
        for message in messages:
            info: dict[str, Any] | None = message.get_attr("INET_DIAG_INFO")
            if info:
                sent = info.get("tcpi_bytes_sent", info.get("tcpi_bytes_acked", 0)) - info.get("tcpi_bytes_retrans", 0)
                moved = (sent, info.get("tcpi_bytes_received", 0))
                yield Socket(message["idiag_cookie"], message["idiag_inode"], moved)


def can_diagnose() -> int:
    """Return how many sockets the kernel tells of.

    Raises
    ------
    NotHere
        If it tells of none.
    """
    diagnosis = _diagnosis(os.getpid())
    try:
        return sum(1 for _ in _sockets(diagnosis))
    except OSError as error:
        raise NotHere(str(error)) from error
    finally:
        diagnosis.close()
