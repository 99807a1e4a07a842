"""Placements to rank, drawn at random: 64 hosts, 8 leaves, 2 spines, 4:1 oversubscribed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from pipeline.topology import Cluster, Link, Placement
from profiler.phases import TrafficProfile

__all__ = ["CASES", "RankCase", "leaf_spine"]

HOST_BPS: Final = 100e9
N_LEAVES: Final = 8
N_SPINES: Final = 2
N_HOSTS: Final = 64
"""8 a leaf at 100 Gbit/s, under two uplinks of 100 Gbit/s: 4:1."""

N_CANDIDATES: Final = 1000

SIZES: Final = (16, 12, 8, 8, 6, 4, 4, 4)
"""Hosts of each job: 62 of 64 taken."""


SPREAD: Final = 4.0
"""Of a Dirichlet distribution: bursts of one job differ by half of their mean width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCase:
    """Candidates with all that their ranking takes."""

    name: str
    topology: Cluster
    profiles: Mapping[str, TrafficProfile]
    candidates: Sequence[Mapping[str, Any]]


def leaf_spine(
    *, n_leaves: int = N_LEAVES, n_spines: int = N_SPINES, n_hosts: int = N_HOSTS, bps: float = HOST_BPS
) -> tuple[Link, ...]:
    """Return the links of a two-tier fabric: as many hosts on each leaf, every leaf on every spine, all of one rate."""
    a_leaf = n_hosts // n_leaves
    hosts = [
        Link(link_id=f"h{i}", a=f"h{i}:eth0", b=f"leaf{i // a_leaf}:h{i}", tier="host", capacity_bps=bps)
        for i in range(n_hosts)
    ]
    uplinks = [
        Link(link_id=f"leaf{i}-{k}", a=f"leaf{i}:s{k}", b=f"spine{k}:l{i}", tier="spine", capacity_bps=bps)
        for i in range(n_leaves)
        for k in range(n_spines)
    ]
    return (*hosts, *uplinks)


def _new_job(rng: np.random.Generator) -> RankCase:
    """One new job of eight ranks beside seven that stand, on any of the free hosts."""
    order = rng.permutation(N_HOSTS)
    standing = _placed((*SIZES[:-4], 4, 4), order)
    taken = {placement.host for placement in standing}
    free = [f"h{i}" for i in range(N_HOSTS) if f"h{i}" not in taken]
    candidates = [
        {"id": str(i), "jobs": {"new": sorted(rng.choice(free, size=8, replace=False).tolist(), key=_number)}}
        for i in range(N_CANDIDATES)
    ]
    profiles = {name: _profile(rng) for name in (*(f"j{i}" for i in range(6)), "new")}
    topology = Cluster(links=leaf_spine(), placements=tuple(standing))
    return RankCase(name="one new job beside six", topology=topology, profiles=profiles, candidates=candidates)


def _all_anywhere(rng: np.random.Generator, *, n_bursts: int = 1) -> RankCase:
    """All eight jobs anew, each anywhere: nothing comes again, and all links hang together."""
    candidates = []
    for i in range(N_CANDIDATES):
        jobs: dict[str, list[str]] = {}
        for placement in _placed(SIZES, rng.permutation(N_HOSTS)):
            jobs.setdefault(placement.job_id, []).append(placement.host)
        candidates.append({"id": str(i), "jobs": {job: sorted(hosts, key=_number) for job, hosts in jobs.items()}})
    profiles = {f"j{i}": _profile(rng, n_bursts=n_bursts) for i in range(len(SIZES))}
    return RankCase(
        name=f"all eight jobs anywhere, bursts an iteration: {n_bursts}",
        topology=Cluster(links=leaf_spine()),
        profiles=profiles,
        candidates=candidates,
    )


CASES: Final[Mapping[str, Callable[[np.random.Generator], RankCase]]] = {
    "new": _new_job,
    "all": _all_anywhere,
    "two bursts": partial(_all_anywhere, n_bursts=2),
    "three bursts": partial(_all_anywhere, n_bursts=3),
}


def _placed(sizes: tuple[int, ...], order: np.ndarray) -> list[Placement]:
    ends = np.cumsum(sizes)
    return [
        Placement(job_id=f"j{i}", rank=rank, host=f"h{host}", device="eth0")
        for i, (end, size) in enumerate(zip(ends, sizes, strict=True))
        for rank, host in enumerate(sorted(order[end - size : end].tolist()))
    ]


def _number(host: str) -> int:
    return int(host[1:])


def _profile(rng: np.random.Generator, *, n_bursts: int = 1) -> TrafficProfile:
    """Return a job that is Up for 20 to 45 % of 100 or 200 ms, at the rate of its host link, in bursts of any width."""
    period_s = float(rng.choice([0.1, 0.2]))
    up_s = period_s * float(rng.uniform(0.2, 0.45))
    if n_bursts == 1:
        return TrafficProfile.from_phases(period_s=period_s, phases=[(0.0, up_s, HOST_BPS)])
    widths_s = up_s * rng.dirichlet(np.full(n_bursts, SPREAD))
    pauses_s = (period_s - up_s) * rng.dirichlet(np.full(n_bursts, SPREAD))
    starts_s = np.cumsum([0.0, *(widths_s + pauses_s)[:-1]])
    phases = [(start, width, HOST_BPS) for start, width in zip(starts_s.tolist(), widths_s.tolist(), strict=True)]
    return TrafficProfile.from_phases(period_s=period_s, phases=phases)
