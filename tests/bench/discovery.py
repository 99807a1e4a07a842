"""Jobs found by their beat: precision, recall, false groups, shares, and speed, a family of synthetic fleets each.

Run alone with ``python -m tests.bench.discovery [N_FLEETS]``.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.discover import find_jobs, gather
from tests.bench.tables import layout
from tests.pipeline.beating_fleets import FleetPlan, JobPlan, draw_fleet, random_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipeline.discover import Discovery
    from tests.pipeline.beating_fleets import Fleet

__all__ = ["FAMILIES", "Score", "score", "score_family", "scores_table"]

PERIOD_SLACK_FRAC: Final = 0.02
"""A period is right within 2 %, as for single series; the mean of jittered iterations strays from the nominal one."""


def _mixed(rng: np.random.Generator) -> FleetPlan:
    return random_plan(rng)


def _equal(rng: np.random.Generator) -> FleetPlan:
    period_s = float(rng.uniform(8.0, 40.0))
    jobs = tuple(
        JobPlan(name=f"job{i}", period_s=period_s, n_ports=3, jitter_frac=float(rng.uniform(0.005, 0.02)))
        for i in range(4)
    )
    return FleetPlan(jobs=jobs, n_random=4)


def _sprayed(rng: np.random.Generator) -> FleetPlan:
    plan = random_plan(rng, n_jobs=5)
    jobs = tuple(replace(job, is_sprayed=True, n_weak=0, n_ports=3, rate_bps=40e9) for job in plan.jobs)
    return replace(plan, jobs=jobs, n_uplinks=24, uplink_noise=0.5)


def _weak(rng: np.random.Generator) -> FleetPlan:
    plan = random_plan(rng, n_jobs=4)
    return replace(plan, jobs=tuple(replace(job, n_ports=2, n_weak=6) for job in plan.jobs), n_uplinks=0)


def _holes(rng: np.random.Generator) -> FleetPlan:
    return replace(random_plan(rng), hole_frac=0.2)


def _lagging(rng: np.random.Generator) -> FleetPlan:
    return replace(random_plan(rng), lag_ticks=4.0, n_uplinks=0)


def _none(_rng: np.random.Generator) -> FleetPlan:
    return FleetPlan(n_random=24, n_idle=4, n_uplinks=8)


def _alike(_rng: np.random.Generator) -> FleetPlan:
    return FleetPlan(n_random=8, n_alike=8, n_idle=2)


FAMILIES: Final[Mapping[str, Callable[[np.random.Generator], FleetPlan]]] = {
    "mixed": _mixed,
    "equal": _equal,
    "sprayed": _sprayed,
    "weak": _weak,
    "holes": _holes,
    "lagging": _lagging,
    "none": _none,
    "alike": _alike,
}
"""Jobs of any kind; four of one period; jobs over many uplinks; mostly weak members; a fifth of the time missing; ports
late by up to four ticks; no jobs; no jobs, but ports that do alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How a discovery fares against the truth: counts, which add up over fleets.

    Pairs are of ports, each in the job of its own that it is said to be in; shares are (uplink, job).
    """

    n_ports: int = 0
    found_pairs: int = 0
    true_pairs: int = 0
    right_pairs: int = 0
    right_strong_pairs: int = 0
    strong_pairs: int = 0
    jobs: int = 0
    false_jobs: int = 0
    right_periods: int = 0
    found_jobs: int = 0
    found_shares: int = 0
    right_shares: int = 0
    true_shares: int = 0
    cpu_s: float = 0.0

    def __add__(self, other: Score) -> Score:
        """Return both together."""
        return Score(**{name: getattr(self, name) + getattr(other, name) for name in self.__slots__})


def score(found: Discovery, fleet: Fleet) -> Score:
    """Return how jobs found in a fleet compare with those drawn."""
    job_of = _jobs_by_port(found)
    pairs = set(_pairs(job_of))
    truth = set(_pairs(fleet.own_of))
    strong = {pair for pair in truth if not fleet.weak & set(pair)}
    shares = {
        (member.device, _drawn_job(job.own or job.members, fleet))
        for job in found.jobs
        for member in job.uplinks
        if member.device not in fleet.own_of
    }
    true_shares = {(up, job) for up, of_jobs in fleet.carried_bps.items() if up not in fleet.own_of for job in of_jobs}
    drawn = [(job, _drawn_job(job.own or job.members, fleet)) for job in found.jobs]
    return Score(
        n_ports=len(fleet.series),
        found_pairs=len(pairs),
        true_pairs=len(truth),
        right_pairs=len(pairs & truth),
        right_strong_pairs=len(pairs & strong),
        strong_pairs=len(strong),
        jobs=len(fleet.periods_s),
        found_jobs=len(found.jobs),
        false_jobs=sum(name is None for _, name in drawn)
        + sum(n - 1 for n in Counter(n for _, n in drawn if n).values()),
        right_periods=sum(
            job.period_s is not None and abs(job.period_s / fleet.periods_s[name] - 1) <= PERIOD_SLACK_FRAC
            for job, name in drawn
            if name is not None
        ),
        found_shares=len(shares),
        right_shares=len(shares & true_shares),
        true_shares=len(true_shares),
    )


def score_family(family: str, *, n_fleets: int, first_seed: int = 0) -> Score:
    """Return the score over some fleets of a family."""
    total = Score()
    for seed in range(first_seed, first_seed + n_fleets):
        rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
        fleet = draw_fleet(rng, FAMILIES[family](rng))
        began_s = time.process_time()
        found = find_jobs(gather(fleet.series))
        total += replace(score(found, fleet), cpu_s=time.process_time() - began_s)
    return total


def scores_table(scores: Mapping[str, Score]) -> str:
    """Return a row a family."""
    head = [
        "family",
        "ports",
        "pairs",
        "precision",
        "recall",
        "strong recall",
        "jobs",
        "found",
        "false",
        "period right",
    ]
    rows = [[*head, "share precision", "share recall", "ms a port"]]
    for family, one in scores.items():
        rows.append(
            [
                family,
                str(one.n_ports),
                str(one.true_pairs),
                _ratio(one.right_pairs, one.found_pairs),
                _ratio(one.right_pairs, one.true_pairs),
                _ratio(one.right_strong_pairs, one.strong_pairs),
                str(one.jobs),
                str(one.found_jobs),
                str(one.false_jobs),
                str(one.right_periods),
                _ratio(one.right_shares, one.found_shares),
                _ratio(one.right_shares, one.true_shares),
                f"{1e3 * one.cpu_s / max(1, one.n_ports):.1f}",
            ]
        )
    return layout(rows)


def _jobs_by_port(found: Discovery) -> dict[str, str]:
    return {member.device: job.job for job in found.jobs for member in job.own}


def _pairs(job_of: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    return ((a, b) for a, b in combinations(sorted(job_of), 2) if job_of[a] == job_of[b])


def _drawn_job(members: Iterable[object], fleet: Fleet) -> str | None:
    """Return the job of most ports of a group; None if most are no job's."""
    names = Counter(fleet.own_of.get(getattr(member, "device", "")) for member in members)
    return names.most_common(1)[0][0] if names else None


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.4f}" if whole else "-"


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    only = sys.argv[2:] or list(FAMILIES)
    sys.stdout.write(scores_table({family: score_family(family, n_fleets=n) for family in only}) + "\n")
