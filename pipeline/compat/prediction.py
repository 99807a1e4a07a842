"""`predict`: iteration times without a plan and with it, from the simulator; a score is not a speed-up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from pipeline.simulation import JobRun, SimulatedJob, Traffic, simulate
from pipeline.simulation.anywhere import run_anywhere
from pipeline.simulation.workload import MAX_PERIOD_RATIO

if TYPE_CHECKING:
    from pipeline.compat.result import JobShift
    from profiler.phases import Phase, TrafficProfile

__all__ = ["Prediction", "predict"]

N_RUNS: Final = 10
N_ITERATIONS: Final = 150
"""Runs begin at random phases: without jitter a run keeps the phases it began with."""

FULL_LENGTH_WORK: Final = 128
"""Jobs times steps of all jobs, up to which runs have their full length; with more they are shorter in proportion: an
iteration has an event a step, and an event costs a look at every job."""

MIN_ITERATIONS: Final = 5

ROUGH_ITERATIONS: Final = 30
"""Runs shorter than this make a rough prediction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One run a job without the plan and with it, in the same order."""

    now: tuple[JobRun, ...]
    planned: tuple[JobRun, ...]
    n_iterations: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the trust in it."""
        if self.n_iterations >= ROUGH_ITERATIONS:
            return ()
        return (
            f"{len(self.now)} jobs were simulated for {N_RUNS} runs of only {self.n_iterations} iterations: "
            "the predicted iteration times are rough",
        )

    @property
    def speedup_p90(self) -> float:
        """How many times shorter the 90th-percentile iteration becomes; geometric mean over jobs."""
        return _mean_ratio([(now.p90_s, then.p90_s) for now, then in zip(self.now, self.planned, strict=True)])

    @property
    def speedup_mean(self) -> float:
        """How many times shorter the mean iteration becomes; geometric mean over jobs."""
        return _mean_ratio([(now.mean_s, then.mean_s) for now, then in zip(self.now, self.planned, strict=True)])

    def means_s(self, job: str) -> tuple[float, float] | None:
        """Return the mean iteration time of one job without the plan and with it; None for one that never sends."""
        means = [[run.mean_s for run in runs if run.job == job] for runs in (self.now, self.planned)]
        return (means[0][0], means[1][0]) if all(means) else None

    def figures(self, plan: Literal["shifted", "paced"]) -> dict[str, float]:
        """Return what a verdict shows: times in seconds, means over the jobs; ``plan`` names those with the plan."""
        figures = {}
        for when, runs in (("now", self.now), (plan, self.planned)):
            figures[f"p50_{when}_s"] = float(np.mean([run.p50_s for run in runs]))
            figures[f"p90_{when}_s"] = float(np.mean([run.p90_s for run in runs]))
            figures[f"mean_{when}_s"] = float(np.mean([run.mean_s for run in runs]))
        figures["speedup_p90"] = self.speedup_p90
        figures["speedup_mean"] = self.speedup_mean
        figures["adjustments_per_min"] = max(run.adjustments_per_min for run in self.planned)
        return figures


def predict(
    profiles: Mapping[str, TrafficProfile],
    *,
    shifts: Sequence[JobShift],
    free_bps: float,
    rng: np.random.Generator,
) -> Prediction | None:
    """Simulate the jobs of a link from random phases, and with the given shifts and slots.

    Returns None where periods are so far apart that the slow job would end no iteration in reasonable time.

    Parameters
    ----------
    profiles
        The jobs' own profiles, all periodic; those that never send have no iteration time.
    shifts
        The plan, one a job.
    free_bps
        Capacity that other traffic leaves.
    rng
        Source of phases and jitter.
    """
    sending = {name: profile for name, profile in profiles.items() if any(map(_is_burst, profile.phases))}
    jobs = [SimulatedJob.from_profile(profile, name=name) for name, profile in sending.items()]
    plan = [shift for shift in shifts if shift.job in sending]
    naturals_s = [job.natural_s for job in jobs]
    if max(naturals_s) > MAX_PERIOD_RATIO * min(naturals_s):
        return None
    work = len(jobs) * sum(len(job.steps) for job in jobs)
    n_iterations = max(MIN_ITERATIONS, N_ITERATIONS * FULL_LENGTH_WORK // max(FULL_LENGTH_WORK, work))
    traffic = Traffic(jobs=tuple(jobs), free_bps={"link": free_bps})
    now = run_anywhere(traffic, sizes=[n_iterations] * N_RUNS, rng=rng)
    planned = simulate(jobs, capacity_bps=free_bps, plan=plan, n_iterations=N_RUNS * n_iterations, rng=rng).runs
    return Prediction(now=now.runs, planned=planned, n_iterations=n_iterations)


def _is_burst(phase: Phase) -> bool:
    return phase.kind == "up" and phase.rate_bps > 0


def _mean_ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return math.exp(sum(math.log(now / then) for now, then in pairs) / len(pairs))
