"""`measure_jobs`: a profile of every port of a lake, the links on which jobs meet, and what each job does alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.meetings import Meeting, find_meetings, job_profiles, own_profiles
from pipeline.profiles import profile_lake, profile_tables
from pipeline.sql import open_lake

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile
    from profiler.store import Lake

__all__ = ["MeasuredJobs", "measure_jobs"]


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
    """

    ports: Sequence[Mapping[str, Any]]
    jobs: Sequence[Mapping[str, Any]]
    profiles: Mapping[int, TrafficProfile]
    meetings: Sequence[Meeting]
    own: Mapping[str, TrafficProfile]


def measure_jobs(store: Lake, *, on_port: Callable[[int, int], None]) -> MeasuredJobs:
    """Profile the ports of a lake, and conclude what its jobs do alone.

    Tables ``profiles`` and ``phases`` are replaced.

    Raises
    ------
    LakeError
        If the lake is damaged, or cannot be written.
    """
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
    return MeasuredJobs(ports=ports, jobs=jobs, profiles=profiles, meetings=meetings, own=own)
