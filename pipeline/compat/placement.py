"""`Placement`: shifts of some jobs, what they cost, and what any shifts must cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pipeline.compat.kinks import FLAT_FRAC

if TYPE_CHECKING:
    from pipeline.compat.timeline import Timeline

__all__ = ["Effort", "Method", "Placement", "tolerance_bps"]

Method = Literal["exact kernel", "branch and bound", "coordinate descent"]

Effort = Literal["proof", "descent"]
"""How far to search: until the best is proved, as far as the work allows, or what descents find in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Shifts of some jobs, in the order of their demands, and the mean excess at them.

    No shifts cost less than ``bound_bps``; ``is_proved`` says that none cost less than these, but for rounding.
    """

    shifts_ns: tuple[int, ...]
    excess_bps: float
    bound_bps: float = 0.0
    is_proved: bool = False
    method: Method = "coordinate descent"


def tolerance_bps(timeline: Timeline) -> float:
    """Return the difference in mean excess below which two placements are alike: rounding."""
    return FLAT_FRAC * sum(demand.peak_bps for demand in timeline.demands)
