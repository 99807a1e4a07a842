"""Network interfaces: ``/sys/class/net/<interface>/statistics``.

Every interface has counters of its own: a bond counts what its members count, a VLAN what its parent counts. Each is a
series, and none is ever a sum of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.collectors.base import Collector, CounterSpec, Source, list_folders, read_text
from profiler.errors import SourceBroken

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["NIC"]

_IFF_UP: Final = 0x1
_DOWN: Final = frozenset({"down", "lowerlayerdown", "notpresent"})

COUNTERS: Final = (
    CounterSpec(file="statistics/tx_bytes", metric="bytes", direction="transmit", help="good bytes transmitted"),
    CounterSpec(file="statistics/rx_bytes", metric="bytes", direction="receive", help="good bytes received"),
    CounterSpec(file="statistics/tx_packets", metric="packets", direction="transmit", help="packets transmitted"),
    CounterSpec(file="statistics/rx_packets", metric="packets", direction="receive", help="good packets received"),
)
"""Linux ``Documentation/ABI/testing/sysfs-class-net-statistics``; 64 bits since ``struct rtnl_link_stats64``."""


def _find(sys_root: Path) -> list[Source]:
    return [
        Source(
            collector="nic", device=folder.name, folder=folder, is_up=_is_up(folder), speed_bps=_read_speed_bps(folder)
        )
        for folder in list_folders(sys_root / "class" / "net")
        if (folder / "statistics").is_dir()
    ]


def _is_up(folder: Path) -> bool:
    flags = read_text(folder / "flags") or hex(_IFF_UP)
    try:
        is_enabled = bool(int(flags, 16) & _IFF_UP)
    except ValueError:
        raise SourceBroken(
            f"{folder / 'flags'}: expected a hexadecimal number, found {flags[:20]!r}; is this the kernel's tree?"
        ) from None
    return is_enabled and read_text(folder / "operstate") not in _DOWN


def _read_speed_bps(folder: Path) -> float | None:
    mbps = read_text(folder / "speed")  # -1 where unknown; no value while the link is down
    return float(mbps) * 1e6 if mbps.isdigit() and int(mbps) > 0 else None


NIC: Final = Collector(name="nic", layer="netdev", counters=COUNTERS, find=_find)
