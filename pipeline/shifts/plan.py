"""`ShiftPlan`: one shift a job for the whole affinity graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from profiler.results import Tabular, json_ready

if TYPE_CHECKING:
    import altair as alt

    from pipeline.compat.result import JobShift
    from pipeline.simulation import JobRun

__all__ = ["ShiftPlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftPlan(Tabular):
    """One shift a job, the same on every link that the job crosses.

    ``gap`` is the mean over the links that bind jobs of how far the plan's score may lie below the best that any shifts
    could reach on that link alone; 0 where every link has its best. ``left_out`` names (link, direction) where slots
    would make some job slower; ``unmanaged`` and ``planned`` are the simulated iterations of each job of a component
    that was rehearsed.
    """

    shifts: tuple[JobShift, ...]
    gap: float
    warnings: tuple[str, ...] = ()
    method: str = ""
    left_out: tuple[tuple[str, str], ...] = ()
    unmanaged: Mapping[str, JobRun] = field(default_factory=dict)
    planned: Mapping[str, JobRun] = field(default_factory=dict)

    @property
    def shifts_s(self) -> dict[str, float]:
        """Shift of each job in seconds."""
        return {shift.job: shift.shift_s for shift in self.shifts}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON: the file that the pacer reads. Shifts count from the Unix epoch."""
        document: dict[str, Any] = json_ready(
            {
                "kind": "shift_plan",
                "version": 1,
                "anchor_ns": 0,
                "shifts": self.to_rows(),
                "gap": self.gap,
                "warnings": self.warnings,
                "method": self.method,
            }
        )
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a job."""
        return [asdict(shift) for shift in self.shifts]

    def plot(self) -> alt.Chart:
        """Return the shifts as an Altair chart, one mark a job."""
        import altair as alt

        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=self.to_rows()))
            .mark_tick(thickness=3)
            .encode(x=alt.X("shift_s:Q", title="shift (s)"), y=alt.Y("job:N", title=None))
        )
        return chart

    def __repr__(self) -> str:
        return f"ShiftPlan({len(self.shifts)} jobs, gap {self.gap:.3g})"
