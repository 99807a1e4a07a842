"""`ShiftPlan`: one shift a job for the whole affinity graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from profiler.results import Tabular, json_ready

if TYPE_CHECKING:
    import altair as alt

    from pipeline.compat.result import JobShift
    from pipeline.shifts.options import Objective
    from pipeline.simulation import JobRun

__all__ = ["ShiftPlan"]

ROW_COLUMNS: Final = ("job", "shift_s", "lead_s", "pace_period_s", "stretch_frac")
"""Of a shift that suits several links; plateaus are those of one link alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftPlan(Tabular):
    """One shift a job, the same on every link that the job crosses.

    Parameters
    ----------
    shifts
        In order of the jobs' names.
    gap
        No shifts score more than ``score + gap``: the bound is the best that each link could have by itself, pinned
        jobs where they are. 0 where every link has its best.
    score, score_random
        The objective over the links that bind jobs, with the plan and if all meet by chance; None where that is not
        known, and 1 where no such link is left.
    objective
        ``mean`` of the links' scores, each weighted by the sizes of the jobs it binds, or the ``worst`` of them.
    warnings, method
        What limits the trust in it, and how it was found.
    left_out
        (link, direction) where shifts would make some job slower, or score less than none; none are for them.
    why_left_out
        Of each of them, what was found, as a clause.
    unmanaged, planned
        Simulated iterations of each job of a component that was rehearsed.
    elapsed_s
        Time that the plan took.
    """

    shifts: tuple[JobShift, ...]
    gap: float
    score: float | None = None
    score_random: float | None = None
    objective: Objective = "mean"
    warnings: tuple[str, ...] = ()
    method: str = ""
    left_out: tuple[tuple[str, str], ...] = ()
    unmanaged: Mapping[str, JobRun] = field(default_factory=dict)
    planned: Mapping[str, JobRun] = field(default_factory=dict)
    why_left_out: Mapping[tuple[str, str], str] = field(default_factory=dict)
    elapsed_s: float | None = field(default=None, compare=False)

    @property
    def bound(self) -> float | None:
        """Score that no shifts exceed, whatever they are."""
        return None if self.score is None else self.score + self.gap

    @property
    def shifts_s(self) -> dict[str, float]:
        """Shift of each job in seconds."""
        return {shift.job: shift.shift_s for shift in self.shifts}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON: the file that the pacer reads. Shifts count from the Unix epoch.

        ``elapsed_s`` is left out, so that equal plans are equal documents.
        """
        document: dict[str, Any] = json_ready(
            {
                "kind": "shift_plan",
                "version": 1,
                "anchor_ns": 0,
                "shifts": self.to_rows(),
                "objective": self.objective,
                "score": self.score,
                "score_random": self.score_random,
                "bound": self.bound,
                "gap": self.gap,
                "warnings": self.warnings,
                "method": self.method,
            }
        )
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a job."""
        return [{name: getattr(shift, name) for name in ROW_COLUMNS} for shift in self.shifts]

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
