"""RDMA ports: ``/sys/class/infiniband/<device>/ports/<port>/counters``, InfiniBand and RoCE alike.

The data counters count words of 4 bytes on every lane width. ``counters`` has 64-bit values where the adapter has the
extended counters, else 32-bit ones that stick at their maximum; older drivers put 64-bit ones into ``counters_ext``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from profiler.collectors.base import Collector, CounterSpec, Source, list_folders, read_text
from profiler.units import IB_WORD_BYTES

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["RDMA"]

_RATE: Final = re.compile(r"(?P<gbps>\d+(?:\.\d+)?) Gb/sec")
_ACTIVE: Final = "4: ACTIVE"

COUNTERS: Final = (
    CounterSpec(
        file="counters_ext/port_xmit_data_64",
        metric="bytes",
        direction="transmit",
        scale=IB_WORD_BYTES,
        help="data octets transmitted on all virtual lanes, divided by 4; older drivers",
    ),
    CounterSpec(
        file="counters/port_xmit_data",
        metric="bytes",
        direction="transmit",
        scale=IB_WORD_BYTES,
        width_bits=None,
        help="data octets transmitted on all virtual lanes, divided by 4",
    ),
    CounterSpec(
        file="hw_counters/tx_bytes",
        metric="bytes",
        direction="transmit",
        help="bytes transmitted; adapters without a PMA, such as EFA",
    ),
    CounterSpec(
        file="counters_ext/port_rcv_data_64",
        metric="bytes",
        direction="receive",
        scale=IB_WORD_BYTES,
        help="data octets received on all virtual lanes, divided by 4; older drivers",
    ),
    CounterSpec(
        file="counters/port_rcv_data",
        metric="bytes",
        direction="receive",
        scale=IB_WORD_BYTES,
        width_bits=None,
        help="data octets received on all virtual lanes, divided by 4",
    ),
    CounterSpec(
        file="hw_counters/rx_bytes",
        metric="bytes",
        direction="receive",
        help="bytes received; adapters without a PMA, such as EFA",
    ),
    CounterSpec(
        file="counters_ext/port_xmit_packets_64",
        metric="packets",
        direction="transmit",
        help="packets transmitted on all virtual lanes; older drivers",
    ),
    CounterSpec(
        file="counters/port_xmit_packets",
        metric="packets",
        direction="transmit",
        width_bits=None,
        help="packets transmitted on all virtual lanes",
    ),
    CounterSpec(
        file="counters_ext/port_rcv_packets_64",
        metric="packets",
        direction="receive",
        help="packets received on all virtual lanes; older drivers",
    ),
    CounterSpec(
        file="counters/port_rcv_packets",
        metric="packets",
        direction="receive",
        width_bits=None,
        help="packets received on all virtual lanes",
    ),
)
"""Linux ``Documentation/ABI/stable/sysfs-class-infiniband``."""


def _find(sys_root: Path) -> list[Source]:
    return [
        Source(
            collector="rdma",
            device=device.name,
            port=port.name,
            folder=port,
            is_up=read_text(port / "state") == _ACTIVE,
            speed_bps=_read_speed_bps(port),
        )
        for device in list_folders(sys_root / "class" / "infiniband")
        for port in list_folders(device / "ports")
    ]


def _read_speed_bps(port: Path) -> float | None:
    rate = _RATE.match(read_text(port / "rate"))  # such as "100 Gb/sec (4X EDR)"
    return float(rate["gbps"]) * 1e9 if rate and float(rate["gbps"]) > 0 else None


RDMA: Final = Collector(name="rdma", layer="rdma_vport", counters=COUNTERS, find=_find)
