"""`Ranking`: placements in order of how well their jobs would fit, best first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from profiler.results import Tabular, json_ready

if TYPE_CHECKING:
    import altair as alt

    from pipeline.compat.result import JobShift

__all__ = ["Criterion", "RankedCandidate", "Ranking"]

Criterion = Literal["mean", "worst", "time"]
"""What candidates are ranked by: mean score of the shared links, their worst score, or simulated iteration time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCandidate:
    """One placement as judged; without scores, and with the reason, where it cannot be.

    Parameters
    ----------
    id
        The caller's name for it.
    score_mean, score_worst
        Of the links and directions that two or more jobs share, or that one alone overloads, each job having one shift
        for all of them; 1 where there is no such link.
    score_bound
        The mean if every link had its own best shifts, as far as they were found; above ``score_mean`` only where links
        in a loop want different ones.
    predicted_slowdown
        Simulated mean iteration over the period alone, mean over all periodic jobs, each begun at its shift and then
        left to itself, without a pacer; None where it cannot be simulated.
    slowdowns
        The same of each job that a contended link may slow.
    shifts
        Of the candidate's own periodic jobs and of those that they or others meet on contended links.
    n_links
        Links and directions scored.
    worst_link
        The one with the worst score; None where all score 1.
    reason
        Why it cannot be judged, or its slowdown not be simulated.
    """

    id: str
    score_mean: float | None = None
    score_worst: float | None = None
    score_bound: float | None = None
    predicted_slowdown: float | None = None
    slowdowns: Mapping[str, float] = field(default_factory=dict)
    shifts: tuple[JobShift, ...] = ()
    n_links: int = 0
    worst_link: str | None = None
    reason: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Whether the candidate has scores."""
        return self.score_mean is not None

    @property
    def shifts_s(self) -> dict[str, float]:
        """Shift of each job in seconds."""
        return {shift.job: shift.shift_s for shift in self.shifts}

    def to_row(self) -> dict[str, Any]:
        """Return its figures as one row."""
        names = (
            "id",
            "score_mean",
            "score_worst",
            "score_bound",
            "predicted_slowdown",
            "n_links",
            "worst_link",
            "reason",
        )
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return one entry of the ``ranking`` document."""
        document: dict[str, Any] = json_ready(
            {
                **self.to_row(),
                "shifts": [asdict(shift) for shift in self.shifts],
                "slowdowns": dict(self.slowdowns),
                "warnings": self.warnings,
            }
        )
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking(Tabular):
    """Candidates, best first; those that cannot be judged come last, in the caller's order."""

    candidates: tuple[RankedCandidate, ...]
    by: Criterion
    warnings: tuple[str, ...] = ()
    method: str = ""
    elapsed_s: float = 0.0

    @property
    def best(self) -> RankedCandidate | None:
        """The first candidate; None if none can be judged."""
        return self.candidates[0] if self.candidates[0].is_judged else None

    def to_dict(self) -> dict[str, Any]:
        """Return the ``ranking`` document of DESIGN section 6."""
        candidates = [candidate.to_dict() for candidate in self.candidates]
        document: dict[str, Any] = {"kind": "ranking", "version": 1, "by": self.by, "candidates": candidates}
        return {**document, "warnings": list(self.warnings), "method": self.method, "elapsed_s": self.elapsed_s}

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a candidate."""
        return [candidate.to_row() for candidate in self.candidates]

    def plot(self) -> alt.Chart:
        """Return the mean score of each candidate as an Altair bar chart, best first."""
        import altair as alt

        rows = json_ready([row for row in self.to_rows() if row["score_mean"] is not None])
        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=rows), title=f"candidates by {self.by}")
            .mark_bar()
            .encode(
                x=alt.X("score_mean:Q", title="mean link score"),
                y=alt.Y("id:N", title=None, sort=None),
                tooltip=["score_worst:Q", "predicted_slowdown:Q"],
            )
        )
        return chart

    def __repr__(self) -> str:
        best = self.best
        first = "none can be judged" if best is None else f"best {best.id!r}, mean score {best.score_mean:.3f}"
        return f"Ranking({len(self.candidates)} candidates by {self.by}: {first})"
