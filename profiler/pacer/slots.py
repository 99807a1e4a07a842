"""`Slots`: when the slots of a job start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["NS_PER_S", "Slots"]

NS_PER_S: Final = 1_000_000_000
SHORTEST_S: Final = 1e-9
"""Clocks count whole ns."""
LONGEST_S: Final = 4e9
"""More than the time since the Unix epoch, and less than the 2**63 ns that a system can sleep for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Slot k starts at ``origin_ns + k * period_ns`` of the wall clock, and is open for ``tolerance_ns``."""

    period_ns: int
    origin_ns: int
    tolerance_ns: int

    @classmethod
    def from_times(cls, *, period_s: float, shift_s: float, anchor_ns: int, tolerance_frac: float) -> Slots:
        """Return the slots that `profiler.pacer.Pacer` is told of.

        Raises
        ------
        ValueError
            If the period is not from 1 ns to 4e9 s, the shift more than that to either side, or the tolerance outside
            [0, 1).
        """
        if not SHORTEST_S <= period_s <= LONGEST_S:
            raise ValueError(
                f"period_s {period_s!r}: must be positive and finite, from {SHORTEST_S:g} to {LONGEST_S:g} s, or None "
                "for a pacer that never waits"
            )
        if not -LONGEST_S <= shift_s <= LONGEST_S:
            raise ValueError(f"shift_s {shift_s!r}: must be finite, and no more than {LONGEST_S:g} s to either side")
        if not 0 <= tolerance_frac < 1:
            raise ValueError(f"tolerance_frac {tolerance_frac!r}: must lie in [0, 1)")
        period_ns = round(period_s * NS_PER_S)
        return cls(
            period_ns=period_ns,
            origin_ns=anchor_ns + round(shift_s * NS_PER_S),
            tolerance_ns=round(tolerance_frac * period_ns),
        )

    def start_ns(self, i_slot: int) -> int:
        """Return when a slot starts."""
        return self.origin_ns + i_slot * self.period_ns

    def at(self, now_ns: int) -> int:
        """Return the last slot that has started."""
        return (now_ns - self.origin_ns) // self.period_ns

    def open_or_next(self, now_ns: int) -> int:
        """Return the slot that is open, or else the next one."""
        i_slot = self.at(now_ns)
        return i_slot if now_ns - self.start_ns(i_slot) <= self.tolerance_ns else i_slot + 1
