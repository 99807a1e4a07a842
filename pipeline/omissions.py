"""`omissions`: what an analysis could not use, and why; so that nothing is left out in silence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pipeline.analysis import Skipped
from profiler.units import format_count, format_duration

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["omissions"]

_NO_CLUSTER: Final = Skipped(
    what="links and jobs",
    why="not known: give a cluster file with links, capacities and jobs, --cluster cluster.toml",
)
_NO_JOBS: Final = Skipped(
    what="jobs",
    why="links are known, and no job that runs on them: give a file with jobs and their hosts too, --cluster jobs.csv",
)

_MOST_NAMED: Final = 3
"""Ports that are named of those that have the same fault."""


def omissions(
    *,
    jobs: Sequence[Mapping[str, Any]],
    ports: Sequence[Mapping[str, Any]],
    profiles: Mapping[int, TrafficProfile],
    n_links: int,
) -> tuple[Skipped, ...]:
    """Return jobs without a period, ports that no link accounts for, ports that repeat readings, and what is unknown.

    Without jobs, that is the ports without a period.

    Parameters
    ----------
    jobs
        Rows of query ``profiles_by_job``.
    ports
        Rows of query ``series_by_port``.
    profiles
        By series id, of every port.
    n_links
        Links that are known.
    """
    if jobs:
        return (*_without_period(jobs), *_without_link(ports, profiles), *_repeating(ports, profiles))
    unknown = _NO_JOBS if n_links else _NO_CLUSTER
    return (unknown, *_silent(ports, profiles), *_repeating(ports, profiles))


def _without_period(jobs: Sequence[Mapping[str, Any]]) -> Iterator[Skipped]:
    for job in jobs:
        if job["status"] != "periodic":
            yield Skipped(what=f"job {job['job_id']}", why=_why(job["status"], job["reason"]))


def _without_link(ports: Sequence[Mapping[str, Any]], profiles: Mapping[int, TrafficProfile]) -> Iterator[Skipped]:
    for port in ports:
        profile = profiles[port["series_id"]]
        if port["layer"] == "capture":  # of addresses, not of ports: see `pipeline.flowsums.foreign_flows`
            continue
        if port["link_id"] is None and profile.status not in ("idle", "no_data"):
            found = profile.status if profile.period_s is None else f"a period of {format_duration(profile.period_s)}"
            yield Skipped(what=profile.label, why=f"{found}, but no link of the cluster file ends at this port")


def _repeating(ports: Sequence[Mapping[str, Any]], profiles: Mapping[int, TrafficProfile]) -> Iterator[Skipped]:
    repeating = [one for one in (profiles[port["series_id"]] for port in ports) if one.repeated_frac]
    if repeating:
        labels = ", ".join(one.label for one in repeating[:_MOST_NAMED])
        yield Skipped(
            what=f"single rates of {format_count(len(repeating), 'port')}, {labels}",
            why="readings repeat the one before amid traffic, at no interval that was found: in SQL rates between "
            "reads are nothing or too much, so ask for bin_s of many; query profiles_by_series has repeated_frac",
        )


def _silent(ports: Sequence[Mapping[str, Any]], profiles: Mapping[int, TrafficProfile]) -> Iterator[Skipped]:
    for port in ports:
        profile = profiles[port["series_id"]]
        if profile.status != "periodic":
            yield Skipped(what=profile.label, why=_why(profile.status, profile.reason))


def _why(status: str | None, reason: str | None) -> str:
    return ": ".join(part for part in (status, reason) if part)
