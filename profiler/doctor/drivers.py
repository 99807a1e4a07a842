"""What the drivers of a host's interfaces count past the kernel, and what it costs to ask them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from profiler.collectors.ethtool import EthtoolProbe
from profiler.errors import NotHere

if TYPE_CHECKING:
    from profiler.doctor.checkup import PortCheck

__all__ = ["driver_remarks"]

_OWN: Final = Path("/sys")
_SELDOM_S: Final = 60.0
"""An interval at which no driver costs too much to be asked."""


def driver_remarks(ports: Sequence[PortCheck], sys_root: Path) -> Iterator[str]:
    """Yield what ``--ethtool`` reads of each interface that is up, and how long a read takes.

    Drivers are asked by name, so those of a tree that is not this host's own are not.
    """
    if sys_root != _OWN:
        return
    for port in ports:
        if port.collector != "nic" or not port.is_up:
            continue
        try:
            probe = EthtoolProbe(port.name, host="", interval_s=_SELDOM_S)
        except NotHere:  # most drivers count nothing but what the kernel does
            continue
        names = ", ".join(counter.series.raw_name for counter in probe.counters())
        probe.close()
        yield f"statistics of drivers (--ethtool {port.name}): {names}; a read takes {probe.cost_s * 1e3:.2g} ms"
