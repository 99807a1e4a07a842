"""`simulate`: iteration times of jobs that share links, with or without a pacer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pipeline.simulation.engine import Outcome, Workload, run_jobs
from pipeline.simulation.sharing import Network
from profiler.errors import UsageError
from profiler.results import Tabular, json_ready

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray

    from pipeline.simulation.job import SimulatedJob

__all__ = ["JobRun", "Simulation", "simulate"]

N_ITERATIONS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobRun:
    """One job's simulated iterations: ``iteration_s`` float64, shape (n_iterations,), and slots given up."""

    job: str
    iteration_s: NDArray[np.float64]
    n_adjustments: int = 0

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
        """Slots given up, a minute."""
        return self.n_adjustments / (float(self.iteration_s.sum()) / 60)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulation(Tabular):
    """Iteration times of each job, and the share of the time in which some job got less than it wanted."""

    runs: tuple[JobRun, ...]
    congested_frac: float
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


def simulate(
    jobs: Sequence[SimulatedJob],
    *,
    capacity_bps: float | Mapping[str, float],
    n_iterations: int = N_ITERATIONS,
    rng: np.random.Generator | None = None,
) -> Simulation:
    """Run jobs on shared links and return their iteration times.

    Parameters
    ----------
    jobs
        The jobs, with their starts, jitter and pacers.
    capacity_bps
        Capacity of each link in bit/s, or of the one link that all jobs cross.
    n_iterations
        Iterations of each job to return; the first one, which starts in the middle, is left out.
    rng
        Source of the jitter; by default always the same.

    Returns
    -------
    Simulation
        Samples of each job's iteration time.

    Raises
    ------
    UsageError
        If there is no job, two have one name, a capacity is not positive, a job crosses an unknown link, or one is so
        slow that it ends no iteration while the others run all of theirs 64 times over.

    Notes
    -----
    Fluid model: rates are weighted max-min fair at every instant, so overlap stretches phases but neither grows nor
    shrinks by itself. Jitter is a delay before an iteration's first Up phase, exponential (delays have a long tail to
    one side) with mean 0 and standard deviation ``jitter_frac`` of the natural iteration time.

    Examples
    --------
    >>> from pipeline.simulation.job import SimulatedJob, Step
    >>> vgg = Step(down_s=0.141, volume_bits=0.114 * 400e6, max_bps=400e6)
    >>> jobs = [SimulatedJob(name="A", steps=(vgg,)), SimulatedJob(name="B", steps=(vgg,), start_s=0.1275)]
    >>> simulate(jobs, capacity_bps=400e6)
    Simulation(A p50 0.255 s, p90 0.255 s, B p50 0.255 s, p90 0.255 s)
    """
    capacities = dict(capacity_bps) if isinstance(capacity_bps, Mapping) else {"link": capacity_bps}
    _check(jobs, capacities=capacities, n_iterations=n_iterations)
    workload = _workload(jobs, n_iterations=n_iterations, rng=rng or np.random.default_rng(0))
    outcome = run_jobs(workload, _network(jobs, capacities))
    _check_ended(jobs, outcome)
    runs = [
        JobRun(
            job=job.name,
            iteration_s=np.diff(outcome.end_s[i, : outcome.n_done[i]]),
            n_adjustments=int(outcome.n_adjustments[i]),
        )
        for i, job in enumerate(jobs)
    ]
    return Simulation(runs=tuple(runs), congested_frac=float(outcome.clock_s[1] / outcome.clock_s[0]))


def _check(jobs: Sequence[SimulatedJob], *, capacities: Mapping[str, float], n_iterations: int) -> None:
    names = [job.name for job in jobs]
    if not jobs or len(set(names)) != len(names):
        raise UsageError(f"simulate: jobs {names}; give at least one, each with a name of its own")
    if n_iterations < 1:
        raise UsageError(f"simulate: n_iterations {n_iterations}; must be at least 1")
    for link, bps in capacities.items():
        if not 0 < bps < float("inf"):
            raise UsageError(f"simulate: capacity of {link} is {bps!r} bit/s; must be positive and finite")
    for job in jobs:
        unknown = set(job.links) - set(capacities)
        if unknown:
            raise UsageError(f"simulate: job {job.name} crosses {sorted(unknown)}, whose capacity is not given")


def _check_ended(jobs: Sequence[SimulatedJob], outcome: Outcome) -> None:
    for job, n_done in zip(jobs, outcome.n_done, strict=True):
        if n_done < 2:
            raise UsageError(
                f"simulate: job {job.name} ({job.natural_s:.3g} s an iteration) ended none while others ran theirs; "
                "simulate jobs of such different periods apart, or more iterations"
            )


def _workload(jobs: Sequence[SimulatedJob], *, n_iterations: int, rng: np.random.Generator) -> Workload:
    n_steps = np.array([len(job.steps) for job in jobs])
    shape = (len(jobs), int(n_steps.max()))
    down_s, volume_bits, max_bps = np.zeros(shape), np.ones(shape), np.ones(shape)
    slot_s = np.zeros((len(jobs), 3))
    for i, job in enumerate(jobs):
        down_s[i, : n_steps[i]] = [step.down_s for step in job.steps]
        volume_bits[i, : n_steps[i]] = [step.volume_bits for step in job.steps]
        max_bps[i, : n_steps[i]] = [step.max_bps for step in job.steps]
        if job.pace is not None:
            slot_s[i] = (job.pace.period_s, job.pace.shift_s, job.pace.tolerance_frac * job.pace.period_s)
    spread_s = np.array([job.jitter_frac * job.natural_s for job in jobs])
    return Workload(
        down_s=down_s,
        volume_bits=volume_bits,
        max_bps=max_bps,
        n_steps=n_steps,
        start_s=np.array([job.start_s for job in jobs], dtype=np.float64),
        delay_s=spread_s[:, None] * (rng.exponential(size=(len(jobs), n_iterations)) - 1.0),
        slot_s=slot_s,
    )


def _network(jobs: Sequence[SimulatedJob], capacities: Mapping[str, float]) -> Network:
    crosses = [[not job.links or link in job.links for link in capacities] for job in jobs]
    return Network(
        capacity_bps=np.array(list(capacities.values()), dtype=np.float64),
        crosses=np.array(crosses, dtype=np.bool_),
        weight=np.array([job.weight for job in jobs], dtype=np.float64),
    )
