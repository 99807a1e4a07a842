"""What the live commands read: ports of this host, statistics of drivers, sockets of processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from profiler.collectors import Probe, Source

__all__ = ["Cgroups", "Devices", "Drivers", "Ifaces", "LiveSources", "Namespaces", "Pids"]

PORT_INTERVAL: Final = "1ms"
PROBE_INTERVAL: Final = "10ms"
"""Sockets and drivers are asked less often than files are read, unless told: an answer takes about a millisecond."""

Ifaces = Annotated[
    list[str] | None, typer.Option("--iface", metavar="NAME", help="Network interface; may be repeated.")
]
Devices = Annotated[
    list[str] | None, typer.Option("--device", metavar="NAME", help="RDMA device, or device:port; may be repeated.")
]
Drivers = Annotated[
    list[str] | None,
    typer.Option(
        "--ethtool", metavar="NAME", help="Interface whose driver's statistics are read, or interface:name,name,…"
    ),
]
Pids = Annotated[
    list[int] | None,
    typer.Option("--pid", metavar="PID", help="Process whose TCP sockets, with its children's, are read."),
]
Namespaces = Annotated[
    list[int] | None,
    typer.Option("--netns", metavar="PID", help="Process, as a container's, whose network namespace is read."),
]
Cgroups = Annotated[
    list[Path] | None,
    typer.Option("--cgroup", metavar="PATH", help="Control group whose processes' TCP sockets are read."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSources:
    """What was asked for on the command line."""

    ifaces: Sequence[str] = ()
    devices: Sequence[str] = ()
    drivers: Sequence[str] = ()
    pids: Sequence[int] = ()
    cgroups: Sequence[Path] = ()
    namespaces: Sequence[int] = ()

    @property
    def has_probes(self) -> bool:
        """Whether drivers or processes are among it."""
        return bool(self.drivers or self.pids or self.cgroups)

    @property
    def is_named(self) -> bool:
        """Whether anything is named."""
        return bool(self.ifaces or self.devices or self.namespaces) or self.has_probes

    @property
    def interval(self) -> str:
        """Time between reads, where none is told."""
        return PROBE_INTERVAL if self.has_probes else PORT_INTERVAL

    def find(self, sys_root: Path, *, host: str, interval_s: float) -> tuple[list[Source | Probe], Callable[[], bool]]:
        """Return what is to be read, and what tells whether all processes among it, if there are any, have ended.

        Raises
        ------
        NotHere
            If something named is not on this machine.
        UsageError
            If something cannot be read so often.
        """
        from profiler.collectors import find_sources
        from profiler.collectors.ethtool import EthtoolProbe
        from profiler.collectors.namespaces import NamespaceProbe, open_namespace
        from profiler.collectors.sockets import SocketsProbe

        found: list[Source | Probe] = []
        if self.ifaces or self.devices or not self.is_named:
            found += find_sources(sys_root, ifaces=self.ifaces, devices=self.devices)
        for interface, names in dict.fromkeys(map(_interface_and_names, self.drivers)):
            found.append(EthtoolProbe(interface, host=host, interval_s=interval_s, names=names))
        jobs: list[SocketsProbe | NamespaceProbe] = [
            *(SocketsProbe.of_process(pid, host=host, interval_s=interval_s) for pid in dict.fromkeys(self.pids)),
            *(SocketsProbe.of_cgroup(group, host=host, interval_s=interval_s) for group in _folders(self.cgroups)),
            *(probe for pid in dict.fromkeys(self.namespaces) for probe in open_namespace(pid, host=host)),
        ]
        return [*found, *jobs], lambda: bool(jobs) and all(job.is_over for job in jobs)

    def left_out(self, sys_root: Path) -> list[str]:
        """Return what is not read though nothing was named."""
        from profiler.collectors import left_out

        return [] if self.is_named else list(left_out(sys_root))


def _interface_and_names(driver: str) -> tuple[str, tuple[str, ...]]:
    interface, _, names = driver.partition(":")
    return interface, tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))


def _folders(cgroups: Sequence[Path]) -> list[Path]:
    return list(dict.fromkeys(group.resolve() for group in cgroups))
