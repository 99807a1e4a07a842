"""`compare`: iteration times as jobs run unmanaged, and as a plan would have them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pipeline.simulation.anywhere import run_anywhere
from pipeline.simulation.plan import follow_plan
from pipeline.simulation.result import Simulation, joined
from pipeline.simulation.run import N_ITERATIONS, run_traffic, source_of, tell_short
from pipeline.simulation.traffic import traffic_of
from pipeline.simulation.workload import check_jobs, most_iterations
from profiler.results import Tabular, json_ready

if TYPE_CHECKING:
    import altair as alt
    import numpy as np

    from pipeline.simulation.job import SimulatedJob
    from pipeline.simulation.plan import PlannedShift
    from pipeline.simulation.traffic import Traffic
    from profiler.phases import TrafficProfile

__all__ = ["Comparison", "compare"]

N_RUNS: Final = 20
"""Runs begin at phases of their own: they change so slowly that one run, however long, knows few of them. With slots
one run is enough, and shows whether lateness adds up until they are let go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Tabular):
    """The same jobs unmanaged and with a plan; ``planned`` is None if there is no plan."""

    unmanaged: Simulation
    planned: Simulation | None = None

    @property
    def speedup_p90(self) -> float | None:
        """How many times shorter the 90th-percentile iteration becomes; geometric mean over jobs."""
        return self._speedup("p90_s")

    @property
    def speedup_mean(self) -> float | None:
        """How many times shorter the mean iteration becomes; geometric mean over jobs."""
        return self._speedup("mean_s")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the trust in the figures."""
        both = (*self.unmanaged.warnings, *(self.planned.warnings if self.planned else ()))
        return tuple(dict.fromkeys(both))

    def to_dict(self) -> dict[str, Any]:
        """Return the ``simulation`` document of the unmanaged jobs, with what the plan makes of it as ``planned``."""
        planned = None if self.planned is None else self.planned.to_dict()
        document: dict[str, Any] = json_ready(
            {
                **self.unmanaged.to_dict(),
                "planned": planned and {key: planned[key] for key in ("jobs", "congested_frac", "links")},
                "speedup_p90": self.speedup_p90,
                "speedup_mean": self.speedup_mean,
                "warnings": self.warnings,
            }
        )
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a job, first all of the unmanaged ones, then those with the plan."""
        return [
            {"plan": plan, **row}
            for plan, run in (("unmanaged", self.unmanaged), ("planned", self.planned))
            for row in (run.to_rows() if run else ())
        ]

    def plot(self) -> alt.Chart:
        """Return the distribution of each job's iteration time, unmanaged and planned, as an Altair chart."""
        import altair as alt

        both = [("unmanaged", self.unmanaged), ("planned", self.planned)]
        rows = [{"plan": plan, **row} for plan, run in both if run for row in run.distribution()]
        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=rows))
            .mark_line()
            .encode(
                x=alt.X("iteration_s:Q", title="iteration (s)", scale=alt.Scale(zero=False)),
                y=alt.Y("share:Q", title="share of iterations"),
                color="job:N",
                strokeDash="plan:N",
            )
        )
        return chart

    def _speedup(self, figure: str) -> float | None:
        if self.planned is None:
            return None
        ratios = [
            getattr(now, figure) / getattr(then, figure)
            for now, then in zip(self.unmanaged.runs, self.planned.runs, strict=True)
        ]
        return math.exp(sum(map(math.log, ratios)) / len(ratios))

    def __repr__(self) -> str:
        gain = "no plan" if self.speedup_p90 is None else f"p90 {self.speedup_p90:.3g}x shorter with the plan"
        return f"Comparison({gain}: unmanaged {self.unmanaged!r}, planned {self.planned!r})"


def compare(
    jobs: Traffic | Sequence[SimulatedJob] | Mapping[str, TrafficProfile],
    *,
    plan: Iterable[PlannedShift] | None,
    capacity_bps: float | Mapping[str, float] | None = None,
    n_iterations: int = N_ITERATIONS,
    older_weight: float = 1.0,
    rng: np.random.Generator | int | None = None,
) -> Comparison:
    """Simulate jobs as they run by themselves, from random phases, and as a plan would have them.

    Parameters
    ----------
    jobs
        The jobs, or the profile of each; or the traffic of links (`traffic_on`), which knows its capacities.
    plan
        Shifts and slots to follow, such as the ``shifts`` of a compatibility or of a plan; None for none.
    capacity_bps
        Capacity of each link in bit/s, or of the one link that all jobs cross.
    n_iterations
        Iterations to return of the slowest job, in one run if jobs are held to slots, else in several together.
    older_weight
        Weight of the older of two flows against the younger one.
    rng
        Source of phases and jitter, or its seed; by default always the same.

    Raises
    ------
    UsageError
        As `simulate`.

    Examples
    --------
    >>> from pipeline.simulation.job import SimulatedJob, Step
    >>> from pipeline.simulation.plan import Shift
    >>> vgg = Step(down_s=0.141, volume_bits=0.114 * 400e6, max_bps=400e6)
    >>> jobs = [SimulatedJob(name=name, steps=(vgg,), jitter_frac=0.02) for name in "AB"]
    >>> plan = [Shift(job="A", shift_s=0.0, pace_period_s=0.266), Shift(job="B", shift_s=0.133, pace_period_s=0.266)]
    >>> found = compare(jobs, plan=plan, capacity_bps=400e6)
    >>> round(found.speedup_p90, 1), found.planned["A"].adjustments_per_min
    (1.3, 0.0)
    """
    traffic = traffic_of(jobs, capacity_bps=capacity_bps)
    check_jobs(traffic.jobs, capacities=traffic.free_bps)
    source = source_of(rng)
    n_kept = min(n_iterations, most_iterations(traffic.jobs))
    sizes = _shares(n_kept)
    by_chance = run_anywhere(traffic, sizes=sizes, older_weight=older_weight, rng=source)
    unmanaged = tell_short(by_chance, n_wanted=n_iterations)
    if plan is None:
        return Comparison(unmanaged=unmanaged)
    held = replace(traffic, jobs=tuple(follow_plan(traffic.jobs, plan)))
    sizes = [n_kept] if any(job.pace for job in held.jobs) else sizes
    runs = [run_traffic(held, n_iterations=n, older_weight=older_weight, rng=source) for n in sizes]
    return Comparison(unmanaged=unmanaged, planned=tell_short(joined(runs), n_wanted=n_iterations))


def _shares(n_iterations: int) -> list[int]:
    """Divide iterations among runs, each of which has at least one."""
    n_runs = max(1, min(N_RUNS, n_iterations))
    n_each, n_over = divmod(n_iterations, n_runs)
    return [n_each + (i < n_over) for i in range(n_runs)]
