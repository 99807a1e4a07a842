"""The order of the steps, nothing else: read this first.

counters -> a profile a port -> jobs that meet on links -> what each would do alone -> compatibility a link -> one plan
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.analysis import Analysis, LinkAnalysis, Skipped
from pipeline.clusters import cluster_tables
from pipeline.links import settle_links, solve_links
from pipeline.measured import measure_jobs
from pipeline.omissions import omissions
from pipeline.shifts import recommend_shifts
from profiler.store import Lake
from profiler.store.remote.attached import refresh

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.batch import BatchOptions, OnPort
    from pipeline.shifts import PlanOptions

__all__ = ["Analysis", "LinkAnalysis", "Skipped", "analyze"]


def analyze(
    lake: str | Path,
    *,
    cluster: str | Path | Sequence[str | Path] | None = None,
    options: PlanOptions | None = None,
    batch: BatchOptions | None = None,
    on_port: OnPort = lambda _n_done, _n_ports: None,
) -> Analysis:
    """Find the beat of every port, the jobs that meet on links, and the shifts that keep them apart.

    All that is found is kept in the lake: tables ``links``, ``jobs``, ``placements``, ``paths`` (if a cluster file is
    given), ``profiles``, ``phases``, ``compat`` and ``shifts`` are replaced.

    Parameters
    ----------
    lake
        Folder of the lake.
    cluster
        Files that know links and jobs, see `pipeline.topology.read_cluster`; by default those that the lake knows from
        an earlier analysis.
    options
        What the plan is to be good for, and what it may not change. A job counts as many as it has ranks, where no
        weight is given for it.
    batch
        How ports are profiled: on what engine, over which windows of time. What was profiled before and has no new
        data is not profiled again.
    on_port
        Called with the number of ports profiled, and of those to profile.

    Raises
    ------
    BadInput
        If a cluster file is missing or wrong.
    LakeError
        If the lake is missing, or cannot be written. What of it is damaged is told in the answer.
    UsageError
        If finished shards are to be merged, and none is.

    Notes
    -----
    What is found is put into the lake at once, at the end: an analysis that is cut short leaves what was known. What
    cannot be read stays as an earlier analysis found it.
    """
    store = Lake.open(lake)
    refresh(store)
    known, unplaced = cluster_tables(store, cluster)
    measured = measure_jobs(store, batch=batch, cluster=known, on_port=on_port)
    solved = solve_links(measured.meetings, measured.own)
    sizes = {job["job_id"]: job["n_ranks"] or 1 for job in measured.jobs}
    plan = recommend_shifts(solved, options=options, sizes=sizes)
    kept = {one.what for one in measured.kept.notes}
    skipped = omissions(
        jobs=measured.jobs,
        ports=measured.ports,
        profiles=measured.profiles,
        n_links=known.get("links", store.read("links")).num_rows,
    )
    analysis = Analysis(
        profiles={profile.label: profile for profile in measured.profiles.values()},
        jobs={job: profile for job, profile in measured.own.items() if profile.status == "periodic"},
        links=settle_links(solved, plan),
        plan=plan,
        faults=measured.faults,
        n_profiled=measured.n_profiled,
        n_otherwise=measured.n_otherwise,
        kept=measured.kept.notes,
        skipped=(*unplaced, *measured.foreign, *(one for one in skipped if one.what not in kept)),
    )
    store.replace_all({**known, **measured.tables, **measured.kept.merged(analysis.to_tables())})
    return analysis
