"""`ShiftPlan`: one shift a job for the whole affinity graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.compat.result import JobShift
from profiler.results import Tabular

__all__ = ["ShiftPlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftPlan(Tabular):
    """One shift a job, the same on every link that the job crosses.

    ``gap`` is the weighted mean over links of how far the plan's score may lie below each link's own best.
    """

    shifts: tuple[JobShift, ...]
    gap: float
    warnings: tuple[str, ...] = ()
    method: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON: the file that the pacer reads."""
        raise NotImplementedError

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a job."""
        raise NotImplementedError
