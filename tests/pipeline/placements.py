"""Small networks to place jobs on, and what their links would score, added up edge by edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.topology import Cluster, Link, Placement

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["WIDE_BPS", "candidate", "racks", "score_at", "two_racks"]

WIDE_BPS = 1e12
"""A link on which nobody is ever in another's way."""


def racks(
    hosts: Mapping[str, Sequence[str]],
    *,
    trunks: Mapping[tuple[str, str], float],
    host_bps: float = WIDE_BPS,
    standing: Mapping[str, Sequence[str]] | None = None,
) -> Cluster:
    """Switches with their hosts, each on a port ``eth0``, and trunks between the switches; jobs that stand there."""
    links = [
        Link(link_id=host, a=f"{host}:eth0", b=f"{switch}:{host}", tier="host", capacity_bps=host_bps)
        for switch, own in hosts.items()
        for host in own
    ]
    links += [
        Link(link_id=f"{a}-{b}", a=f"{a}:{b}", b=f"{b}:{a}", tier="spine", capacity_bps=bps)
        for (a, b), bps in trunks.items()
    ]
    placements = [
        Placement(job_id=job, rank=rank, host=host, device="eth0")
        for job, ring in (standing or {}).items()
        for rank, host in enumerate(ring)
    ]
    return Cluster(links=tuple(links), placements=tuple(placements))


def two_racks(
    trunk_bps: float,
    *,
    a_rack: int = 2,
    host_bps: float = WIDE_BPS,
    standing: Mapping[str, Sequence[str]] | None = None,
) -> Cluster:
    """Hosts l1, l2, … and r1, r2, … on two switches with one trunk between them."""
    hosts = {switch: [f"{switch}{i}" for i in range(1, a_rack + 1)] for switch in ("l", "r")}
    return racks(hosts, trunks={("l", "r"): trunk_bps}, host_bps=host_bps, standing=standing)


def candidate(name: str, **jobs: str) -> dict[str, Any]:
    """A candidate from hosts in one word, as ``candidate("x", A="l1 r1")``."""
    return {"id": name, "jobs": {job: hosts.split() for job, hosts in jobs.items()}}


def score_at(profiles: Mapping[str, TrafficProfile], shifts_s: Mapping[str, float], *, capacity_bps: float) -> float:
    """The score of jobs of one period at given shifts, from the rate between every two edges."""
    period_s = next(iter(profiles.values())).period_s or 0.0
    phases = [
        ((phase.start_s + shifts_s[job]) % period_s, phase.width_s, phase.rate_bps)
        for job, profile in profiles.items()
        for phase in profile.phases
    ]
    edges_s = sorted({edge for start_s, width_s, _ in phases for edge in (start_s, (start_s + width_s) % period_s)})
    excess_bits = 0.0
    for edge_s, next_s in zip(edges_s, [*edges_s[1:], edges_s[0] + period_s], strict=True):
        middle_s = (edge_s + next_s) / 2
        rate_bps = sum(bps for start_s, width_s, bps in phases if (middle_s - start_s) % period_s < width_s)
        excess_bits += max(0.0, rate_bps - capacity_bps) * (next_s - edge_s)
    return 1 - excess_bits / period_s / capacity_bps
