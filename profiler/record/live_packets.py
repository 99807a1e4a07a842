"""`LivePackets`: the packets of an interface, piece by piece, until it is over, and what befell it meanwhile."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from profiler.collectors.link_state import LinkState
from profiler.errors import SourceBroken
from profiler.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profiler.collectors.packets import PacketTap

__all__ = ["LivePackets"]

_LOOK_EVERY_S: Final = 0.05
"""How long to wait for packets before asking whether to end."""
_LAST_S: Final = 0.15
"""How long the kernel may take to hand over the block that it was filling at the end: three times what it is told."""


class LivePackets:
    """Takes packets from a tap until told to stop, the time is over, or the interface is gone.

    Parameters
    ----------
    tap
        Gives the packets.
    duration_s
        For how long; None goes on until stopped.
    stop
        Returns whether to stop.
    show
        Told of progress.

    Attributes
    ----------
    warnings : list of str
        What became of the interface meanwhile.
    is_cut : bool
        Whether packets could not be taken to the end.
    """

    def __init__(
        self,
        tap: PacketTap,
        *,
        duration_s: float | None,
        stop: Callable[[], bool],
        show: Callable[[LivePackets], None],
    ) -> None:
        self.warnings: list[str] = []
        self.is_cut = False
        self._tap = tap
        self._link = LinkState(tap.iface)
        self._duration_s = math.inf if duration_s is None else duration_s
        self._stop = stop
        self._show = show
        self._begun_s = time.monotonic()
        self._down_s: float | None = None

    @property
    def elapsed_s(self) -> float:
        """Time since it began."""
        return time.monotonic() - self._begun_s

    def describe(self) -> str:
        """Return what was seen so far, in words."""
        return f"{self._tap.iface}: {self._tap.n_packets:,} packets"

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of a capture as packets come, and an empty piece after each, so that they are looked at."""
        until_s = math.inf
        while self.elapsed_s < until_s:
            self._tap.wait(_LOOK_EVERY_S)
            yield self._taken()
            yield b""
            self._show(self)
            if until_s == math.inf and self._is_over():
                until_s = self.elapsed_s + _LAST_S
        self._note_end()

    def _taken(self) -> bytes:
        try:
            return self._tap.take()
        except SourceBroken as error:
            self._note_cut(str(error))
            return b""

    def _is_over(self) -> bool:
        state = self._link.now()
        if state == "gone":
            self._note_cut(f"{self._tap.iface}: it is gone")
        elif state == "down" and self._down_s is None:
            self._down_s = self.elapsed_s
        elif state == "up" and self._down_s is not None:
            gap_s = self.elapsed_s - self._down_s
            self.warnings.append(f"{self._tap.iface}: down for {format_duration(gap_s)}, until {self._after()}")
            self._down_s = None
        return self.is_cut or self._stop() or self.elapsed_s >= self._duration_s

    def _note_cut(self, why: str) -> None:
        if not self.is_cut:
            self.is_cut = True
            self.warnings.append(f"{why}, {self._after()}; what came before is kept; record again once it is back")

    def _note_end(self) -> None:
        if self._down_s is not None and not self.is_cut:
            self.is_cut = True
            down = format_duration(self._down_s)
            self.warnings.append(f"{self._tap.iface}: down from {down} after the start on, to the end; is its link up?")

    def _after(self) -> str:
        return f"{format_duration(self.elapsed_s)} after the start"
