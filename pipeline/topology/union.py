"""What several files know, as one: of what contradicts, the file that was given first is believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pipeline.topology.cluster import Link, Omission
from pipeline.topology.moments import is_within, readable_moment
from profiler.units import format_rate

if TYPE_CHECKING:
    from pipeline.topology.facts import Facts, KnownJob

__all__ = ["unite_aliases", "unite_jobs", "unite_links"]


def unite_links(parts: Sequence[Facts], *, at_ns: int | None) -> tuple[list[Link], list[Omission]]:
    """Return the links that are there at a time, and those that are not, or that contradict a file given before.

    A cable that two files tell alike, whatever they call it, is one link. One that is down stays, and is told of.
    """
    kept: list[Link] = []
    omissions: list[Omission] = []
    known: dict[str, tuple[Link, str]] = {}
    for part in parts:
        for link in part.links:
            what = f"link {link.link_id}"
            if not is_within(at_ns, from_ns=link.valid_from_ns, to_ns=link.valid_to_ns):
                why = _when(at_ns, link.valid_from_ns, link.valid_to_ns)
                omissions.append(Omission(what=what, why=f"{part.source}: it {why}"))
                continue
            other, source = next((known[key] for key in _keys(link) if key in known), (None, ""))
            if other is None:
                kept.append(link)
                known |= dict.fromkeys(_keys(link), (link, part.source))
                if link.state == "down":
                    omissions.append(Omission(what=what, why="it is down; no path takes it"))
            elif why := _difference(link, other):
                omissions.append(Omission(what=what, why=f"{part.source}: {why} in {source}, which was given first"))
    return kept, omissions


def unite_jobs(parts: Sequence[Facts], *, at_ns: int | None) -> tuple[list[KnownJob], list[Omission]]:
    """Return the jobs that run at a time, and those that do not, or that contradict a file given before."""
    kept: dict[str, tuple[KnownJob, str]] = {}
    omissions = []
    for part in parts:
        for job in part.jobs:
            what = f"job {job.job_id}"
            if not is_within(at_ns, from_ns=job.start_ns, to_ns=job.end_ns):
                why = _when(at_ns, job.start_ns, job.end_ns)
                omissions.append(Omission(what=what, why=f"it {why}; see {job.place}"))
                continue
            other, source = kept.setdefault(job.job_id, (job, part.source))
            if other is not job and (other.seats, other.pattern) != (job.seats, job.pattern):
                why = f"{part.source}: it has other hosts or ranks in {source}, which was given first"
                omissions.append(Omission(what=what, why=why))
    return [job for job, _ in kept.values()], omissions


def unite_aliases(parts: Sequence[Facts]) -> tuple[dict[str, str], list[Omission]]:
    """Return each other name's host, and names that mean another host in a file given before."""
    aliases: dict[str, tuple[str, str]] = {}
    omissions = []
    for part in parts:
        for alias, host in part.aliases.items():
            other, source = aliases.setdefault(alias, (host, part.source))
            if other != host:
                why = f"{part.source}: it is of host {other}, not {host}, in {source}, which was given first"
                omissions.append(Omission(what=f"alias {alias}", why=why))
    return {alias: host for alias, (host, _) in aliases.items()}, omissions


def _keys(link: Link) -> Iterator[str]:
    """Yield what a link shares with no other: its name, and its ends, in words that no name has."""
    yield f"{link.link_id}\0id"
    yield link.a
    yield link.b


def _difference(link: Link, other: Link) -> str:
    """Return what is told otherwise of a link; empty if two tell of one cable alike."""
    if {link.a, link.b} != {other.a, other.b}:
        same = next((end for end in (link.a, link.b) if end in (other.a, other.b)), None)
        return f"its end {same} is that of link {other.link_id}" if same else "another link has its name"
    if link.capacity_bps != other.capacity_bps:
        return f"its capacity is {format_rate(other.capacity_bps)}, not {format_rate(link.capacity_bps)},"
    if link.state != other.state:
        return f"it is {other.state}, not {link.state},"
    return ""


def _when(at_ns: int | None, from_ns: int | None, to_ns: int | None) -> str:
    """Return why something does not hold at a time, or, where none is known, for good."""
    if at_ns is None:
        return f"is there until {readable_moment(to_ns or 0)} only, and no lake's samples say which time is meant"
    now = f"; the lake's last sample is of {readable_moment(at_ns)}"
    if to_ns is not None and to_ns <= at_ns:
        return f"ended at {readable_moment(to_ns)}{now}"
    return f"begins at {readable_moment(from_ns or 0)}{now}"
