"""`run_anywhere`: jobs that nothing holds begin at random phases, so only several runs tell what they take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.simulation.plan import follow_plan
from pipeline.simulation.result import Simulation, joined
from pipeline.simulation.run import run_traffic

if TYPE_CHECKING:
    import numpy as np

    from pipeline.simulation.plan import PlannedShift
    from pipeline.simulation.traffic import Traffic

__all__ = ["run_anywhere"]


def run_anywhere(
    traffic: Traffic,
    *,
    sizes: Iterable[int],
    rng: np.random.Generator,
    plan: Sequence[PlannedShift] = (),
    older_weight: float = 1.0,
) -> Simulation:
    """Run jobs several times, each time from other phases, and return all runs as one.

    Parameters
    ----------
    traffic
        The jobs, whose starts and pacers do not count, and their links.
    sizes
        Iterations of the slowest job, a run.
    rng
        Source of phases and jitter.
    plan
        Shifts of jobs that begin, and are held, as a plan has it.
    older_weight
        Weight of the older of two flows against the younger one.

    Raises
    ------
    UsageError
        As `simulate`.
    """
    runs = []
    for n_iterations in sizes:
        begun = [replace(job, start_s=float(rng.uniform(0, job.natural_s)), pace=None) for job in traffic.jobs]
        jobs = tuple(follow_plan(begun, plan) if plan else begun)
        runs.append(
            run_traffic(replace(traffic, jobs=jobs), n_iterations=n_iterations, older_weight=older_weight, rng=rng)
        )
    return joined(runs)
