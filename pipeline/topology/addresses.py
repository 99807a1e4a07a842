"""`place_addresses`: which host, and port where it is known, each address that captures may show is."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pipeline.topology.cluster import Address, Omission
from pipeline.topology.facts import KnownAddress, Seat

if TYPE_CHECKING:
    from pipeline.topology.facts import Facts
    from pipeline.topology.sockets import Sockets

__all__ = ["place_addresses", "read_address"]

_LID: Final = re.compile(r"lid [0-9]{1,5}")


def read_address(text: str) -> str | None:
    """Return an address as captures write it: a GID of RoCEv2 over IPv4 is that IPv4 address; None if it is none.

    Examples
    --------
    >>> read_address("0000:0000:0000:0000:0000:ffff:0a00:0101")
    '10.0.1.1'
    """
    if _LID.fullmatch(text):
        return text
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def place_addresses(
    parts: Sequence[Facts], sockets: Sockets, *, aliases: Mapping[str, str]
) -> tuple[tuple[Address, ...], list[Omission]]:
    """Return every address, and those that cannot be placed, with the reason.

    Parameters
    ----------
    parts
        What files know; of two that contradict each other, the one given first is believed.
    sockets
        The ends of links.
    aliases
        A host's name by each other name; those that are addresses count as such.
    """
    placed: dict[str, Address] = {}
    omissions = []
    for known in (*(known for part in parts for known in part.addresses), *_called(aliases)):
        try:
            found = _placed(known, sockets)
        except LookupError as error:
            omissions.append(Omission(what=f"address {known.address}", why=f"{error.args[0]}; see {known.place}"))
            continue
        other = placed.setdefault(known.address, found)
        if other.host != found.host or (found.device is not None and found != other):
            why = f"it is of {other.host}:{other.device or '*'} already, not {known.seat}; see {known.place}"
            omissions.append(Omission(what=f"address {known.address}", why=why))
    return tuple(placed[address] for address in sorted(placed)), omissions


def _called(aliases: Mapping[str, str]) -> Iterator[KnownAddress]:
    for alias, host in aliases.items():
        if address := read_address(alias):
            yield KnownAddress(address=address, seat=Seat(host=host), place=f"alias {alias}")


def _placed(known: KnownAddress, sockets: Sockets) -> Address:
    """Return where an address is; of a host with one interface, there.

    Raises
    ------
    LookupError
        If no link ends at its host, or at the device that was named.
    """
    host = sockets.node(known.seat.host)
    interfaces = list(sockets.interfaces(host))
    if known.seat.device:
        ends = [end for end in interfaces if end.partition("/")[0] == known.seat.device]
        ends = [end for end in ends if known.seat.port in ("", end.partition("/")[2])]
        if len(ends) != 1:
            raise LookupError(f"{known.seat} is the end of {len(ends)} links, not one")
    else:
        ends = interfaces if len(interfaces) == 1 else []
    device, _, port = ends[0].partition("/") if ends else (None, "", None)
    return Address(address=known.address, host=host, device=device, port=port)
