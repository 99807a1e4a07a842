"""`Traffic`: the jobs that are simulated, and what other traffic leaves them of the links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from pipeline.simulation.job import SimulatedJob
from profiler.errors import UsageError
from profiler.units import format_rate

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["BusyLink", "Traffic", "traffic_of", "traffic_on"]

ONE_LINK: Final = "link"
"""Name of the one link that all jobs cross, where only its capacity is given."""

KNOWN_STATUSES: Final = frozenset({"idle", "constant"})
"""Not periodic, but what they take is known."""


class BusyLink(Protocol):
    """One direction of a link and the demand of each job on it; `pipeline.analysis.LinkAnalysis` is one."""

    @property
    def link(self) -> str:
        """Name of the link."""

    @property
    def direction(self) -> str:
        """Direction of the traffic on it."""

    @property
    def capacity_bps(self) -> float:
        """Capacity of the direction."""

    @property
    def demands(self) -> Mapping[str, TrafficProfile]:
        """What each job sends over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Jobs with a beat, and the capacity of each link that traffic without one leaves them."""

    jobs: tuple[SimulatedJob, ...]
    free_bps: Mapping[str, float]
    warnings: tuple[str, ...] = ()


def traffic_of(
    jobs: Traffic | Sequence[SimulatedJob] | Mapping[str, TrafficProfile],
    *,
    capacity_bps: float | Mapping[str, float] | None,
) -> Traffic:
    """Return jobs, or those of profiles, on links that they all cross unless they say otherwise.

    Raises
    ------
    UsageError
        If traffic without a period leaves nothing of a link, a periodic profile cannot be simulated, or no capacity is
        given.
    """
    if isinstance(jobs, Traffic):
        return jobs
    if capacity_bps is None:
        raise UsageError("simulate: capacity_bps is missing; give the capacity of each link in bit/s")
    capacities = dict(capacity_bps) if isinstance(capacity_bps, Mapping) else {ONE_LINK: capacity_bps}
    if not isinstance(jobs, Mapping):
        return Traffic(jobs=tuple(jobs), free_bps=capacities)
    periodic = {name: profile for name, profile in jobs.items() if profile.status == "periodic"}
    others = {name: profile for name, profile in jobs.items() if name not in periodic}
    return Traffic(
        jobs=tuple(SimulatedJob.from_profile(profile, name=name) for name, profile in periodic.items()),
        free_bps={link: _free_bps(bps, others, link=link) for link, bps in capacities.items()},
        warnings=tuple(_warnings(others)),
    )


def traffic_on(links: Iterable[BusyLink]) -> Traffic:
    """Return the jobs of links, each on all the links that it crosses.

    Parameters
    ----------
    links
        With each job's demand on them: a job loads its links unequally where paths split. It is simulated by its demand
        on the link where that is largest, of which the others carry a fraction.

    Raises
    ------
    UsageError
        If traffic without a period leaves nothing of a link, or a periodic profile cannot be simulated.
    """
    demands: dict[str, dict[str, TrafficProfile]] = {}
    free_bps: dict[str, float] = {}
    others: dict[str, TrafficProfile] = {}
    for link in links:
        name = f"{link.link} {link.direction}"
        periodic = {job: profile for job, profile in link.demands.items() if profile.status == "periodic"}
        unsteady = {job: profile for job, profile in link.demands.items() if job not in periodic}
        free_bps[name] = _free_bps(link.capacity_bps, unsteady, link=name)
        others.update(unsteady)
        for job, profile in periodic.items():
            demands.setdefault(job, {})[name] = profile
    return Traffic(
        jobs=tuple(_on_its_links(job, demands[job]) for job in sorted(demands)),
        free_bps=free_bps,
        warnings=tuple(_warnings(others)),
    )


def _on_its_links(job: str, demands: Mapping[str, TrafficProfile]) -> SimulatedJob:
    volumes = {link: _volume_bits(profile) for link, profile in demands.items()}
    heaviest = max(volumes, key=lambda link: volumes[link])
    loads = {link: volume / volumes[heaviest] for link, volume in volumes.items() if volume > 0}
    return SimulatedJob.from_profile(demands[heaviest], name=job, links=loads)


def _volume_bits(profile: TrafficProfile) -> float:
    return sum(phase.width_s * phase.rate_bps for phase in profile.phases if phase.kind == "up")


def _free_bps(capacity_bps: float, others: Mapping[str, TrafficProfile], *, link: str) -> float:
    taken_bps = sum(profile.mean_bps or 0.0 for profile in others.values())
    if taken_bps > 0 and capacity_bps - taken_bps <= 0:
        raise UsageError(
            f"simulate: {', '.join(sorted(others))} take {format_rate(taken_bps)} of {link}, whose capacity is "
            f"{format_rate(capacity_bps)}: nothing is left for jobs"
        )
    return capacity_bps - taken_bps


def _warnings(others: Mapping[str, TrafficProfile]) -> Iterable[str]:
    for name, profile in others.items():
        if profile.status not in KNOWN_STATUSES:
            rate = "of unknown rate, and left out" if profile.mean_bps is None else "taken as constant at its mean rate"
            yield f"{name}: status {profile.status}, no period: its traffic is {rate}"
