"""What the live commands read: ports of this host, statistics of drivers, sockets of processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from profiler.collectors import Probe, Source

__all__ = ["Cgroups", "Devices", "Drivers", "Ifaces", "LiveSources", "Pids", "blind_spots_of"]

PORT_INTERVAL: Final = "1ms"
PROBE_INTERVAL: Final = "10ms"
"""Sockets and drivers are asked less often than files are read, unless told: an answer takes about a millisecond."""

Ifaces = Annotated[list[str] | None, typer.Option("--iface", help="Network interface; may be repeated.")]
Devices = Annotated[list[str] | None, typer.Option("--device", help="RDMA device, or device:port; may be repeated.")]
Drivers = Annotated[
    list[str] | None, typer.Option("--ethtool", help="Interface whose driver's statistics are read; may be repeated.")
]
Pids = Annotated[
    list[int] | None, typer.Option("--pid", help="Process whose TCP sockets, with its children's, are read.")
]
Cgroups = Annotated[
    list[Path] | None, typer.Option("--cgroup", help="Control group whose processes' TCP sockets are read.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSources:
    """What was asked for on the command line."""

    ifaces: Sequence[str] = ()
    devices: Sequence[str] = ()
    drivers: Sequence[str] = ()
    pids: Sequence[int] = ()
    cgroups: Sequence[Path] = ()

    @property
    def has_probes(self) -> bool:
        """Whether drivers or processes are among it."""
        return bool(self.drivers or self.pids or self.cgroups)

    @property
    def is_named(self) -> bool:
        """Whether anything is named."""
        return bool(self.ifaces or self.devices) or self.has_probes

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
        from profiler.collectors.sockets import SocketsProbe

        found: list[Source | Probe] = []
        if self.ifaces or self.devices or not self.has_probes:
            found += find_sources(sys_root, ifaces=self.ifaces, devices=self.devices)
        found += [EthtoolProbe(driver, host=host, interval_s=interval_s) for driver in self.drivers]
        processes = [SocketsProbe.of_process(pid, host=host, interval_s=interval_s) for pid in self.pids]
        processes += [SocketsProbe.of_cgroup(group, host=host, interval_s=interval_s) for group in self.cgroups]
        return [*found, *processes], lambda: bool(processes) and all(probe.is_over for probe in processes)


def blind_spots_of(sources: Sequence[Source | Probe]) -> list[str]:
    """Return what the ports that were named do not see though nothing else named does, and what two of them see."""
    from profiler.collectors import Source
    from profiler.doctor import rdma_devices, shared_ports

    ports = [source for source in sources if isinstance(source, Source)]
    named = {port.device for port in ports}
    remarks = []
    for port in ports:
        unseen = [device for device in rdma_devices(port) if device not in named]
        shared = [device for device in shared_ports(port) if device in named]
        if unseen:
            remarks.append(f"{port.name}: does not count what RDMA moves; name --device {', '.join(unseen)} too")
        if shared:
            remarks.append(f"{port.name}: its traffic is counted by {', '.join(shared)} too; never add them up")
    return remarks
