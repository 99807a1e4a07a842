"""`read_cluster`: what one or several files know of a network and its jobs, put together.

Each file is told by its content: a cluster file (TOML), output of ``ibnetdiscover``, jobs of Slurm, pods of Kubernetes,
or a table (CSV) of links or of placements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from pipeline.topology.cluster import Cluster, Job, Knowledge, Link, Omission, Placement
from pipeline.topology.clusterfile import read_cluster_file
from pipeline.topology.fabric import is_fabric, read_fabric
from pipeline.topology.pods import is_pods, read_pods
from pipeline.topology.rails import place_job, rails_of
from pipeline.topology.routes import route
from pipeline.topology.slurm import is_slurm, read_slurm
from pipeline.topology.tables import is_table, read_table
from profiler.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_cluster"]

_KINDS: Final = (
    "a cluster file (TOML), output of ibnetdiscover, scontrol show job --json, kubectl get pods -o json, or a table "
    "(CSV) of links or placements"
)


def read_cluster(*paths: str | Path) -> Cluster:
    """Read what files know of links, jobs and placements, and route the jobs.

    Parameters
    ----------
    paths
        Files, in any order; jobs of one are placed on the links of all.

    Returns
    -------
    Cluster
        With every job, pod or adapter that could not be used among its omissions, and the reason.

    Raises
    ------
    BadInput
        If a file cannot be read, or is of no known kind, or two files contradict each other.
    """
    parts = [_read(Path(path)) for path in paths]
    links = _links(parts)
    placed = _placed(parts, links)
    omissions = [omission for part in parts for omission in part.omissions]
    rings: list[Sequence[Placement]] = []
    jobs = []
    for job_id, (found, source) in placed.items():
        if isinstance(found, Omission):
            omissions.append(found)
            continue
        jobs.append(Job(job_id=job_id, n_ranks=len(found), source=source))
        is_hosted = any(job_id == hosted.job_id for part in parts for hosted in part.hosted)
        rings += list(rails_of(found)) if is_hosted else [found]
    try:
        routed = route(links, rings)
    except BadInput as error:
        raise BadInput(f"{', '.join(map(str, paths))}: {error}") from None
    return Cluster(
        links=links,
        jobs=tuple(jobs),
        placements=tuple(rank for ring in rings for rank in ring),
        paths=routed,
        omissions=tuple(omissions),
    )


def _read(path: Path) -> Knowledge:
    """Return what a file knows, whatever kind it is of."""
    text = _text(path)
    if text.lstrip().startswith("{"):
        document = _json(text, path)
        if is_slurm(document):
            return read_slurm(document, path=path)
        if is_pods(document):
            return read_pods(document, path=path)
        raise BadInput(f"{path}: JSON that is neither jobs of Slurm nor pods; give {_KINDS}")
    if is_fabric(text):
        return read_fabric(text, path=path)
    if is_table(text):
        return read_table(text, path=path)
    return read_cluster_file(path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give the path of {_KINDS}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start} is not UTF-8 text; give {_KINDS}") from None


def _json(text: str, path: Path) -> Mapping[str, Any]:
    try:
        document: Mapping[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{path}: JSON damaged or cut ({error}); fetch it again") from None
    return document


def _links(parts: Sequence[Knowledge]) -> tuple[Link, ...]:
    """Return the links of all files; those of one name must agree."""
    links: dict[str, Link] = {}
    for part in parts:
        for link in part.links:
            if links.setdefault(link.link_id, link) != link:
                raise BadInput(f"{part.source}: link {link.link_id!r} differs from one of another file; correct one")
    if not links:
        sources = ", ".join(part.source for part in parts)
        raise BadInput(f"{sources}: no links; add the file that has them: {_KINDS}")
    seen: dict[str, str] = {}
    for link in links.values():
        for end in (link.a, link.b):
            if seen.setdefault(end, link.link_id) != link.link_id:
                raise BadInput(f"link end {end!r} is given twice, in links {seen[end]!r} and {link.link_id!r}")
    return tuple(links.values())


def _placed(parts: Sequence[Knowledge], links: Sequence[Link]) -> dict[str, tuple[Sequence[Placement] | Omission, str]]:
    """Return each job's ranks, or why it has none, and its file."""
    ends: defaultdict[str, list[str]] = defaultdict(list)
    for link in links:
        for end in (link.a, link.b):
            ends[end.partition(":")[0]].append(end)
    found: dict[str, tuple[Sequence[Placement] | Omission, str]] = {}
    for part in parts:
        for job_id, ranks in _ranks(part, ends):
            if job_id in found:
                raise BadInput(f"{part.source}: job {job_id!r} is in {found[job_id][1]} too; leave one out")
            found[job_id] = (ranks, part.source)
    return found


def _ranks(part: Knowledge, ends: dict[str, list[str]]) -> Iterator[tuple[str, Sequence[Placement] | Omission]]:
    by_job: dict[str, list[Placement]] = {}
    for placement in part.placements:
        by_job.setdefault(placement.job_id, []).append(placement)
    for job_id, ranks in by_job.items():
        lost = next((rank for rank in ranks if rank.end not in ends.get(rank.host, ())), None)
        why = f"no link ends at {lost.end}, where its rank {lost.rank} is" if lost else ""
        yield job_id, Omission(what=f"job {job_id}", why=why) if lost else ranks
    for hosted in part.hosted:
        yield hosted.job_id, place_job(hosted, ends)
