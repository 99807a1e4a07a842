"""`Ports`: from the hosts that a candidate names to the ports at which its ranks enter the network; each taken once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from pipeline.topology import Placement
from profiler.errors import BadInput

if TYPE_CHECKING:
    from pipeline.topology import Link

__all__ = ["Ports", "Sharing"]

Sharing = Literal["refused", "allowed"]
"""Whether two jobs may send through one port, as where a host of many GPUs serves several jobs."""

_SWITCH_TIERS: Final = frozenset({"leaf", "spine"})

MAX_SHOWN: Final = 8
"""A message lists so many ports of a host."""


class Ports:
    """The ports of every host of a network.

    Parameters
    ----------
    links
        All cables.
    standing
        The ranks that stand already.
    sharing
        Whether jobs may share a port.
    """

    def __init__(self, links: Sequence[Link], *, standing: Sequence[Placement], sharing: Sharing) -> None:
        self._ends: defaultdict[str, list[str]] = defaultdict(list)
        for link in links:
            for end in (link.a, link.b):
                self._ends[_node(end)].append(end)
        self._switches = _switches(links) - {placement.host for placement in standing}
        self._standing = {placement.end: placement.job_id for placement in standing}
        self._sharing = sharing

    def has(self, host: str) -> bool:
        """Return whether a node of this name can be a host."""
        return host in self._ends and host not in self._switches

    def rings(self, jobs: Mapping[str, Sequence[str]]) -> dict[str, tuple[Placement, ...]]:
        """Return where the ranks of each job of a candidate stand.

        Parameters
        ----------
        jobs
            By job, a host a rank: ``host``, ``host:device`` or ``host:device/port``.

        Raises
        ------
        BadInput
            If a host is not in the network, is a switch, has several ports and none is named, or is taken twice.
        """
        rings = {
            job: tuple(self._placement(job, rank, text=text) for rank, text in enumerate(hosts))
            for job, hosts in jobs.items()
        }
        for ring in rings.values():
            _check_turns(ring)
        if self._sharing == "refused":
            self._check_taken(rings)
        return rings

    def _check_taken(self, rings: Mapping[str, Sequence[Placement]]) -> None:
        taken = {end: job for end, job in self._standing.items() if job not in rings}
        for job, ring in rings.items():
            for end in dict.fromkeys(placement.end for placement in ring):
                other = taken.setdefault(end, job)
                if other != job:
                    where = "stands there" if other not in rings else "is put there too"
                    raise BadInput(
                        f"job {job!r}: {end} is taken: job {other!r} {where}; name a free host, move that job, "
                        "or let jobs share ports"
                    )

    def _placement(self, job: str, rank: int, *, text: str) -> Placement:
        host, _, wanted = text.partition(":")
        of_host = self._ends.get(host)
        if of_host is None:
            raise BadInput(f"job {job!r}: no link ends at host {host!r}; correct its name, or add its links")
        if host in self._switches:
            raise BadInput(f"job {job!r}: {host!r} is a switch, through which other hosts send; name a host")
        fitting = [end for end in of_host if wanted in ("", _interface(end), _interface(end).partition("/")[0])]
        if len(fitting) != 1:
            raise BadInput(f"job {job!r}: {text!r} is the end of {len(fitting)} links, not one; {_choice(of_host)}")
        device, _, port = _interface(fitting[0]).partition("/")
        return Placement(job_id=job, rank=rank, host=host, device=device, port=port)


def _check_turns(ring: Sequence[Placement]) -> None:
    """Raise if a ring leaves a port and comes back to it: its ranks would be listed in no ring order."""
    ends = [placement.end for placement in ring]
    runs = [ends[0], *(after for before, after in pairwise(ends) if after != before)]
    if len(runs) > 1 and runs[0] == runs[-1]:
        runs.pop()
    for end in runs:
        if runs.count(end) > 1:
            raise BadInput(
                f"job {ring[0].job_id!r}: {end} is taken twice, with other hosts between; list the ranks of a host "
                "side by side"
            )


def _switches(links: Sequence[Link]) -> set[str]:
    """Return the nodes with a link between switches, and those that alone connect another node to the rest."""
    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    switches = set()
    for link in links:
        a, b = _node(link.a), _node(link.b)
        neighbours[a].add(b)
        neighbours[b].add(a)
        if link.tier in _SWITCH_TIERS:
            switches |= {a, b}
    stubs = {node for node, near in neighbours.items() if len(near) == 1}
    return switches | {node for node, near in neighbours.items() if len(near) > 1 and near & stubs}


def _choice(ends: Sequence[str]) -> str:
    shown = ", ".join(ends[:MAX_SHOWN]) + (", …" if len(ends) > MAX_SHOWN else "")
    return f"name one of its ports: {shown}"


def _node(end: str) -> str:
    return end.partition(":")[0]


def _interface(end: str) -> str:
    return end.partition(":")[2]
