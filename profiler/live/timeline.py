"""Which readings follow those before, which are late, and where time breaks off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.live.history import REACH_NS
from profiler.units import NS_PER_S, format_duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Stretch", "Timeline"]

PATIENCE_NS: Final = NS_PER_S
"""Late or repeated readings come singly or in one chunk; those of a clock set back go on for longer than this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretch:
    """Readings that follow one another: their places in what was given, shape (n_readings,).

    ``broken`` says why they do not go on from what came before them; it is empty if they do.
    """

    places: NDArray[np.int64]
    broken: str = ""


class Timeline:
    """Puts the times of one counter's readings in order.

    A reading no later than one before it is left out, unless such readings go on: then the clock was set back, and
    time begins anew. It does so too after longer than is remembered.
    """

    def __init__(self) -> None:
        self._last_ns: int | None = None
        self._late_ns: int | None = None

    def follow(self, t_ns: NDArray[np.int64]) -> list[Stretch]:
        """Take the times of readings, UTC epoch ns, shape (n_readings,), and return the stretches they make."""
        stretches: list[Stretch] = []
        rest, broken = np.arange(t_ns.size), ""
        while rest.size:
            later = self._later(t_ns, rest)
            if later.size:
                stretches += self._parted(t_ns, later, broken=broken)
                self._last_ns, self._late_ns = int(t_ns[later[-1]]), None
                rest = rest[rest > later[-1]]
            broken = self._set_back(t_ns[rest])
            if not broken:
                break
        return stretches

    def _later(self, t_ns: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of readings that are later than all before them."""
        times_ns = t_ns[places]
        floor_ns = int(times_ns[0]) - 1 if self._last_ns is None else self._last_ns
        newest_ns = np.maximum.accumulate(np.concatenate(([floor_ns], times_ns)))
        return places[np.diff(newest_ns) > 0]

    def _parted(self, t_ns: NDArray[np.int64], places: NDArray[np.int64], *, broken: str) -> list[Stretch]:
        """Part increasing times where longer went by than is remembered."""
        times_ns = t_ns[places]
        gaps_ns = np.diff(times_ns, prepend=times_ns[0] if self._last_ns is None else self._last_ns)
        breaks = np.flatnonzero(gaps_ns > REACH_NS)
        reasons = [broken, *(f"no samples for {format_duration(gaps_ns[i] / NS_PER_S)}" for i in breaks)]
        parts = np.split(places, breaks)
        return [Stretch(places=part, broken=why) for part, why in zip(parts, reasons, strict=True) if part.size]

    def _set_back(self, late_ns: NDArray[np.int64]) -> str:
        """Return what to say if late readings are those of a clock set back; empty if they are not, or not yet."""
        if not late_ns.size or self._last_ns is None:
            return ""
        self._late_ns = int(late_ns[0]) if self._late_ns is None else self._late_ns
        newest_ns = int(late_ns[-1])
        if newest_ns - self._late_ns < PATIENCE_NS or newest_ns >= self._last_ns:
            return ""
        back_s = (self._last_ns - self._late_ns) / NS_PER_S
        self._last_ns = self._late_ns = None
        return f"times were set back by {format_duration(back_s)}"
