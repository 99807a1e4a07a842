"""What counters of a port do not see, from how the kernel relates ports to each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from profiler.collectors.base import list_folders

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.collectors import Source

__all__ = ["blind_spots"]


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
    folder = source.folder
    devices = [path.name for path in list_folders(folder / "device" / "infiniband")]
    if devices:
        names = ", ".join(devices)
        yield f"traffic of RDMA does not pass the kernel and is not counted here; read --device {names} too"
    members = [path.name.removeprefix("lower_") for path in folder.glob("lower_*")]
    if (folder / "bonding").is_dir() and members:
        yield f"a bond: it counts again what {', '.join(sorted(members))} count; never add them up"
    elif members:
        yield f"on top of {', '.join(sorted(members))}, which count its traffic too; never add them up"
    if (folder / "master").exists():
        yield f"part of {(folder / 'master').resolve().name}, which counts its traffic too; never add them up"
    if (folder / "device" / "physfn").exists():
        yield "a virtual function: only its own traffic, not that of the whole port"
    if not (folder / "device").exists() and source.device != "lo" and (sys_root / "class" / "net").is_dir():
        yield "a virtual interface: what leaves the host is counted by the device below"


def _of_rdma(source: Source) -> Iterator[str]:
    if (source.folder.parent.parent / "device" / "physfn").exists():
        yield "a virtual function: only its own traffic, not that of the whole port"
    if not source.is_up:
        yield "its link is down"
