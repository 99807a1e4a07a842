"""`Candidate`: a placement that a scheduler considers, checked; every complaint names candidate, job and value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from profiler.errors import BadInput

__all__ = ["Candidate", "check_candidates"]

_KEYS: Final = ("id", "jobs")
_RANK_KEYS: Final = ("host", "device", "port")

MAX_SHOWN: Final = 40
"""A message shows so many characters of a wrong value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A placement of jobs that are new or would be moved; all others stay where they are.

    Parameters
    ----------
    id
        Name of the candidate.
    jobs
        Where each job's ranks would stand, in ring order: ``host``, ``host:device`` or ``host:device/port``. The device
        is needed where a host has several.
    """

    id: str
    jobs: Mapping[str, Sequence[str]]

    @classmethod
    def from_dict(cls, document: Any, *, place: str) -> Self:  # noqa: ANN401 - whatever JSON has
        """Make a candidate from ``{"id": …, "jobs": {job: [host, …]}}``.

        Parameters
        ----------
        document
            As read from JSON. A host is a text or ``{"host": …, "device": …, "port": …}``.
        place
            Where the document stands, for messages.

        Raises
        ------
        BadInput
            If a key is missing or unknown, or a value is not what it should be.

        Examples
        --------
        >>> Candidate.from_dict({"id": "left", "jobs": {"A": ["h1", {"host": "h2"}]}}, place="candidate 1").jobs
        {'A': ('h1', 'h2')}
        """
        if not isinstance(document, Mapping):
            raise BadInput(f'{place}: {_shown(document)}: expected {{"id": …, "jobs": {{job: [host, …]}}}}')
        _check_keys(document, known=_KEYS, place=place)
        name = document.get("id")
        if not isinstance(name, str) or not name:
            raise BadInput(f"{place}: id is {_shown(name)}; give each candidate a text of its own")
        place = f"{place} ({_shown(name)})"
        jobs = document.get("jobs")
        if not isinstance(jobs, Mapping) or not jobs:
            raise BadInput(f"{place}: jobs is {_shown(jobs)}; give the hosts of each job that is new or moved")
        for job in jobs:
            if not isinstance(job, str) or not job:
                raise BadInput(f"{place}: job {_shown(job)}: give each job its name, a text")
        return cls(
            id=name, jobs={job: _hosts(hosts, place=f"{place}: job {_shown(job)}") for job, hosts in jobs.items()}
        )


def check_candidates(candidates: Iterable[Any], *, place: str) -> list[Candidate]:
    """Return candidates given as such or as JSON-like dicts.

    Parameters
    ----------
    candidates
        In the caller's order, which decides between equal ones.
    place
        Where they come from, for messages.

    Raises
    ------
    BadInput
        If there is none, two have one id, or one is not what it should be.
    """
    checked: dict[str, Candidate] = {}
    for i, given in enumerate(candidates, start=1):
        where = f"{place}: candidate {i}"
        document = {"id": given.id, "jobs": given.jobs} if isinstance(given, Candidate) else given
        candidate = Candidate.from_dict(document, place=where)
        if candidate.id in checked:
            raise BadInput(f"{where}: id {candidate.id!r} is given twice; give each candidate an id of its own")
        checked[candidate.id] = candidate
    if not checked:
        raise BadInput(f"{place}: no candidate; give at least one placement to judge")
    return list(checked.values())


def _hosts(hosts: Any, *, place: str) -> tuple[str, ...]:  # noqa: ANN401 - whatever JSON has
    if isinstance(hosts, str) or not isinstance(hosts, Sequence) or not hosts:
        raise BadInput(f'{place}: hosts are {_shown(hosts)}; give a list with one host a rank, such as ["h1", "h2"]')
    return tuple(_host(host, place=f"{place}: host {i}") for i, host in enumerate(hosts, start=1))


def _host(host: Any, *, place: str) -> str:  # noqa: ANN401 - whatever JSON has
    if isinstance(host, str) and host:
        return host
    if not isinstance(host, Mapping):
        raise BadInput(f'{place} is {_shown(host)}; give its name, or {{"host": …, "device": …}}')
    _check_keys(host, known=_RANK_KEYS, place=place)
    node, device, port = (host.get(key, "") for key in _RANK_KEYS)
    for key, value in zip(_RANK_KEYS, (node, device, port), strict=True):
        if not isinstance(value, str) or (key == "host" and not value):
            raise BadInput(f"{place}: {key} is {_shown(value)}; give its name")
    if port and not device:
        raise BadInput(f"{place}: port {port!r} has no device; give the device too")
    return f"{node}:{device}/{port}" if port else f"{node}:{device}" if device else node


def _check_keys(values: Mapping[str, Any], *, known: Sequence[str], place: str) -> None:
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected {', '.join(known)}"
            raise BadInput(f"{place}: unknown key {_shown(key)}; {hint}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
