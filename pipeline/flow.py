"""The order of the steps, nothing else: read this first.

counters -> a profile a port -> jobs that meet on links -> what each would do alone -> compatibility a link -> one plan
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pipeline.analysis import Analysis, LinkAnalysis, Skipped
from pipeline.clusters import know_cluster
from pipeline.links import settle_links, solve_links
from pipeline.meetings import find_meetings, job_profiles, own_profiles
from pipeline.omissions import omissions
from pipeline.profiles import profile_lake, profile_tables
from pipeline.shifts import recommend_shifts
from pipeline.sql import open_lake
from profiler.store import Lake

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.shifts import PlanOptions

__all__ = ["Analysis", "LinkAnalysis", "Skipped", "analyze"]


def analyze(
    lake: str | Path,
    *,
    cluster: str | Path | Sequence[str | Path] | None = None,
    options: PlanOptions | None = None,
    on_port: Callable[[int, int], None] = lambda _n_done, _n_ports: None,
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
    on_port
        Called after each port with the number of ports done and their total.

    Raises
    ------
    BadInput
        If a cluster file is missing or wrong.
    LakeError
        If the lake is missing or damaged, or cannot be written.
    """
    store = Lake.open(lake)
    unplaced = know_cluster(store, cluster)
    with open_lake(store.root) as database:
        ports = database.run("series_by_port").to_pylist()
    series = profile_lake(store, ports, on_port=on_port)
    store.replace_all(profile_tables(series.values()))
    with open_lake(store.root) as database:
        jobs = database.run("profiles_by_job").to_pylist()
        meetings = find_meetings(
            database.run("jobs_by_link", min_jobs=2).to_pylist(),
            overlaps=database.run("contention_by_link").to_pylist(),
        )
    profiles = {series_id: one.profile for series_id, one in series.items()}
    own = own_profiles(
        job_profiles(jobs, profiles), meetings, bottlenecks_bps={job["job_id"]: job["bottleneck_bps"] for job in jobs}
    )
    solved = solve_links(meetings, own)
    plan = recommend_shifts(solved, options=options, sizes={job["job_id"]: job["n_ranks"] or 1 for job in jobs})
    analysis = Analysis(
        profiles={profile.label: profile for profile in profiles.values()},
        jobs={job: profile for job, profile in own.items() if profile.status == "periodic"},
        links=settle_links(solved, plan),
        plan=plan,
        skipped=(*unplaced, *omissions(jobs=jobs, ports=ports, profiles=profiles)),
    )
    store.replace_all(analysis.to_tables())
    return analysis
