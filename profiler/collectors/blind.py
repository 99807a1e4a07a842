"""What counters of a port do not see, or see too, from how the kernel relates ports to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from profiler.collectors.base import list_folders, read_text
from profiler.collectors.nic import NIC

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.collectors.base import Probe, Source

__all__ = [
    "blind_spots",
    "blind_spots_among",
    "doubles_among",
    "rdma_devices",
    "shared_ports",
    "shared_probes",
    "uncaptured",
]

_VIRTUAL_FUNCTION: Final = "a virtual function: only its own traffic, not that of the whole port"


def blind_spots(source: Source, sys_root: Path) -> Iterator[str]:
    """Yield what the counters of a port leave out, or count twice.

    Parameters
    ----------
    source
        The port.
    sys_root
        Root of the kernel's tree.
    """
    if source.collector == "rdma":
        yield from _of_rdma(source)
        return
    unseen, shared = rdma_devices(source), shared_ports(source)
    if unseen:
        yield f"traffic of RDMA does not pass the kernel and is not counted here; read --device {', '.join(unseen)} too"
    if shared:
        yield f"{', '.join(shared)}: counted there too; never add them up"
    if (source.folder / "device" / "physfn").exists():
        yield _VIRTUAL_FUNCTION
    is_virtual = not (source.folder / "device").exists()
    if is_virtual and not shared and source.device != "lo" and (sys_root / "class" / "net").is_dir():
        yield "a virtual interface: what leaves the host is counted by the device below"


def blind_spots_among(sources: Sequence[Source]) -> list[str]:
    """Return what some ports do not see though none of the others does, and which of them count the same bytes."""
    chosen = {port.device for port in sources}
    remarks = []
    for port in sources:
        if port.collector == "rdma":
            remarks += [f"{port.name}: {remark}" for remark in _of_rdma(port)]
            continue
        unseen = [device for device in rdma_devices(port) if device not in chosen]
        shared = [device for device in shared_ports(port) if device in chosen]
        if unseen:
            remarks.append(f"{port.name}: does not count what RDMA moves; name --device {', '.join(unseen)} too")
        if shared:
            remarks.append(_counted_too(port.name, shared))
    return remarks


def doubles_among(probes: Sequence[Probe]) -> list[str]:
    """Return which of some probes count the same bytes."""
    return [_counted_too(name, others) for name, others in shared_probes(probes).items()]


def shared_probes(probes: Sequence[Probe]) -> dict[str, list[str]]:
    """Return by the name of each probe which others count its traffic too, where any does."""
    named = [(counter.source.name, probe.counts) for probe in probes for counter in probe.counters()[:1]]
    shared = {
        name: sorted({other for other, others in named if other != name and counts & others}) for name, counts in named
    }
    return {name: others for name, others in shared.items() if others}


def rdma_devices(source: Source) -> list[str]:
    """Return the RDMA devices whose traffic passes an interface's link, but not its counters.

    Those of its own card, of the cards below a bond or a VLAN, and those whose RoCE addresses are the interface's.
    """
    net, found = source.folder.parent, set()
    for name in [source.device, *_all_below(source.folder)]:
        found |= {path.name for path in list_folders(net / name / "device" / "infiniband")}
    for device in list_folders(net.parent / "infiniband"):
        if source.device in _roce_interfaces(device):
            found.add(device.name)
    return sorted(found)


def uncaptured(iface: str, sys_root: Path) -> str:
    """Return which packets of an interface are not seen where its packets are captured; empty if all are.

    Parameters
    ----------
    iface
        The interface, or an RDMA device, which sees all of its own.
    sys_root
        Root of the kernel's tree.
    """
    if (sys_root / "class" / "infiniband" / iface).is_dir():
        return ""
    devices = ", ".join(device for port in NIC.find(sys_root) if port.device == iface for device in rdma_devices(port))
    if not devices:
        return f"{iface}: RDMA of this host passes by its network stack: it takes a mirror port, or the RDMA device"
    return (
        f"{iface}: RDMA of {devices} passes by the network stack and is not captured here: it takes a mirror port, or"
        f" --capture {devices.split(', ')[0]}, if libpcap can; --device {devices} counts its bytes"
    )


def shared_ports(source: Source) -> list[str]:
    """Return the interfaces that count an interface's traffic too: those below it, and the one that it is part of."""
    above = source.folder / "master"
    return sorted([*_below(source.folder), above.resolve().name] if above.exists() else _below(source.folder))


def _counted_too(name: str, others: Sequence[str]) -> str:
    return f"{name}: its traffic is counted by {', '.join(others)} too; never add them up"


def _of_rdma(source: Source) -> Iterator[str]:
    if (source.folder.parent.parent / "device" / "physfn").exists():
        yield _VIRTUAL_FUNCTION
    if not source.is_up:
        yield "its link is down"
    kept_ms = read_text(source.folder / "hw_counters" / "lifespan")
    if kept_ms.isdigit() and not (source.folder / "counters" / "port_xmit_data").exists():
        yield f"the kernel asks it for its counters each {kept_ms} ms only: shorter steps are not seen"


def _below(folder: Path) -> list[str]:
    return [path.name.removeprefix("lower_") for path in folder.glob("lower_*")]


def _all_below(folder: Path) -> Iterator[str]:
    for name in _below(folder):
        yield name
        yield from _all_below(folder.parent / name)


def _roce_interfaces(device: Path) -> set[str]:
    return {read_text(path) for path in device.glob("ports/*/gid_attrs/ndevs/*")} - {""}
