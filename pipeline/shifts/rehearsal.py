"""`Rehearsal`: the jobs of a component on all their links at once, as they run unmanaged and as a plan would have them.

A link's own prediction knows its own jobs and its own slot only; a plan holds all jobs of a component to one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.loss import Loss
from pipeline.simulation.anywhere import run_anywhere
from pipeline.simulation.plan import Shift
from pipeline.simulation.traffic import traffic_on
from pipeline.simulation.workload import MAX_PERIOD_RATIO

if TYPE_CHECKING:
    from pipeline.affinity import Component
    from pipeline.compat.result import JobShift
    from pipeline.simulation.plan import PlannedShift
    from pipeline.simulation.result import JobRun
    from pipeline.simulation.traffic import Traffic

__all__ = ["Rehearsal", "rehearse"]

N_RUNS: Final = 8
N_ITERATIONS: Final = 120
"""Of a run; unmanaged jobs begin each at random phases."""

MIN_ITERATIONS: Final = 12
FULL_LENGTH_COST: Final = 1024
"""An iteration has an event a step, an event costs jobs times links: beyond this, runs are shorter in proportion."""

MAX_COST: Final = 4096
"""What is larger is not rehearsed: it would take too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Jobs and the capacity that other traffic leaves them, and each job's iterations when nobody is held."""

    traffic: Traffic
    unmanaged: Mapping[str, JobRun]
    seed: int

    def follow(self, shifts: Mapping[str, JobShift]) -> dict[str, JobRun]:
        """Return each job's iterations when it begins at its shift and holds its slots, if it has any.

        Jobs without a shift begin anywhere.
        """
        return _run(self.traffic, shifts=tuple(shifts.values()), seed=self.seed)

    def losers(self, shifts: Mapping[str, JobShift], runs: Mapping[str, JobRun]) -> list[str]:
        """Return the jobs that a plan makes slower in the mean or at the 90th percentile, or stretches for nothing.

        The worst come first.
        """
        stretches = {job: shift.stretch_frac or 0.0 for job, shift in shifts.items()}
        slower = {
            job: run.mean_s / self.unmanaged[job].mean_s
            for job, run in runs.items()
            if Loss(now=self.unmanaged[job], planned=run, stretch_frac=stretches.get(job, 0.0)).is_one
        }
        return sorted(slower, key=lambda job: (-slower[job], job))


def rehearse(component: Component, *, seed: int, pinned_s: Mapping[str, float]) -> Rehearsal | None:
    """Simulate a component unmanaged; None if it is too large, or its periods too far apart, for that.

    Jobs that are pinned against each other begin where they are pinned, all others anywhere.
    A job's traffic is that on the link on which it asks for most: the simulator gives it one rate, of which the other
    links carry a fraction.
    """
    traffic = traffic_on(component.links)
    naturals_s = [job.natural_s for job in traffic.jobs]
    n_jobs, n_links = len(traffic.jobs), len(component.links)
    if n_jobs * n_links > MAX_COST or max(naturals_s) > MAX_PERIOD_RATIO * min(naturals_s):
        return None
    pinned = [Shift(job=job, shift_s=pinned_s[job]) for job in component.jobs if job in pinned_s]
    unmanaged = _run(traffic, shifts=pinned if len(pinned) > 1 else (), seed=seed)
    return Rehearsal(traffic=traffic, unmanaged=unmanaged, seed=seed)


def _run(traffic: Traffic, *, shifts: Sequence[PlannedShift], seed: int) -> dict[str, JobRun]:
    """Return the iterations of several runs; the same seed gives the same phases and jitter."""
    jobs = traffic.jobs
    cost = max(FULL_LENGTH_COST, len(jobs) * sum(len(job.steps) for job in jobs) * len(traffic.free_bps))
    n_iterations = max(MIN_ITERATIONS, N_ITERATIONS * FULL_LENGTH_COST // cost)
    found = run_anywhere(traffic, sizes=[n_iterations] * N_RUNS, rng=np.random.default_rng(seed), plan=shifts)
    return {run.job: run for run in found.runs}
