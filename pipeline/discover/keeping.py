"""`keep_found`: jobs that were found, kept in a lake in place of those that it knew, if those were found too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.discover.links import is_own, own_links
from pipeline.discover.placing import SOURCE, placed
from pipeline.measured import read_ports
from pipeline.topology.cluster import Cluster, Link
from profiler.errors import UsageError

if TYPE_CHECKING:
    from typing import Any, Literal

    from pipeline.discover.result import Discovery
    from profiler.store import Lake

    Known = Literal["keep", "replace"]
    """What is done with jobs that a cluster file told of."""

__all__ = ["check_known", "keep_found"]


def check_known(store: Lake, *, known: Known, capacity_bps: float | None) -> None:
    """Check that what is found can be kept in a lake, before it is looked for.

    Raises
    ------
    UsageError
        If the lake knows jobs from a file or scheduler, and they are not to be replaced, or if it knows no links and no
        capacity is given.
    """
    jobs = store.read("jobs").to_pylist()
    told = sorted({job["source"] or "a file" for job in jobs if job["source"] != SOURCE})
    if told and known == "keep":
        raise UsageError(
            f"{store.root}: knows {len(jobs)} jobs from {', '.join(told)}; those found would replace them, with their "
            "placements and paths; give --force to do so, or leave out --write"
        )
    if capacity_bps is None and not _links(store):
        raise UsageError(
            f"{store.root}: knows no links to place jobs on; run offbeat analyze --cluster FILE with the links first, "
            "or give --capacity 100Gbps to take every port for a link of its own"
        )


def keep_found(store: Lake, found: Discovery, *, capacity_bps: float | None) -> Cluster:
    """Put the jobs found, their placements and paths in the place of what a lake knew of jobs.

    Parameters
    ----------
    store
        The lake, which `check_known` has passed.
    found
        The jobs.
    capacity_bps
        Of the links made for the ports, where the lake has no others.

    Returns
    -------
    Cluster
        What is now known; ports at which no link ends are among its omissions.

    Raises
    ------
    LakeError
        If the lake cannot be written.
    """
    links = _links(store)
    if all(is_own(link) for link in links):
        capacity_bps = capacity_bps if capacity_bps is not None else links[0].capacity_bps
        links = own_links(found, capacity_bps=capacity_bps)
    tables = Cluster(links=links).to_tables()
    cluster = placed(found, links=links, ports=read_ports(store, {"links": tables["links"]}))
    known = cluster.to_tables()
    known.pop("addresses")  # beats tell nothing of them
    store.replace_all(known)
    return cluster


def _links(store: Lake) -> tuple[Link, ...]:
    rows: list[dict[str, Any]] = store.read("links").to_pylist()
    return tuple(Link(**row) for row in rows)
