"""`read_lake_jobs`: what the jobs of a lake send, and where they stand; what a ranking starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.clusters import know_cluster
from pipeline.measured import measure_jobs
from pipeline.meetings import Meeting, demand_on
from pipeline.topology import Cluster, Link, Placement
from profiler.errors import BadInput
from profiler.store import Lake

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.analysis import Skipped
    from profiler.phases import TrafficProfile

__all__ = ["LakeJobs", "read_lake_jobs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeJobs:
    """Links and standing jobs, and what one rank of each job sends: its own demand, corrected for congestion.

    ``skipped`` names what of the cluster files could not be used, and why.
    """

    topology: Cluster
    profiles: Mapping[str, TrafficProfile]
    skipped: tuple[Skipped, ...] = ()


def read_lake_jobs(
    lake: str | Path,
    *,
    cluster: str | Path | Sequence[str | Path] | None = None,
    on_port: Callable[[int, int], None] = lambda _n_done, _n_ports: None,
) -> LakeJobs:
    """Profile the ports of a lake, as `pipeline.analyze` does, and return its jobs.

    Tables ``profiles`` and ``phases`` are replaced, and if a cluster file is given, those of links and jobs.

    Parameters
    ----------
    lake
        Folder of the lake.
    cluster
        Files that know links and jobs, see `pipeline.topology.read_cluster`; by default those that the lake knows from
        an earlier analysis.
    on_port
        Called after each port with the number of ports done and their total.

    Raises
    ------
    BadInput
        If the cluster file is missing or wrong, or none is given and the lake knows no link.
    LakeError
        If the lake is missing or damaged, or cannot be written.
    """
    store = Lake.open(lake)
    skipped = know_cluster(store, cluster)
    topology = _topology(store)
    measured = measure_jobs(store, on_port=on_port)
    store.replace_all(measured.tables)
    profiles = {job["job_id"]: _of_rank(job, measured.own) for job in measured.jobs}
    return LakeJobs(topology=topology, profiles=profiles, skipped=skipped)


def _topology(store: Lake) -> Cluster:
    links = tuple(Link(**row) for row in store.read("links").to_pylist())
    if not links:
        raise BadInput(f"lake {store.root}: knows no link; give the cluster file, --cluster cluster.toml")
    rows = sorted(store.read("placements").to_pylist(), key=lambda row: (row["job_id"], row["rank"]))
    return Cluster(links=links, placements=tuple(Placement(**row) for row in rows))


def _of_rank(job: Mapping[str, Any], own: Mapping[str, TrafficProfile]) -> TrafficProfile:
    """Return what one rank sends; the series that is known best may carry several."""
    name, weight_frac = job["job_id"], job["weight_frac"]
    if weight_frac is None:
        return own[name]
    port = Meeting(link="", direction="", capacity_bps=float("inf"), load_frac={name: 1 / weight_frac})
    return demand_on(port, own)[name]
