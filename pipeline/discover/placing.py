"""`placed`: jobs that were found, as a lake knows jobs: on links, with the ports of their ranks and the paths taken."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pipeline.topology.cluster import Cluster, Job, Link, Omission, Path, Placement
from profiler.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.discover.result import Discovery, FoundJob, Member
    from pipeline.topology.cluster import Direction

__all__ = ["HOST_TIER", "SOURCE", "placed"]

SOURCE: Final = "offbeat discover"
"""Source of the jobs in the lake that were found so."""
HOST_TIER: Final = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The link and direction that a series counts, and the link's end that is a host's, if one is."""

    link_id: str
    direction: Direction
    host_end: str | None


def placed(found: Discovery, *, links: Sequence[Link], ports: Iterable[Mapping[str, Any]]) -> Cluster:
    """Return what a discovery tells of jobs, on the links that are known.

    Parameters
    ----------
    found
        The jobs.
    links
        Of the lake.
    ports
        Rows of query ``series_by_port``, which tell the link and direction that each series counts.

    Returns
    -------
    Cluster
        A job's own ports are its ranks; every port that carries a known part of it is on its path, with its weight.
        Ports at which no link ends, and those of which the part is not known, are among the omissions.
    """
    places = _places(links, ports)
    jobs, placements, paths, omissions = [], [], [], []
    for job in found.jobs:
        omissions += _left_out(job, places)
        ranks = _ranks(job, places)
        jobs.append(Job(job_id=job.job, n_ranks=len(ranks), source=SOURCE))
        placements += ranks
        paths += _paths(job, places)
    return Cluster(
        links=tuple(links),
        jobs=tuple(jobs),
        placements=tuple(placements),
        paths=tuple(paths),
        omissions=tuple(omissions),
    )


def _left_out(job: FoundJob, places: Mapping[tuple[str, str, str, str], _Place]) -> list[Omission]:
    homeless = [member for member in job.members if _key(member) not in places]
    unmeasured = [member for member in job.uplinks if _key(member) in places and member.mean_bps is None]
    omissions = [
        Omission(what=member.label, why=f"carries {job.job}, but no link that is known ends there")
        for member in homeless
    ]
    if unmeasured:
        series = format_count(len(unmeasured), "uplink")
        why = (
            "how much they carry is not known: its beat is too small a part of its traffic, its ports beat nearly but "
            "not at once, or jobs together would be more than the uplink moves; they are not on its path"
        )
        omissions.append(Omission(what=f"{job.job} on {series}", why=why))
    return omissions


def _places(links: Sequence[Link], ports: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str, str], _Place]:
    """Return the place of each port and direction that a link ends at."""
    known = {link.link_id: link for link in links}
    n_links = Counter(end.partition(":")[0] for link in links for end in (link.a, link.b))
    return {
        (port["host"], port["device"], port["port"], port["direction"]): _Place(
            link_id=port["link_id"],
            direction=port["link_direction"],
            host_end=_host_end(known[port["link_id"]], n_links),
        )
        for port in ports
        if port["link_id"] in known
    }


def _host_end(link: Link, n_links: Mapping[str, int]) -> str | None:
    """Return the end of a link that is a host's: that of the node with fewer links; none between switches."""
    if link.tier not in (None, HOST_TIER):
        return None
    return min((link.a, link.b), key=lambda end: n_links[end.partition(":")[0]])


def _ranks(job: FoundJob, places: Mapping[tuple[str, str, str, str], _Place]) -> list[Placement]:
    ends = {
        places[_key(member)].host_end: None
        for member in job.own
        if _key(member) in places and places[_key(member)].host_end is not None
    }
    ranks = []
    for rank, end in enumerate(filter(None, ends)):
        host, _, device = end.partition(":")
        device, _, port = device.partition("/")
        ranks.append(Placement(job_id=job.job, rank=rank, host=host, device=device, port=port))
    return ranks


def _paths(job: FoundJob, places: Mapping[tuple[str, str, str, str], _Place]) -> list[Path]:
    """Return the weight of a job on each link and direction; where both ends were counted, that which is surer."""
    members: defaultdict[tuple[str, Direction], list[Member]] = defaultdict(list)
    for member in job.members:
        if _key(member) in places and member.mean_bps is not None:
            place = places[_key(member)]
            members[place.link_id, place.direction].append(member)
    return [
        Path(job_id=job.job, link_id=link_id, direction=direction, weight_frac=_surest(of_link).weight)
        for (link_id, direction), of_link in sorted(members.items())
    ]


def _surest(members: Iterable[Member]) -> Member:
    return max(members, key=lambda member: (member.confidence, member.weight))


def _key(member: Member) -> tuple[str, str, str, str]:
    return member.host, member.device, member.port, member.direction
