"""`own_links`, `is_own`: a link for each port where nobody knows the cables, enough to ask which jobs meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.topology.cluster import Link

if TYPE_CHECKING:
    from pipeline.discover.result import Discovery, Member

__all__ = ["BEYOND", "is_own", "own_links"]

BEYOND: Final = "beyond "
MOST_OF_HOST: Final = 16
"""A host has no more ports than this; a switch has."""


def own_links(found: Discovery, *, capacity_bps: float) -> tuple[Link, ...]:
    """Return a link for each port that carries a job, all of one capacity; what is beyond it is named after the port.

    Notes
    -----
    A node is taken for a switch if ports of its carry parts of jobs, or two jobs have ports of their own on it, or it
    has more ports than a host; the hosts are then beyond its ports. Else it is a host, and the switch is beyond.
    """
    ends: dict[str, Member] = {}
    is_shared: dict[str, bool] = {}
    for job in found.jobs:
        for member in job.members:
            end = f"{member.host}:{_device(member)}"
            ends.setdefault(end, member)
            is_shared[end] = is_shared.get(end, False) or member.role == "uplink"
    switches = _switches(found)
    return tuple(
        Link(
            link_id=f"{member.host} {_device(member)}",
            a=end,
            b=_beyond(member, is_switch=member.host in switches),
            capacity_bps=capacity_bps,
            tier="leaf" if is_shared[end] and member.host in switches else "host",
        )
        for end, member in sorted(ends.items())
    )


def is_own(link: Link) -> bool:
    """Return whether `own_links` made a link."""
    return link.b.startswith(BEYOND)


def _beyond(member: Member, *, is_switch: bool) -> str:
    """Return the far end: a host of its own beyond each port of a switch, one switch beyond the ports of a host."""
    device = _device(member)
    if not is_switch:
        return f"{BEYOND}{member.host}:{device}"
    # A node's name ends at the first colon of an end.
    return f"{BEYOND}{member.host} {device.replace(':', '.')}:port"


def _switches(found: Discovery) -> set[str]:
    jobs: dict[str, set[str]] = {}
    ports: dict[str, set[str]] = {}
    shared: set[str] = set()
    for job in found.jobs:
        for member in job.members:
            ports.setdefault(member.host, set()).add(_device(member))
            if member.role == "uplink":
                shared.add(member.host)
            else:
                jobs.setdefault(member.host, set()).add(job.job)
    several = {host for host, of_host in jobs.items() if len(of_host) > 1}
    return shared | several | {host for host, of_host in ports.items() if len(of_host) > MOST_OF_HOST}


def _device(member: Member) -> str:
    return f"{member.device}/{member.port}" if member.port else member.device
