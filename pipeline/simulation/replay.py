"""A measured run once more: jobs begin to send when they did, and the model says how long that takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pipeline.simulation.engine import Iterations, run_jobs
from pipeline.simulation.workload import max_events, world_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.simulation.job import SimulatedJob

__all__ = ["replay_sending"]


def replay_sending(
    jobs: Sequence[SimulatedJob],
    *,
    log: Mapping[str, NDArray[np.float64]],
    free_bps: Mapping[str, float],
    older_weight: float,
) -> dict[str, NDArray[np.float64]]:
    """Return how long each iteration of each job sends, in seconds, shape (n_iterations,).

    An iteration begins to send when it did; later only if the model has not ended the one before.
    """
    n_logged = np.array([len(log[job.name]) for job in jobs])
    # Behind a job's last iteration stands one that never begins, so that it is silent while the others end theirs.
    first = np.concatenate(([0], np.cumsum(n_logged + 1)))
    due_s = np.full(first[-1], np.inf)
    for job, at, n in zip(jobs, first, n_logged, strict=False):
        due_s[at : at + n] = log[job.name][:, 1]
    world = world_of(jobs, capacities=free_bps, older_weight=older_weight, first=first)
    world.network.jobs["n_wanted"] = n_logged
    kept = Iterations(np.zeros(0), due_s, np.zeros(first[-1]), np.zeros(first[-1]))
    run_jobs(world.network, world.steps, due_s[first[:-1]], kept, world.run, max_events(jobs, first=first))
    sent_s = kept.end_s - kept.up_s
    return {job.name: sent_s[at : at + n] for job, at, n in zip(jobs, first, n_logged, strict=False)}
