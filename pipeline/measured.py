"""`measure_jobs`: a profile of every port of a lake, the links on which jobs meet, and what each job does alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pipeline.batch import BatchOptions, OnPort, profile_ports
from pipeline.derived import open_derived
from pipeline.flowsums import foreign_flows, profile_flow_sums, read_flow_parts
from pipeline.kept import KeptLinks, keep_links, keep_series
from pipeline.meetings import Meeting, find_meetings, job_profiles, own_profiles
from pipeline.overlaps import find_overlaps
from pipeline.profiles import history_tables, profile_tables
from profiler.schema import arrow_schema
from profiler.store.reading import read_sound

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.analysis import Skipped
    from profiler.phases import TrafficProfile
    from profiler.store import Lake

__all__ = ["MeasuredJobs", "closed_shards", "measure_jobs", "read_ports"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredJobs:
    """What was measured of the jobs of a lake.

    Parameters
    ----------
    ports, jobs
        Rows of queries ``series_by_port`` and ``profiles_by_job``.
    profiles
        Of every port, by series id.
    meetings
        Links and directions on which jobs meet.
    own
        What each job does alone, by job.
    faults
        What could not be read or computed, and why.
    n_profiled
        Series profiled anew; the others were as before.
    n_otherwise
        Shards that were finished before, but for other capacities of their ports.
    tables
        Rows for tables ``profiles`` and ``phases``.
    kept
        What stays of the links and shifts of an earlier analysis; the meetings have none of these links.
    foreign
        Flows of captures that are no job's, and why.
    """

    ports: Sequence[Mapping[str, Any]]
    jobs: Sequence[Mapping[str, Any]]
    profiles: Mapping[int, TrafficProfile]
    meetings: Sequence[Meeting]
    own: Mapping[str, TrafficProfile]
    faults: tuple[Skipped, ...] = ()
    n_profiled: int = 0
    n_otherwise: int = 0
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    kept: KeptLinks = field(default_factory=KeptLinks)
    foreign: tuple[Skipped, ...] = ()


def read_ports(store: Lake, tables: Mapping[str, pa.Table] | None = None) -> list[dict[str, Any]]:
    """Return the rows of query ``series_by_port``, links and jobs from tables that are given, else from the lake.

    Raises
    ------
    LakeError
        If the lake is damaged.
    """
    with open_derived(store, tables) as database:
        rows: list[dict[str, Any]] = database.run("series_by_port").to_pylist()
    return rows


def measure_jobs(
    store: Lake,
    *,
    on_port: OnPort,
    batch: BatchOptions | None = None,
    cluster: Mapping[str, pa.Table] | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> MeasuredJobs:
    """Profile the ports of a lake, and conclude what its jobs do alone.

    Table ``profile_history`` grows by closed ranges that are new; the others are left to the caller.

    Parameters
    ----------
    store
        The lake.
    on_port, batch
        As for `profile_ports`.
    cluster
        Tables of links and jobs to see in place of those of the lake.
    now_ns
        The clock of the history.

    Raises
    ------
    LakeError
        If the manifest is damaged, or the lake cannot be written. A sample file that is damaged is a fault of the
        answer.
    UsageError
        As `profile_ports`.
    """
    with open_derived(store, cluster) as database:
        ports = database.run("series_by_port").to_pylist()
        parts, foreign = read_flow_parts(database), foreign_flows(database)
    found = profile_ports(store, ports, options=batch or BatchOptions(), on_port=on_port, known=closed_shards(store))
    sums = {one.series_id: one for one in profile_flow_sums(parts, found.files)}
    found = replace(found, series={**found.series, **sums})
    for rows in history_tables(found.history, analysed_ns=now_ns()):
        store.append("profile_history", rows)
    kept_series = keep_series(store, found)
    tables = kept_series.merged(profile_tables(found.series.values()))
    known = {**(cluster or {}), **tables}
    with open_derived(store, known) as database:
        jobs = database.run("profiles_by_job").to_pylist()
        crossings = database.run("jobs_by_link", min_jobs=2).to_pylist()
        kept = keep_links(store, kept_series, crossings=crossings, jobs=jobs)
        crossings = [row for row in crossings if (row["link_id"], row["direction"]) not in kept.places]
        overlaps, unseen = find_overlaps(database, crossings, found=found, parts=parts)
    meetings = find_meetings(crossings, overlaps=overlaps)
    profiles = {series_id: one.profile for series_id, one in found.series.items()}
    own = own_profiles(
        job_profiles(jobs, profiles), meetings, bottlenecks_bps={job["job_id"]: job["bottleneck_bps"] for job in jobs}
    )
    return MeasuredJobs(
        ports=ports,
        jobs=jobs,
        profiles=profiles,
        meetings=meetings,
        own=own,
        faults=(*found.faults, *unseen),
        n_profiled=found.n_profiled,
        n_otherwise=found.n_otherwise,
        tables=tables,
        kept=kept,
        foreign=foreign,
    )


def closed_shards(store: Lake) -> frozenset[str]:
    """Return the keys of the closed shards that the lake's history has.

    Raises
    ------
    LakeError
        If the manifest is damaged. A file of the table that is damaged is a fault of `profile_ports`.
    """
    schema = arrow_schema("profile_history")
    rows, _ = read_sound(store.files("profile_history"), schema, columns=["shard"])
    return frozenset(rows["shard"].unique().to_pylist())
