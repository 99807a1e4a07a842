"""A tree of ``/sys`` as of a training host: RoCE ports in a bond, an InfiniBand adapter, a virtual function, EFA.

Files, formats and links are those of Linux ``Documentation/ABI/stable/sysfs-class-infiniband`` and
``Documentation/ABI/testing/sysfs-class-net``; counts are whatever is asked for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Mlx5Host", "count"]

IB_COUNTERS: Final = {
    "port_xmit_data": 1_000,
    "port_rcv_data": 2_000,
    "port_xmit_packets": 30,
    "port_rcv_packets": 40,
    "port_xmit_wait": 50,
}
MLX5_EVENTS: Final = {
    "lifespan": 10,
    "np_cnp_sent": 7,
    "np_ecn_marked_roce_packets": 8,
    "rp_cnp_handled": 9,
    "out_of_sequence": 11,
    "packet_seq_err": 12,
    "rx_write_requests": 13,
}
EFA_COUNTERS: Final = {"lifespan": 12, "tx_bytes": 70_000, "rx_bytes": 80_000, "tx_pkts": 71, "rx_pkts": 81}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mlx5Host:
    """The tree below a root.

    ``mlx5_bond_0`` is RoCE on ``bond0`` over ``eth0`` and ``eth1``, with a VLAN ``bond0.100``; ``mlx5_2`` is of
    InfiniBand, its second port down; ``mlx5_3`` is a virtual function without port counters; ``efa_0`` counts in
    ``hw_counters`` alone; ``rxe0`` is software and counts nothing.
    """

    root: Path

    def write(self) -> Mlx5Host:
        """Write all of it."""
        for name in ("eth0", "eth1", "bond0", "bond0.100"):
            self._interface(name)
        for member in ("eth0", "eth1"):
            self._link(f"class/net/bond0/lower_{member}", f"../{member}")
            self._link(f"class/net/{member}/master", "../bond0")
            self._text(f"devices/{member}/infiniband/.keep", "")
            self._link(f"class/net/{member}/device", f"../../../devices/{member}")
        self._link("class/net/bond0.100/lower_bond0", "../bond0")
        self._text("devices/eth0/infiniband/mlx5_bond_0/.keep", "")
        self._port("mlx5_bond_0", rate="400 Gb/sec (4X NDR)", counters=IB_COUNTERS, events=MLX5_EVENTS)
        self._text("class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "bond0")
        self._text("class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/1", "bond0.100")
        self._port("mlx5_2", rate="400 Gb/sec (4X NDR)", counters=IB_COUNTERS, events=MLX5_EVENTS)
        self._port("mlx5_2", port=2, state="1: DOWN", rate="40 Gb/sec (4X QDR)", counters=IB_COUNTERS)
        self._port("mlx5_3", rate="200 Gb/sec (4X HDR)", events=MLX5_EVENTS)
        self._text("class/infiniband/mlx5_3/device/physfn/.keep", "")
        self._port("efa_0", rate="100 Gb/sec (4X EDR)", events=EFA_COUNTERS)
        self._port("rxe0", rate="2.5 Gb/sec (1X SDR)")
        return self

    def port(self, device: str, port: int = 1) -> Path:
        """Return the folder of a port."""
        return self.root / "class" / "infiniband" / device / "ports" / str(port)

    def _interface(self, name: str) -> None:
        folder = f"class/net/{name}"
        for counter, value in {"tx_bytes": 100, "rx_bytes": 200, "tx_packets": 3, "rx_packets": 4}.items():
            self._text(f"{folder}/statistics/{counter}", str(value))
        self._text(f"{folder}/operstate", "up")
        self._text(f"{folder}/flags", "0x1003")
        self._text(f"{folder}/speed", "400000")

    def _port(
        self,
        device: str,
        *,
        port: int = 1,
        state: str = "4: ACTIVE",
        rate: str,
        counters: dict[str, int] | None = None,
        events: dict[str, int] | None = None,
    ) -> None:
        folder = f"class/infiniband/{device}/ports/{port}"
        self._text(f"{folder}/state", state)
        self._text(f"{folder}/rate", rate)
        for kind, values in (("counters", counters or {}), ("hw_counters", events or {})):
            for name, value in values.items():
                self._text(f"{folder}/{kind}/{name}", str(value))

    def _text(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="ascii")

    def _link(self, path: str, target: str) -> None:
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)


def count(counter: Path, value: int) -> None:
    """Put a counter at a value, as the kernel does: whoever has the file open reads it anew."""
    handle = os.open(counter, os.O_WRONLY)
    try:
        os.pwrite(handle, f"{value:<24}\n".encode(), 0)  # one write of one length: a reader sees the old or the new
    finally:
        os.close(handle)
