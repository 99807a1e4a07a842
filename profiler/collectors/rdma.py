"""RDMA ports: ``/sys/class/infiniband/<device>/ports/<port>/counters``, InfiniBand and RoCE alike.

The data counters count words of 4 bytes on every lane width. ``counters`` has 64-bit values where the adapter has the
extended counters, else 32-bit ones that stick at their maximum; older drivers put 64-bit ones into ``counters_ext``.
``hw_counters`` are kept by the kernel for some milliseconds, ``hw_counters/lifespan``, before it asks the adapter anew.

References
----------
.. [1] NVIDIA, "Understanding mlx5 Linux counters and status parameters", port counters and hw_counters.
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

_TRAFFIC: Final = (
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
        file="hw_counters/tx_pkts",
        metric="packets",
        direction="transmit",
        help="packets transmitted; adapters without a PMA, such as EFA",
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
    CounterSpec(
        file="hw_counters/rx_pkts",
        metric="packets",
        direction="receive",
        help="packets received; adapters without a PMA, such as EFA",
    ),
)
"""Linux ``Documentation/ABI/stable/sysfs-class-infiniband``."""

_EVENTS: Final = (
    CounterSpec(
        file="counters/port_xmit_wait",
        metric="xmit_wait",
        direction="transmit",
        width_bits=None,
        help="ticks in which data waited to be transmitted, for credits or arbitration",
    ),
    CounterSpec(
        file="hw_counters/np_ecn_marked_roce_packets",
        metric="ecn_marked_packets",
        direction="receive",
        help="RoCE packets received that a switch had marked for congestion",
    ),
    CounterSpec(
        file="hw_counters/np_cnp_sent",
        metric="cnp_sent",
        direction="transmit",
        help="congestion notifications transmitted, for packets that were marked",
    ),
    CounterSpec(
        file="hw_counters/rp_cnp_handled",
        metric="cnp_handled",
        direction="receive",
        help="congestion notifications received that slowed transmission down",
    ),
    CounterSpec(
        file="hw_counters/out_of_sequence",
        metric="out_of_sequence",
        direction="receive",
        help="packets received out of sequence: some were lost",
    ),
    CounterSpec(
        file="hw_counters/packet_seq_err",
        metric="packet_seq_err",
        direction="transmit",
        help="answers that packets transmitted were lost",
    ),
)
"""What congestion does to a port: ``port_xmit_wait`` of InfiniBand, the others of mlx5 [1]_."""


def _find(sys_root: Path) -> list[Source]:
    return [
        _port(device.name, folder)
        for device in list_folders(sys_root / "class" / "infiniband")
        for folder in list_folders(device / "ports")
    ]


def _port(device: str, folder: Path) -> Source:
    is_up = read_text(folder / "state") == _ACTIVE
    return Source(
        collector="rdma",
        device=device,
        port=folder.name,
        folder=folder,
        is_up=is_up,
        speed_bps=_read_speed_bps(folder) if is_up else None,
    )


def _read_speed_bps(port: Path) -> float | None:
    """Return the rate of a port that is up; of one that is down it is a default of the driver."""
    rate = _RATE.match(read_text(port / "rate"))  # such as "100 Gb/sec (4X EDR)"
    return float(rate["gbps"]) * 1e9 if rate and float(rate["gbps"]) > 0 else None


RDMA: Final = Collector(name="rdma", layer="rdma_vport", counters=(*_TRAFFIC, *_EVENTS), find=_find)
