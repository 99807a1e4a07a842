"""The walk over a capture, by what its first bytes are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from profiler.errors import BadInput
from profiler.importers.captures.pcap import walk_pcap
from profiler.importers.captures.pcapng import PcapngWalk
from profiler.importers.contents import kind_of

if TYPE_CHECKING:
    from profiler.importers.captures.memory import KernelMemory
    from profiler.importers.captures.window import ByteWindow

__all__ = ["Walk"]

_MAGIC_BYTES = 8


class Walk:
    """A walk over a capture, and what it tells beside its packets.

    Parameters
    ----------
    window
        The capture.
    memory
        Takes its packets.
    """

    def __init__(self, window: ByteWindow, memory: KernelMemory) -> None:
        self._window = window
        self._memory = memory
        self._pcapng: PcapngWalk | None = None

    def steps(self) -> Iterator[None]:
        """Take packets; yield after every step, while the bytes of its packets are in the window.

        Raises
        ------
        BadInput
            If it is no capture, or damaged: after the last sound packet.
        """
        kind = kind_of(self._window.peek(_MAGIC_BYTES))
        if kind == "pcapng":
            self._pcapng = PcapngWalk(self._window, self._memory)
            return self._pcapng.packets()
        if kind != "pcap":
            raise BadInput(f"looks like {kind}, not like a capture (pcap or pcapng)")
        return walk_pcap(self._window, self._memory)

    @property
    def labels(self) -> list[str]:
        """Names of its interfaces by their number; one without a name where the format knows none."""
        return list(self._pcapng.labels) if self._pcapng is not None else [""]

    @property
    def n_dropped(self) -> int:
        """Packets that the capturing host dropped, as the file tells."""
        return self._pcapng.n_dropped if self._pcapng is not None else 0
