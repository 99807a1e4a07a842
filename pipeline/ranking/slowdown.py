"""`predict_slowdown`: how much longer iterations become on links that jobs share, from the simulator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pipeline.simulation import SimulatedJob, simulate
from pipeline.simulation.workload import MAX_PERIOD_RATIO
from profiler.errors import UsageError

if TYPE_CHECKING:
    from pipeline.ranking.fits import Crossing
    from pipeline.ranking.senders import Sender

__all__ = ["Slowdown", "predict_slowdown"]

N_ITERATIONS: Final = 200
"""Of the slowest job. Means over as many differ by less than a per cent from one seed to the next."""

SEED: Final = 0
"""Of the jitter: a placement is judged the same whenever it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """Mean iteration of each job over its own period alone, or why that cannot be said."""

    by_job: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


def predict_slowdown(
    crossings: Sequence[Crossing],
    *,
    shifts_s: Mapping[str, float],
    senders: Mapping[str, Sender],
) -> Slowdown:
    """Simulate the periodic jobs of some links that hang together.

    Parameters
    ----------
    crossings
        The links.
    shifts_s
        When each job begins its first iteration; nobody holds it there afterwards.
    senders
        What each job sends. Those without a period take their mean rate off the links.
    """
    loads = _loads(crossings, senders)
    free_bps = {str(i): _free_bps(crossing, senders) for i, crossing in enumerate(crossings)}
    if min(free_bps.values()) <= 0:
        return Slowdown(reason="traffic without a period fills a link")
    try:
        jobs = [
            _simulated(senders[job], shift_s=shifts_s[job], links=loads[job])
            for job in sorted(shifts_s)
            if senders[job].peak_bps > 0
        ]
        reason = _apart(jobs)
        if reason or not jobs:
            return Slowdown(reason=reason)
        run = simulate(jobs, capacity_bps=free_bps, n_iterations=N_ITERATIONS, rng=SEED)
    except UsageError as error:
        return Slowdown(reason=str(error))
    return Slowdown(by_job={job.name: run[job.name].mean_s / job.natural_s for job in jobs})


def _apart(jobs: Sequence[SimulatedJob]) -> str:
    """Return why jobs cannot run in one simulation, if their periods are too far apart."""
    by_time = sorted(jobs, key=lambda job: job.natural_s)
    if jobs and by_time[-1].natural_s > MAX_PERIOD_RATIO * by_time[0].natural_s:
        return f"the periods of jobs {by_time[0].name} and {by_time[-1].name} are too far apart to simulate"
    return ""


def _loads(crossings: Sequence[Crossing], senders: Mapping[str, Sender]) -> dict[str, dict[str, float]]:
    loads: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for i, crossing in enumerate(crossings):
        for job, load_frac in crossing.load_frac:
            if senders[job].rhythm is not None:
                loads[job][str(i)] = load_frac
    return loads


def _simulated(sender: Sender, *, shift_s: float, links: Mapping[str, float]) -> SimulatedJob:
    job = SimulatedJob.from_profile(sender.profile, name=sender.job, links=links)
    return replace(job, start_s=shift_s + job.lead_s)


def _free_bps(crossing: Crossing, senders: Mapping[str, Sender]) -> float:
    others = (senders[job].taken(load_frac) for job, load_frac in crossing.load_frac if not senders[job].rhythm)
    return crossing.capacity_bps - sum(levels.mean_bps for levels in others)
