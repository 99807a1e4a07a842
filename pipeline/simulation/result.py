"""What comes of a simulation: `JobRun` of each job, and `Simulation` of all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from profiler.errors import UsageError
from profiler.results import Tabular, json_ready

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray

__all__ = ["JobRun", "Simulation", "joined"]

SHARES: Final = np.linspace(0, 1, 11)
"""Of the iterations whose longest times the document lists: all deciles."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobRun:
    """One job's simulated iterations.

    ``iteration_s`` float64, shape (n_iterations,), is what each took. ``n_adjustments`` counts missed slots and
    ``n_let_go`` how often pacing was let go, both in all of ``span_s``: what a fast job did while others ended theirs
    is counted, though not all its iterations are kept. ``span_s`` is by default the sum of ``iteration_s``.
    ``hindered_frac`` is the part of the time in which the job got less than it wanted. ``bursts_s``, shape
    (n_iterations + 1, 2) or empty, is when each iteration first sent and when it ended, that before the first included.
    """

    job: str
    iteration_s: NDArray[np.float64]
    n_adjustments: int = 0
    n_let_go: int = 0
    span_s: float = math.nan
    hindered_frac: float = 0.0
    bursts_s: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))

    def __post_init__(self) -> None:
        if math.isnan(self.span_s):
            object.__setattr__(self, "span_s", float(self.iteration_s.sum()))

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
        return self.n_adjustments / (self.span_s / 60)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulation(Tabular):
    """Iteration times of each job, and the share of the time in which some job got less than it wanted.

    ``full_frac`` says of each link what share of the time it was full and hindered someone; ``span_s`` is the time that
    was simulated, ``older_weight`` what it was simulated with, and ``warnings`` say what limits the trust in the
    figures.
    """

    runs: tuple[JobRun, ...]
    congested_frac: float
    full_frac: Mapping[str, float] = field(default_factory=dict)
    span_s: float = math.nan
    older_weight: float = 1.0
    warnings: tuple[str, ...] = ()
    method: str = "fluid, weighted max-min"

    def __getitem__(self, job: str) -> JobRun:
        """Return the run of one job."""
        found = next((run for run in self.runs if run.job == job), None)
        if found is None:
            raise UsageError(f"simulation: no job {job!r}; there are {', '.join(run.job for run in self.runs)}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the ``simulation`` document."""
        document: dict[str, Any] = json_ready(
            {
                "kind": "simulation",
                "version": 1,
                "jobs": [
                    {**row, "deciles_s": np.quantile(run.iteration_s, SHARES)}
                    for row, run in zip(self.to_rows(), self.runs, strict=True)
                ],
                "congested_frac": self.congested_frac,
                "links": [{"link": link, "congested_frac": frac} for link, frac in self.full_frac.items()],
                "span_s": self.span_s,
                "older_weight": self.older_weight,
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
                "n_let_go": run.n_let_go,
            }
            for run in self.runs
        ]

    def distribution(self) -> list[dict[str, Any]]:
        """Return how long the quickest hundredth, two hundredths … of each job's iterations take at most."""
        shares = np.linspace(0, 1, 101)
        return [
            {"job": run.job, "share": float(share), "iteration_s": float(value)}
            for run in self.runs
            for share, value in zip(shares, np.quantile(run.iteration_s, shares), strict=True)
        ]

    def plot(self) -> alt.Chart:
        """Return the distribution of each job's iteration time as an Altair chart."""
        import altair as alt

        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=self.distribution()))
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


def joined(runs: Sequence[Simulation]) -> Simulation:
    """Return several simulations of the same jobs as one."""
    weights = [run.span_s for run in runs]
    return Simulation(
        runs=tuple(_joined_jobs(parts, weights=weights) for parts in zip(*(run.runs for run in runs), strict=True)),
        congested_frac=float(np.average([run.congested_frac for run in runs], weights=weights)),
        full_frac={
            link: float(np.average([run.full_frac[link] for run in runs], weights=weights))
            for link in runs[0].full_frac
        },
        span_s=sum(weights),
        older_weight=runs[0].older_weight,
        warnings=tuple(dict.fromkeys(warning for run in runs for warning in run.warnings)),
        method=runs[0].method,
    )


def _joined_jobs(parts: Sequence[JobRun], *, weights: Sequence[float]) -> JobRun:
    return JobRun(
        job=parts[0].job,
        iteration_s=np.concatenate([part.iteration_s for part in parts]),
        n_adjustments=sum(part.n_adjustments for part in parts),
        n_let_go=sum(part.n_let_go for part in parts),
        span_s=sum(part.span_s for part in parts),
        hindered_frac=float(np.average([part.hindered_frac for part in parts], weights=weights)),
    )
