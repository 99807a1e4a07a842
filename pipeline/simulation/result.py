"""What comes of a simulation: `JobRun` of each job, and `Simulation` of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from profiler.results import Tabular, json_ready

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray

__all__ = ["JobRun", "Simulation"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobRun:
    """One job's simulated iterations.

    ``iteration_s`` float64, shape (n_iterations,), is what each took. ``n_adjustments`` counts missed slots and
    ``n_let_go`` how often pacing was let go; ``hindered_frac`` is the part of the time in which the job got less than
    it wanted. ``bursts_s``, shape (n_iterations + 1, 2) or empty, is when each iteration first sent and when it ended,
    that before the first included.
    """

    job: str
    iteration_s: NDArray[np.float64]
    n_adjustments: int = 0
    n_let_go: int = 0
    hindered_frac: float = 0.0
    bursts_s: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def p50_s(self) -> float:
        """Median iteration time."""
        return float(np.percentile(self.iteration_s, 50))

    @property
    def p90_s(self) -> float:
        """90th percentile of the iteration time."""
        return float(np.percentile(self.iteration_s, 90))

    @property
    def mean_s(self) -> float:
        """Mean iteration time."""
        return float(self.iteration_s.mean())

    @property
    def adjustments_per_min(self) -> float:
        """Missed slots, a minute."""
        return self.n_adjustments / (float(self.iteration_s.sum()) / 60)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulation(Tabular):
    """Iteration times of each job, and the share of the time in which some job got less than it wanted.

    ``full_frac`` says of each link what share of the time it was full and hindered someone; ``warnings`` what limits
    the trust in the figures.
    """

    runs: tuple[JobRun, ...]
    congested_frac: float
    full_frac: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    method: str = "fluid, weighted max-min"

    def __getitem__(self, job: str) -> JobRun:
        """Return the run of one job."""
        return next(run for run in self.runs if run.job == job)

    def to_dict(self) -> dict[str, Any]:
        """Return the ``simulation`` document."""
        document: dict[str, Any] = json_ready(
            {
                "kind": "simulation",
                "version": 1,
                "jobs": self.to_rows(),
                "congested_frac": self.congested_frac,
                "links": [{"link": link, "congested_frac": frac} for link, frac in self.full_frac.items()],
                "warnings": self.warnings,
                "method": self.method,
            }
        )
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a job."""
        return [
            {
                "job": run.job,
                "n_iterations": run.iteration_s.size,
                "p50_s": run.p50_s,
                "p90_s": run.p90_s,
                "mean_s": run.mean_s,
                "congested_frac": run.hindered_frac,
                "adjustments_per_min": run.adjustments_per_min,
            }
            for run in self.runs
        ]

    def plot(self) -> alt.Chart:
        """Return the distribution of each job's iteration time as an Altair chart."""
        import altair as alt

        share = np.linspace(0, 1, 101)
        rows = [
            {"job": run.job, "share": float(q), "iteration_s": float(value)}
            for run in self.runs
            for q, value in zip(share, np.quantile(run.iteration_s, share), strict=True)
        ]
        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=rows))
            .mark_line()
            .encode(
                x=alt.X("iteration_s:Q", title="iteration (s)", scale=alt.Scale(zero=False)),
                y=alt.Y("share:Q", title="share of iterations"),
                color="job:N",
            )
        )
        return chart

    def __repr__(self) -> str:
        jobs = ", ".join(f"{run.job} p50 {run.p50_s:.4g} s, p90 {run.p90_s:.4g} s" for run in self.runs)
        return f"Simulation({jobs})"
