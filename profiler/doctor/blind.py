"""What counters of a port do not see, from how the kernel relates ports to each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from profiler.collectors.base import list_folders

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.collectors import Source

__all__ = ["blind_spots", "rdma_devices", "shared_ports"]


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
        yield "a virtual function: only its own traffic, not that of the whole port"
    if not (source.folder / "device").exists() and source.device != "lo" and (sys_root / "class" / "net").is_dir():
        yield "a virtual interface: what leaves the host is counted by the device below"


def rdma_devices(source: Source) -> list[str]:
    """Return the RDMA devices of an interface's card, whose traffic the interface does not count."""
    return [path.name for path in list_folders(source.folder / "device" / "infiniband")]


def shared_ports(source: Source) -> list[str]:
    """Return the interfaces that count an interface's traffic too: those below it, and the one that it is part of."""
    below = [path.name.removeprefix("lower_") for path in source.folder.glob("lower_*")]
    above = source.folder / "master"
    return sorted([*below, above.resolve().name] if above.exists() else below)


def _of_rdma(source: Source) -> Iterator[str]:
    if (source.folder.parent.parent / "device" / "physfn").exists():
        yield "a virtual function: only its own traffic, not that of the whole port"
    if not source.is_up:
        yield "its link is down"
