"""`read_cluster`: what one or several files know of a network and its jobs, put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.topology.addresses import place_addresses
from pipeline.topology.cluster import Cluster, Direction, Job, Omission
from pipeline.topology.documents import KINDS, read_facts
from pipeline.topology.placing import PlacedJob, place_job
from pipeline.topology.renaming import rename_nodes
from pipeline.topology.routes import Load, Router, paths_of
from pipeline.topology.sockets import Sockets
from pipeline.topology.union import unite_aliases, unite_jobs, unite_links
from profiler.errors import BadInput

if TYPE_CHECKING:
    from pipeline.topology.facts import Facts

__all__ = ["read_cluster"]


def read_cluster(*paths: str | Path, at_ns: int | None = None, counted: Collection[str] = ()) -> Cluster:
    """Read what files know of links, jobs and placements, and route the jobs.

    Parameters
    ----------
    paths
        Files; jobs of one are placed on the links of all. Where two contradict each other, that given first is
        believed, and the other's link or job is an omission.
    at_ns
        When the cluster is looked at, UTC epoch ns: of links and jobs with a start or an end, those count that are
        there then. Without it, those without an end.
    counted
        Names of hosts and switches that have counters: nodes of links that are alike but for a domain, or that have
        one of them as an alias, are called so.

    Returns
    -------
    Cluster
        With every link, job, pod or adapter that could not be used among its omissions, and the reason.

    Raises
    ------
    BadInput
        If a file cannot be read, is of no known kind, or is wrong; or no file has links.
    """
    parts = [read_facts(Path(path)) for path in paths]
    links, lost_links = unite_links(parts, at_ns=at_ns)
    if not links:
        raise BadInput(_no_links(parts, lost_links))
    jobs, lost_jobs = unite_jobs(parts, at_ns=at_ns)
    aliases, lost_aliases = unite_aliases(parts)
    links, aliases = rename_nodes(links, counted, aliases=aliases)
    sockets = Sockets(links, aliases=aliases)
    addresses, lost_addresses = place_addresses(parts, sockets, aliases=aliases)
    found = [place_job(job, sockets) for job in jobs]
    placed = [one for one in found if isinstance(one, PlacedJob)]
    router = Router(links, hosts={rank.host for one in placed for rank in one.ranks})
    tried = [(one, _load(one, router)) for one in placed]
    routed = [(one, load) for one, load in tried if not isinstance(load, Omission)]
    return Cluster(
        links=tuple(links),
        jobs=tuple(_job(one) for one, _ in routed),
        placements=tuple(rank for one, _ in routed for rank in one.ranks),
        paths=tuple(path for job_id, load in _in_order(routed) for path in paths_of(job_id, load)),
        addresses=addresses,
        omissions=(
            *(omission for part in parts for omission in part.omissions),
            *lost_links,
            *lost_aliases,
            *lost_addresses,
            *lost_jobs,
            *(one for one in found if isinstance(one, Omission)),
            *(omission for one in placed for omission in one.omissions),
            *(load for _, load in tried if isinstance(load, Omission)),
        ),
    )


def _no_links(parts: Sequence[Facts], lost: Sequence[Omission]) -> str:
    sources = ", ".join(part.source for part in parts)
    if lost:
        return f"{sources}: no links that are there: {lost[0].what}: {lost[0].why}; correct their times"
    return f"{sources}: no links; add the file that has them: {KINDS}"


def _load(placed: PlacedJob, router: Router) -> Load | Omission:
    """Return the load of all groups of a job's ranks, or why there is none."""
    total: defaultdict[tuple[str, Direction], float] = defaultdict(float)
    try:
        for group in placed.groups:
            for place, share in router.group_load(group, placed.job.pattern).items():
                total[place] += share
    except BadInput as error:
        return Omission(what=f"job {placed.job.job_id}", why=f"{error}; see {placed.job.place}")
    return dict(total)


def _job(placed: PlacedJob) -> Job:
    job = placed.job
    return Job(
        job_id=job.job_id,
        n_ranks=len(placed.ranks),
        source=job.place.partition(": ")[0],
        pattern=job.pattern,
        start_ns=job.start_ns,
        end_ns=job.end_ns,
    )


def _in_order(routed: Sequence[tuple[PlacedJob, Load]]) -> list[tuple[str, Load]]:
    return sorted(((one.job.job_id, load) for one, load in routed), key=lambda pair: pair[0])
