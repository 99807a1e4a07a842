"""Statistics of drivers, as ``ethtool -S`` shows them: what RDMA moves past the kernel, and what is on the wire.

The names are the driver's own. Known are those of mlx5 [1]_ and the common ones. They are had by ioctl: the kernel's
netlink family of ethtool has groups of standard statistics, but not those of drivers [2]_. A driver tells all of its
statistics at each question, so to ask for few of them costs no less.

References
----------
.. [1] Linux, Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst
.. [2] Linux, Documentation/networking/ethtool-netlink.rst: ``ETHTOOL_GSTATS`` has no netlink request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from profiler.collectors.base import CounterSpec, ProbedCounter, Source
from profiler.collectors.cost import checked_cost_s
from profiler.errors import NotHere, UsageError
from profiler.store.series import Series

__all__ = ["EthtoolProbe", "Statistic", "known_statistic"]

_KNOWN: Final = re.compile(r"(?P<way>rx|tx)_(?P<what>(?:bytes|packets)(?:_phy)?|vport_rdma_unicast_(?:bytes|packets))")
MAX_DUTY: Final = 0.1
"""Most of the time that reading may take: drivers may hold a lock, or ask the firmware, for each answer."""


class Statistic(NamedTuple):
    """What a driver's counter counts."""

    metric: str
    direction: Literal["receive", "transmit"]
    layer: str


def known_statistic(name: str) -> Statistic | None:
    """Return what a driver's counter counts; None if it is not known.

    Examples
    --------
    >>> known_statistic("tx_vport_rdma_unicast_bytes").layer
    'rdma_vport'
    """
    known = _KNOWN.fullmatch(name)
    if known is None:
        return None
    return Statistic(
        metric="bytes" if "bytes" in known["what"] else "packets",
        direction="receive" if known["way"] == "rx" else "transmit",
        layer=_layer(known["what"]),
    )


def _layer(what: str) -> str:
    if what.endswith("_phy"):
        return "wire"
    return "rdma_vport" if what.startswith("vport_rdma") else "netdev"


class EthtoolProbe:
    """Reads some statistics of one interface.

    Parameters
    ----------
    interface
        Its name.
    host
        Name of this host.
    interval_s
        How often it will be read.
    names
        Statistics to read; by default those that are known and that the kernel's own counters do not have. Unknown
        ones are events of their name: what is not known to be the interface's bytes never counts as such.

    Attributes
    ----------
    cost_s : float
        Time of a read when it was opened.
    counts : frozenset of str
        Nothing that other probes count too.
    remarks : tuple of str
        What a read costs.

    Raises
    ------
    NotHere
        If there is no such interface, its driver has no statistics, or not those.
    UsageError
        If reading so often would take more than a tenth of the time.
    """

    counts: frozenset[str] = frozenset()
    lost: Sequence[str] = ()

    def __init__(self, interface: str, *, host: str, interval_s: float, names: Sequence[str] = ()) -> None:
        # A third of the import time of everything else, for those alone who ask for it.
        from pyroute2.ethtool.ioctl import EthtoolError, IoctlEthtool

        self._driver_error = EthtoolError
        try:
            self._driver = IoctlEthtool(interface)
            found = dict(self._driver.get_statistics())
        except (EthtoolError, OSError) as error:
            if not Path("/sys/class/net", interface).exists():
                raise NotHere(f"{interface}: no such interface here; offbeat doctor lists those there are") from error
            raise NotHere(f"{interface}: no statistics of a driver ({type(error).__name__}); try --iface") from error
        self._names = tuple(dict.fromkeys(names)) or tuple(filter(_is_past_kernel, found))
        missing = [name for name in self._names if name not in found]
        if missing or not self._names:
            wanted = ", ".join(missing) or "what is known to pass the kernel by, such as rx_vport_rdma_unicast_bytes"
            has = ", ".join(list(found)[:10])
            self._driver.close()
            raise NotHere(
                f"{interface}: its driver does not count {wanted}; name others, as --ethtool {interface}:NAME,NAME,"
                f" of those of ethtool -S {interface}: {has} …"
            )
        try:
            self.cost_s = checked_cost_s(self.read, interval_s=interval_s, max_duty=MAX_DUTY, name=interface)
        except UsageError:
            self._driver.close()
            raise
        self._source = Source(
            collector="ethtool", device=interface, folder=Path("/sys/class/net") / interface, is_up=True
        )
        self._host = host
        cost = f"{self.cost_s * 1e3:.2g} ms, {self.cost_s / interval_s:.1%} of the time"
        self.remarks: Sequence[str] = (f"{interface}: a read of its driver's statistics takes {cost}",)

    def read(self) -> Sequence[int]:
        """Return the statistics; see `profiler.collectors.base.Probe`."""
        try:
            found = dict(self._driver.get_statistics())
            return [found[name] for name in self._names]
        except (self._driver_error, KeyError) as error:
            raise OSError(f"its driver tells its statistics no more ({type(error).__name__})") from error

    def counters(self) -> tuple[ProbedCounter, ...]:
        """Return what is read."""
        return tuple(self._counter(i, name) for i, name in enumerate(self._names))

    def close(self) -> None:
        """Close the socket."""
        self._driver.close()

    def _counter(self, i_value: int, name: str) -> ProbedCounter:
        known = known_statistic(name) or _told_by(name)
        spec = CounterSpec(file=name, metric=known.metric, direction=known.direction, help="see the driver's manual")
        series = Series(
            host=self._host,
            device=self._source.device,
            direction=known.direction,
            metric=known.metric,
            unit=spec.unit,
            layer=known.layer,
            raw_name=name,
            source="ethtool",
        )
        return ProbedCounter(source=self._source, spec=spec, series=series, probe=self, i_value=i_value)


def _told_by(name: str) -> Statistic:
    """Return an event of its own for a statistic that is not known: bytes of a queue are not the interface's."""
    return Statistic(metric=name, direction="receive" if name.startswith("rx") else "transmit", layer="netdev")


def _is_past_kernel(name: str) -> bool:
    known = known_statistic(name)
    return known is not None and known.layer != "netdev"
