"""`Placement`: shifts of some jobs and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.compat.kernel import FLAT_FRAC

if TYPE_CHECKING:
    from pipeline.compat.timeline import Timeline

__all__ = ["Placement", "tolerance_bps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Shifts of some jobs, in the order of their demands, and the mean excess at them.

    ``is_proved`` says that no shifts cost less.
    """

    shifts_ns: tuple[int, ...]
    excess_bps: float
    is_proved: bool = False


def tolerance_bps(timeline: Timeline) -> float:
    """Return the difference in mean excess below which two placements are alike: rounding."""
    return FLAT_FRAC * sum(demand.peak_bps for demand in timeline.demands)
