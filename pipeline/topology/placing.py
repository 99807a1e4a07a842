"""`place_job`: from where a file says a job runs to the ports at which its ranks enter the network."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.topology.cluster import Omission, Placement
from pipeline.topology.rails import natural, rails_of

if TYPE_CHECKING:
    from pipeline.topology.facts import KnownJob, Seat
    from pipeline.topology.sockets import Sockets

__all__ = ["PlacedJob", "place_job"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedJob:
    """A job and its ranks, in groups that speak among themselves: all of them, or those of each rail.

    ``omissions`` are what of the job could not be used.
    """

    job: KnownJob
    groups: tuple[tuple[Placement, ...], ...]
    omissions: tuple[Omission, ...] = ()

    @property
    def ranks(self) -> tuple[Placement, ...]:
        """All ranks of the job, group after group."""
        return tuple(rank for group in self.groups for rank in group)


def place_job(job: KnownJob, sockets: Sockets) -> PlacedJob | Omission:
    """Return the ranks of a job, or why it cannot be placed.

    Of a job of which the hosts alone are known, a rank is put on each adapter that all hosts have: those of one adapter
    (a rail) follow each other, in order of the hosts, and speak among themselves, since collectives keep to rails [1]_.

    References
    ----------
    .. [1] W. Wang et al., "Rail-only: A low-cost high-performance network for training LLMs", HOTI 2024.
    """
    try:
        seats = _found(job, sockets)
        if job.known == "ranks":
            return _ranked(job, seats, sockets)
        return _railed(job, seats, sockets)
    except LookupError as error:
        return Omission(what=f"job {job.job_id}", why=f"{error.args[0]}; see {job.place}")


def _found(job: KnownJob, sockets: Sockets) -> list[Seat]:
    """Return the seats of a job, with their hosts named as among the links; a LookupError tells of those not there."""
    hosts = list(dict.fromkeys(seat.host for seat in job.seats))
    lost = [host for host in hosts if not sockets.knows(host)]
    try:
        nodes = {host: sockets.node(host) for host in lost or hosts}
    except LookupError as error:
        others = f", nor can {len(lost) - 1} more of its {len(hosts)} be found" if len(lost) > 1 else ""
        raise LookupError(f"{error.args[0]}{others}") from None
    return [replace(seat, host=nodes[seat.host]) for seat in job.seats]


def _ranked(job: KnownJob, seats: Sequence[Seat], sockets: Sockets) -> PlacedJob:
    ranks = tuple(
        _placement(job, rank, host=seat.host, interface=sockets.interface(seat)) for rank, seat in enumerate(seats)
    )
    return PlacedJob(job=job, groups=(ranks,))


def _railed(job: KnownJob, seats: Sequence[Seat], sockets: Sockets) -> PlacedJob:
    """Place a job on the adapters that its hosts have in common.

    Raises
    ------
    LookupError
        If it has but one host, or its hosts have no adapter in common.
    """
    hosts = list(dict.fromkeys(seat.host for seat in seats))
    if len(hosts) == 1:
        raise LookupError(f"it runs on one host, {hosts[0]}, and sends nothing over links")
    usable = {host: _usable(host, _devices(seats, host), sockets) for host in hosts}
    rails = rails_of(usable)
    groups = tuple(
        tuple(
            _placement(job, i_rail * len(hosts) + i_host, host=host, interface=rail[host])
            for i_host, host in enumerate(hosts)
        )
        for i_rail, rail in enumerate(rails)
    )
    return PlacedJob(job=job, groups=groups, omissions=(*_unknown(job, seats, sockets), *_left_out(job, usable, rails)))


def _devices(seats: Sequence[Seat], host: str) -> set[str]:
    return {seat.device for seat in seats if seat.host == host and seat.device}


def _usable(host: str, devices: Collection[str], sockets: Sockets) -> list[str]:
    """Return the interfaces of a host that a job may send on: those whose links are up, of its devices if any is known.

    Raises
    ------
    LookupError
        If there is none.
    """
    of_host = sockets.interfaces(host)
    chosen = [interface for interface in of_host if interface.partition("/")[0] in devices]
    usable = [interface for interface in chosen or of_host if of_host[interface]]
    if not usable:
        raise LookupError(f"all links of its host {host} are down")
    return sorted(usable, key=natural)


def _unknown(job: KnownJob, seats: Sequence[Seat], sockets: Sockets) -> Iterator[Omission]:
    """Yield a word on devices that a job was given and that no link knows, such as virtual functions."""
    ends = [
        f"{seat.host}:{seat.device}"
        for seat in seats
        if seat.device
        and not any(interface.partition("/")[0] == seat.device for interface in sockets.interfaces(seat.host))
    ]
    if ends:
        more = f" and {len(ends) - 1} more" if len(ends) > 1 else ""
        why = (
            "no link ends there (a virtual function?); a host none of whose devices is known is taken with all adapters"
        )
        yield Omission(what=f"device {ends[0]}{more} of job {job.job_id}", why=why)


def _left_out(
    job: KnownJob, usable: Mapping[str, Sequence[str]], rails: Sequence[Mapping[str, str]]
) -> Iterator[Omission]:
    """Yield a word on adapters that some hosts of a job have and others have not: it may send there too."""
    lone = [
        f"{host}:{interface}"
        for host, interfaces in usable.items()
        for interface in interfaces
        if not any(rail[host] == interface for rail in rails)
    ]
    if lone:
        more = f" and {len(lone) - 1} more" if len(lone) > 1 else ""
        why = "not all of its hosts have one of this name with a link that is up; no rank is put there"
        yield Omission(what=f"adapter {lone[0]}{more} of job {job.job_id}", why=why)


def _placement(job: KnownJob, rank: int, *, host: str, interface: str) -> Placement:
    device, _, port = interface.partition("/")
    return Placement(job_id=job.job_id, rank=rank, host=host, device=device, port=port)
