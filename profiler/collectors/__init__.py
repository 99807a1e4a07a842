"""Collectors, one a kind of source; each reads the kernel and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.collectors.base import (
    AnyCounter,
    Collector,
    CounterSpec,
    OpenCounter,
    Probe,
    ProbedCounter,
    Source,
    open_counters,
)
from profiler.collectors.nic import NIC
from profiler.collectors.rdma import RDMA
from profiler.errors import NotHere

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = [
    "COLLECTORS",
    "AnyCounter",
    "Collector",
    "CounterSpec",
    "OpenCounter",
    "Probe",
    "ProbedCounter",
    "Source",
    "find_sources",
    "left_out",
    "open_counters",
]

COLLECTORS: Final[dict[str, Collector]] = {"nic": NIC, "rdma": RDMA}


def find_sources(sys_root: Path, *, ifaces: Sequence[str] = (), devices: Sequence[str] = ()) -> list[Source]:
    """Return the named interfaces and RDMA devices; with no name all that are worth recording.

    Parameters
    ----------
    sys_root
        Root of the kernel's tree, ``/sys``.
    ifaces
        Network interfaces.
    devices
        RDMA devices, all ports of each, or ``<device>:<port>``.

    Returns
    -------
    list of Source
        With no name given: every interface and every RDMA port that is up and counts, but for the loopback.

    Raises
    ------
    NotHere
        If a name is not on this machine, or nothing is worth recording.
    SourceBroken
        If the tree may not be read.
    """
    nics, ports = NIC.find(sys_root), RDMA.find(sys_root)
    if ifaces or devices:
        named = [_named("interface", name, nics) for name in ifaces] + [
            _named("device", name, ports) for name in devices
        ]
        return list(dict.fromkeys(source for sources in named for source in sources))
    found = [nic for nic in nics if nic.is_up and nic.device != "lo"]
    found += [port for port in ports if port.is_up and _why_not(port) is None]
    if not found:
        raise NotHere(f"{sys_root}: no interface and no RDMA port that is up; name one with --iface or --device")
    return found


def left_out(sys_root: Path) -> Iterator[str]:
    """Yield what `find_sources` leaves out where nothing is named, and why."""
    nics, ports = NIC.find(sys_root), RDMA.find(sys_root)
    if down := [source.name for source in (*nics, *ports) if not source.is_up]:
        yield (
            f"not read, for their links are down: {', '.join(down)}; name one to read it from the start, for none is"
            " picked up when it comes up"
        )
    yield from (why for port in ports if port.is_up and (why := _why_not(port)))


def _named(kind: str, name: str, sources: Sequence[Source]) -> list[Source]:
    chosen = [source for source in sources if name in (source.device, source.name)]
    if not chosen:
        here = ", ".join(source.name for source in sources)
        here = here or "none; in a container, mount the host's /sys and name it with --sys-root"
        raise NotHere(f"no {kind} {name} on this machine; it has: {here}")
    return chosen


def _why_not(source: Source) -> str | None:
    """Return why a source has no counters at all, as software RDMA devices; None if it has, broken or not."""
    try:
        counters, _ = open_counters(source, COLLECTORS[source.collector], host="")
    except NotHere as error:
        return str(error)
    for counter in counters:
        counter.close()
    return None
