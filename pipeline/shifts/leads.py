"""`leads_of`: how long after an iteration begins a job communicates, whatever links it crosses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pipeline.compat.pacing import lead_of

if TYPE_CHECKING:
    from pipeline.affinity import SolvedLink
    from profiler.phases import TrafficProfile

__all__ = ["leads_of"]


def leads_of(links: Iterable[SolvedLink]) -> dict[str, float]:
    """Return the lead of each periodic job in seconds: that of its demand where this is largest.

    A pacer holds a job's communication on all its links at once; the simulator takes that demand for it too.
    """
    heaviest: dict[str, TrafficProfile] = {}
    for link in sorted(links, key=lambda one: (one.link, one.direction)):
        for job, profile in link.demands.items():
            if profile.status == "periodic" and (
                job not in heaviest or _volume_bits(profile) > _volume_bits(heaviest[job])
            ):
                heaviest[job] = profile
    return {job: lead_of(profile) for job, profile in heaviest.items()}


def _volume_bits(profile: TrafficProfile) -> float:
    return sum(phase.width_s * phase.rate_bps for phase in profile.phases if phase.kind == "up")
