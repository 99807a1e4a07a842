"""Every trap capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.profiler.captures_damage import damage_traps
from tests.profiler.captures_framing import framing_traps
from tests.profiler.captures_internet import internet_traps
from tests.profiler.captures_links import link_traps
from tests.profiler.captures_rdma import rdma_traps
from tests.profiler.captures_tunnels import tunnel_traps

if TYPE_CHECKING:
    from pathlib import Path

    from tests.profiler.captures_truth import Trap

__all__ = ["TRAPS", "WITH_PAYLOAD", "WITH_SEQUENCE", "write_traps"]

TRAPS: Final[dict[str, Trap]] = {
    trap.name: trap
    for traps in (framing_traps(), link_traps(), tunnel_traps(), internet_traps(), rdma_traps(), damage_traps())
    for trap in traps
}

WITH_PAYLOAD: Final = [name for name, trap in TRAPS.items() if any(flow.payload_bytes for flow in trap.flows.values())]
WITH_SEQUENCE: Final = [name for name in TRAPS if "rocev2" in name]


def write_traps(folder: Path) -> None:
    """Write every trap to a file."""
    for trap in TRAPS.values():
        (folder / trap.name).write_bytes(trap.data)
