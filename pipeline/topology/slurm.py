"""Jobs and their nodes from Slurm, in JSON.

``scontrol show job --json``, ``squeue --json``, ``sacct --json``, or what the REST interface answers, whatever the
version of its data parser: numbers plain or as ``{"set", "infinite", "number"}``, states one or several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from pipeline.topology.cluster import Omission
from pipeline.topology.facts import Facts, KnownJob, Seat
from pipeline.topology.hostlist import expand_hostlist
from profiler.errors import BadInput
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_slurm", "read_slurm"]

_RUNNING: Final = "RUNNING"
_LATEST_S: Final = 2**33
"""Seconds since the epoch, in the year 2242; more is no time of a job."""
_MAX_ID: Final = 64
"""Characters of the name of a job."""
_UNREAL_IDS: Final = (None, 0, "0")
"""What stands where a job is of no array, or of no heterogeneous job."""


def is_slurm(document: object) -> bool:
    """Return whether a JSON document is a list of jobs of Slurm."""
    jobs = document.get("jobs") if isinstance(document, Mapping) else None
    if not isinstance(jobs, list):
        return False
    return not jobs or any(isinstance(job, Mapping) and "job_id" in job for job in jobs)


def read_slurm(document: Mapping[str, Any], *, path: Path) -> Facts:
    """Return the jobs that run, each with its nodes; others are omitted, with their state.

    The parts of a heterogeneous job are one job, of the name of its first.

    Raises
    ------
    BadInput
        If there is no job, but an error of Slurm.
    """
    complaints = [_complaint(error) for error in _listed(document.get("errors"))]
    if complaints and not document["jobs"]:
        raise BadInput(f"{path}: no jobs; Slurm says: {complaints[0]}; ask it again")
    omissions = [Omission(what=str(path), why=f"Slurm says: {complaint}") for complaint in complaints]
    parts: dict[str, list[_Part]] = {}
    for i, job in enumerate(document["jobs"], start=1):
        part = _part(job)
        if part is None:
            omissions.append(Omission(what=f"entry {i} of jobs in {path}", why="it is no job: it has no job_id"))
        else:
            parts.setdefault(part.of_job, []).append(part)
    if not parts:
        omissions.append(Omission(what=str(path), why="it lists no jobs"))
    found = [
        _joined(of_job, sorted(members, key=lambda part: part.offset), path=path) for of_job, members in parts.items()
    ]
    jobs = tuple(one for one in found if isinstance(one, KnownJob))
    omissions += [one for one in found if isinstance(one, Omission)]
    return Facts(source=str(path), jobs=jobs, omissions=tuple(omissions))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One entry of the list: a job, or a part of a heterogeneous one."""

    label: str
    of_job: str
    offset: int
    states: tuple[str, ...]
    reason: str
    nodes: str
    start_ns: int | None


def _part(job: object) -> _Part | None:
    if not isinstance(job, Mapping) or _number(job.get("job_id")) is None:
        return None
    job_id = str(_number(job["job_id"]))
    array, task = _number(_inner(job, "array", "job_id")), _number(_inner(job, "array", "task_id"))
    leader = _number(_inner(job, "het", "job_id"))
    offset = _number(_inner(job, "het", "job_offset"))
    is_task = array not in _UNREAL_IDS and task is not None
    return _Part(
        label=f"job {job_id} ({array}_{task})" if is_task else f"job {job_id}",
        of_job=job_id if leader in _UNREAL_IDS else str(leader),
        offset=offset if isinstance(offset, int) else 0,
        states=_states(job),
        reason=str(job.get("state_reason") or ""),
        nodes=_nodes(job),
        start_ns=_start_ns(job),
    )


def _joined(of_job: str, parts: Sequence[_Part], *, path: Path) -> KnownJob | Omission:
    """Return a job of all its parts, or why it is of no use."""
    seats: dict[Seat, None] = {}
    for part in parts:
        if _RUNNING not in part.states:
            return Omission(what=part.label, why=_state(part))
        try:
            hosts = [Seat(host=host) for host in expand_hostlist(part.nodes)]
        except ValueError as error:
            return Omission(what=part.label, why=f"{path}: nodes = {part.nodes[:80]!r}: {error}")
        if not hosts:
            return Omission(what=part.label, why="it runs, and no nodes are given")
        seats |= dict.fromkeys(hosts)
    return KnownJob(
        job_id=of_job,
        seats=tuple(seats),
        known="hosts",
        place=f"{path}: {parts[0].label}",
        start_ns=parts[0].start_ns,
    )


def _state(part: _Part) -> str:
    reason = f" ({part.reason})" if part.reason not in ("", "None") else ""
    return f"its state is {', '.join(part.states) or 'not told'}{reason}"


def _states(job: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a job's states: one or a list; of sacct, those of now."""
    given = job.get("job_state")
    if given is None:
        given = _mapping(job.get("state")).get("current")
    return (given,) if isinstance(given, str) else tuple(str(state) for state in _listed(given))


def _nodes(job: Mapping[str, Any]) -> str:
    """Return the list of nodes; where it is left blank, that of the resources, which newer versions nest."""
    resources = job.get("job_resources")
    inner = _mapping(resources).get("nodes")
    candidates = (job.get("nodes"), inner, _mapping(inner).get("list"))
    return next((nodes for nodes in candidates if isinstance(nodes, str) and nodes), "")


def _start_ns(job: Mapping[str, Any]) -> int | None:
    given = job.get("start_time")
    if given is None:
        given = _mapping(job.get("time")).get("start")
    start_s = _number(given)
    return start_s * NS_PER_S if isinstance(start_s, int) and 0 < start_s < _LATEST_S else None


def _inner(job: Mapping[str, Any], group: str, key: str) -> object:
    """Return ``array_job_id``, which sacct calls ``array: {job_id}``; the like of ``het``."""
    flat = job.get(f"{group}_{key}")
    return _mapping(job.get(group)).get(key) if flat is None else flat


def _number(given: object) -> int | str | None:
    """Return a number, which newer versions wrap in an object, and None where none is set."""
    if isinstance(given, Mapping):
        given = given.get("number") if given.get("set", True) and not given.get("infinite") else None
    return given if _is_id(given) else None


def _is_id(given: object) -> TypeGuard[int | str]:
    """Return whether a value may be a number or a name."""
    if isinstance(given, str):
        return 0 < len(given) <= _MAX_ID
    return isinstance(given, int) and not isinstance(given, bool)


def _complaint(error: object) -> str:
    parts = (_mapping(error).get(key) for key in ("description", "error", "source"))
    return ": ".join(str(part) for part in parts if part)[:200] or str(error)[:200]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> Iterator[object]:
    yield from value if isinstance(value, list) else ()
