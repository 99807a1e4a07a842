"""`Rehearsals`: how much longer iterations become on links that jobs share, from the simulator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pipeline.compat.pacing import jitter_of
from pipeline.simulation import SimulatedJob, simulate

if TYPE_CHECKING:
    from pipeline.ranking.crossings import Crossing
    from pipeline.ranking.senders import Sender

__all__ = ["Slowdown", "predict_slowdown"]

N_ITERATIONS: Final = 200
"""Of the slowest job. Means over as many differ by less than a per cent from one seed to the next."""

MAX_PERIOD_RATIO: Final = 32.0
"""The slowest job would end too few iterations while the fastest runs thousands."""

MAX_JITTER_FRAC: Final = 0.5


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
    seed: int,
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
    seed
        Of the jitter.
    """
    loads = _loads(crossings, senders)
    jobs = [
        _simulated(senders[job], shift_s=shifts_s[job], links=loads[job])
        for job in sorted(shifts_s)
        if senders[job].peak_bps > 0
    ]
    if not jobs:
        return Slowdown()
    free_bps = {str(i): _free_bps(crossing, senders) for i, crossing in enumerate(crossings)}
    full = next((crossings[int(name)] for name, bps in free_bps.items() if bps <= 0), None)
    if full is not None:
        return Slowdown(reason=f"traffic without a period fills link {full.places[0][0]}")
    naturals_s = {job.name: job.natural_s for job in jobs}
    slowest, fastest = max(naturals_s, key=naturals_s.__getitem__), min(naturals_s, key=naturals_s.__getitem__)
    if naturals_s[slowest] > MAX_PERIOD_RATIO * naturals_s[fastest]:
        return Slowdown(reason=f"the periods of jobs {fastest} and {slowest} are too far apart to simulate")
    run = simulate(jobs, capacity_bps=free_bps, n_iterations=N_ITERATIONS, rng=seed)
    return Slowdown(by_job={job.name: run[job.name].mean_s / job.natural_s for job in jobs})


def _loads(crossings: Sequence[Crossing], senders: Mapping[str, Sender]) -> dict[str, dict[str, float]]:
    loads: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for i, crossing in enumerate(crossings):
        for job, load_frac in crossing.load_frac:
            if senders[job].rhythm is not None:
                loads[job][str(i)] = load_frac
    return loads


def _simulated(sender: Sender, *, shift_s: float, links: Mapping[str, float]) -> SimulatedJob:
    job = SimulatedJob.from_profile(sender.profile, name=sender.job, links=links)
    jitter_frac = min(jitter_of(sender.profile), MAX_JITTER_FRAC)
    return replace(job, start_s=shift_s + job.lead_s, jitter_frac=jitter_frac)


def _free_bps(crossing: Crossing, senders: Mapping[str, Sender]) -> float:
    others = (senders[job].taken(load_frac) for job, load_frac in crossing.load_frac if not senders[job].rhythm)
    return crossing.capacity_bps - sum(levels.mean_bps for levels in others)
