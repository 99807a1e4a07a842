"""Jobs and their nodes from Slurm: ``scontrol show job --json``, or the REST interface's list of jobs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pipeline.topology.cluster import HostedJob, Knowledge, Omission
from profiler.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["expand_hostlist", "is_slurm", "read_slurm"]

_RUNNING: Final = "RUNNING"
MAX_NODES: Final = 1_000_000
"""Nodes of one job; a longer list is a mistake, or meant to fill memory."""
_PART: Final = re.compile(r"([^,\[\]]*)(?:\[([^\]]*)\])?")


def is_slurm(document: object) -> bool:
    """Return whether a JSON document is a list of jobs of Slurm."""
    jobs = document.get("jobs") if isinstance(document, Mapping) else None
    return isinstance(jobs, list) and all(isinstance(job, Mapping) and "job_id" in job for job in jobs)


def read_slurm(document: Mapping[str, Any], *, path: Path) -> Knowledge:
    """Return the jobs that run, each with its nodes; others are omitted, with their state.

    Raises
    ------
    BadInput
        If a list of nodes cannot be read.
    """
    hosted, omissions = [], []
    for job in document["jobs"]:
        job_id, states = str(_number(job["job_id"])), _states(job.get("job_state"))
        hosts = tuple(_hosts(job, path=path, job_id=job_id))
        if _RUNNING not in states:
            omissions.append(Omission(what=f"job {job_id}", why=f"its state is {', '.join(states) or 'not told'}"))
        elif not hosts:
            omissions.append(Omission(what=f"job {job_id}", why="no nodes are given"))
        else:
            hosted.append(HostedJob(job_id=job_id, hosts=hosts, source=str(path)))
    return Knowledge(hosted=tuple(hosted), omissions=tuple(omissions), source=str(path))


def expand_hostlist(text: str) -> Iterator[str]:
    """Yield the nodes of Slurm's list expression.

    Raises
    ------
    ValueError
        If it is none, or has more than `MAX_NODES` nodes.

    Examples
    --------
    >>> list(expand_hostlist("gpu[01-03,7],login,r[1-2]n[0-1]"))
    ['gpu01', 'gpu02', 'gpu03', 'gpu7', 'login', 'r1n0', 'r1n1', 'r2n0', 'r2n1']
    """
    n_nodes = 0
    for expression in _split(text):
        factors = []
        for prefix, ranges in _PART.findall(expression):
            factors.append([prefix])
            if ranges:
                factors.append(list(_numbers(ranges)))
        for parts in itertools.product(*factors):
            n_nodes += 1
            if n_nodes > MAX_NODES:
                raise ValueError(f"more than {MAX_NODES} nodes")
            yield "".join(parts)


def _split(text: str) -> Iterator[str]:
    """Yield what stands between commas that are not in brackets."""
    if text.count("[") != text.count("]"):
        raise ValueError("brackets that do not match")
    for expression in re.split(r",(?![^\[]*\])", text):
        if expression.strip():
            yield expression.strip()


def _numbers(ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"{part!r} is no number and no range")
        if not dash:
            yield first
            continue
        if int(last) - int(first) >= MAX_NODES:
            raise ValueError(f"{part!r} is more than {MAX_NODES} nodes")
        yield from (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))


def _hosts(job: Mapping[str, Any], *, path: Path, job_id: str) -> Iterator[str]:
    nodes = job.get("nodes")
    try:
        yield from expand_hostlist(nodes if isinstance(nodes, str) else "")
    except ValueError as error:
        raise BadInput(f"{path}: job {job_id}: nodes = {str(nodes)[:80]!r}: {error}") from None


def _states(given: object) -> list[str]:
    """Return a job's states; newer versions give a list."""
    return [given] if isinstance(given, str) else [str(state) for state in given] if isinstance(given, list) else []


def _number(given: object) -> object:
    """Return a number, which newer versions wrap in an object."""
    return given.get("number") if isinstance(given, Mapping) else given
