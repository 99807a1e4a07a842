"""Networks of jobs on links, solved as far as a plan needs it: random ones by their seed, small ones of whole ticks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from hypothesis import strategies as st

from pipeline.compat import Compatibility, JobShift
from pipeline.compat.classes import place_classes
from pipeline.compat.levels import Excess, independent_levels, levels_of
from pipeline.compat.members import members_of
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import SolvedJobs, profile_from, ticked_jobs

if TYPE_CHECKING:
    from tests.reference import TickedJob

__all__ = ["SmallNetwork", "network", "placed_link", "small_networks"]

PERIOD_S: Final = 0.24
MAX_JOBS_A_LINK: Final = 5
N_TICKS: Final = 12
"""A common multiple of all periods of small networks."""


def placed_link(name: str, demands: dict[str, TrafficProfile], *, capacity_bps: float) -> SolvedJobs:
    """A link between jobs of exact periods, with its best shifts and score by chance, and nothing else."""
    members = members_of(demands)
    excess = Excess(capacity_bps=capacity_bps, others=members.background)
    jobs = list(members.demands)
    placed = place_classes(
        list(members.demands.values()), pools=[range(len(jobs))], excess=excess, rng=np.random.default_rng(0)
    )
    chance = independent_levels(levels_of(demand) for demand in members.demands.values())
    random_bps = float(chance.weight @ excess(chance.rate_bps))
    best_bps = placed.placement.excess_bps
    found = Compatibility(
        capacity_bps=capacity_bps,
        verdict="compatible" if best_bps < random_bps - 1e-9 * capacity_bps else "futile",
        jobs=tuple(sorted(demands)),
        shifts=tuple(
            JobShift(job=job, shift_s=ns / 1e9) for job, ns in zip(jobs, placed.placement.shifts_ns, strict=True)
        ),
        score_best=1 - best_bps / capacity_bps,
        score_random=1 - random_bps / capacity_bps,
        gap=(best_bps - placed.bound_bps) / capacity_bps,
    )
    return SolvedJobs(link=name, direction="forward", capacity_bps=capacity_bps, demands=demands, compatibility=found)


def network(rng: np.random.Generator, *, n_jobs: int, n_links: int, n_loops: int = 0) -> list[SolvedJobs]:
    """Jobs on links: a tree, and so many more crossings, each of which closes a loop."""
    profiles = [_job(rng) for _ in range(n_jobs)]
    links = []
    for i, jobs in enumerate(_crossings(rng, n_jobs=n_jobs, n_links=n_links, n_loops=n_loops)):
        demands = {f"j{job:04}": profiles[job] for job in sorted(jobs)}
        mean_bps = sum(profile.mean_bps or 0.0 for profile in demands.values())
        links.append(placed_link(f"l{i:03}", demands, capacity_bps=float(mean_bps / rng.uniform(0.6, 0.95))))
    return links


def _crossings(rng: np.random.Generator, *, n_jobs: int, n_links: int, n_loops: int) -> list[set[int]]:
    """Jobs of each link: a link begins with a job that is reached already, and every other job joins one link."""
    on: list[set[int]] = [{0}]
    for job in range(1, n_jobs):
        roomy = [i for i, jobs in enumerate(on) if len(jobs) < MAX_JOBS_A_LINK]
        lonely = [i for i in roomy if len(on[i]) < 2]
        on[int(rng.choice(lonely or roomy))].add(job)
        if len(on) < n_links * (job + 1) // (n_jobs - 1):
            on.append({int(rng.integers(job + 1))})
    while n_loops:
        jobs = on[int(rng.integers(n_links))]
        job = int(rng.integers(n_jobs))
        if job not in jobs and len(jobs) <= MAX_JOBS_A_LINK:
            jobs.add(job)
            n_loops -= 1
    return on


def _job(rng: np.random.Generator) -> TrafficProfile:
    """A job of one or two bursts in a period that is the longest, half of it or a third."""
    period_s = PERIOD_S / int(rng.choice([1, 1, 1, 2, 3]))
    starts = np.sort(rng.uniform(0, period_s, size=2 * int(rng.integers(1, 3)))).round(6)
    return TrafficProfile.from_phases(
        period_s=period_s,
        phases=[(float(a), float(b - a), 1e9) for a, b in zip(starts[::2], starts[1::2], strict=True)],
    )


def _times(profile: TrafficProfile, factor: float) -> TrafficProfile:
    """A profile with all its rates times a factor."""
    phases = tuple(replace(phase, rate_bps=phase.rate_bps * factor) for phase in profile.phases)
    return replace(profile, phases=phases, mean_bps=(profile.mean_bps or 0.0) * factor)


@dataclass(frozen=True, kw_only=True)
class SmallNetwork:
    """A few jobs of whole ticks of a millisecond, the links that some of them meet on, and what else is on each."""

    jobs: tuple[TickedJob, ...]
    crossings: tuple[tuple[int, ...], ...]
    capacities: tuple[int, ...]
    others: tuple[tuple[float, ...], ...]
    """Rates that traffic without a period takes, each for as long as the others."""

    def links(self, *, scale: float = 1.0) -> list[SolvedJobs]:
        """The links, with all rates and capacities times a factor."""
        links = []
        for i, (jobs, capacity, levels) in enumerate(zip(self.crossings, self.capacities, self.others, strict=True)):
            demands = {self.name(job): _times(profile_from(self.jobs[job]), scale) for job in jobs}
            if any(levels):
                demands["storage"] = unsteady(tuple(level * scale for level in levels))
            links.append(placed_link(f"l{i}", demands, capacity_bps=capacity * scale))
        return links

    def name(self, job: int) -> str:
        """The name of a job."""
        return f"j{job}"

    def score(self, shifts: tuple[int, ...], *, objective: Literal["mean", "worst"], bound_by: set[str]) -> float:
        """The objective over some of the links at shifts in ticks, by adding up ticks."""
        scores, weights = [], []
        for i, (jobs, capacity, levels) in enumerate(zip(self.crossings, self.capacities, self.others, strict=True)):
            if f"l{i}" not in bound_by:
                continue
            rates = [np.resize(self.jobs[job].rates, N_TICKS) for job in jobs]
            total = np.sum([np.roll(rate, shifts[job]) for rate, job in zip(rates, jobs, strict=True)], axis=0)
            excess = np.mean([np.maximum(0.0, total + level - capacity).mean() for level in levels])
            scores.append(1 - float(excess) / capacity)
            weights.append(len(jobs))
        if not scores:
            return 1.0
        return min(scores) if objective == "worst" else float(np.average(scores, weights=weights))

    def best_score(
        self, *, objective: Literal["mean", "worst"], bound_by: set[str], pinned: dict[int, int] | None = None
    ) -> float:
        """The best objective over all shifts of whole ticks, by trying each."""
        held = pinned or {0: 0}
        options = [[held[i]] if i in held else range(job.period) for i, job in enumerate(self.jobs)]
        return max(self.score(shifts, objective=objective, bound_by=bound_by) for shifts in product(*options))


def unsteady(levels_bps: tuple[float, ...]) -> TrafficProfile:
    """Traffic without a period that takes each of some rates for as long as the others."""
    return TrafficProfile(
        status="aperiodic",
        levels_bps=levels_bps,
        mean_bps=sum(levels_bps) / len(levels_bps),
        peak_bps=max(levels_bps),
        fold_bps=np.zeros(0),
    )


@st.composite
def small_networks(draw: st.DrawFn) -> SmallNetwork:
    """Three or four jobs on two to four links, nearly always with loops."""
    job = ticked_jobs(periods=st.sampled_from([6, 12]), max_phases=2).filter(lambda one: any(one.rates))
    jobs = draw(st.lists(job, min_size=3, max_size=4))
    on_a_link = st.lists(st.integers(0, len(jobs) - 1), min_size=2, max_size=3, unique=True)
    crossings = draw(st.lists(on_a_link.map(sorted).map(tuple), min_size=2, max_size=4))
    n_links = len(crossings)
    return SmallNetwork(
        jobs=tuple(jobs),
        crossings=tuple(crossings),
        capacities=tuple(draw(st.lists(st.integers(5, 11), min_size=n_links, max_size=n_links))),
        others=tuple(draw(st.lists(st.sampled_from([(0.0,), (3.0,), (0.0, 4.0)]), min_size=n_links, max_size=n_links))),
    )
