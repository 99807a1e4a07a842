"""`Sockets`: the ends of links at each node, and whether the links there are up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pipeline.topology.hostnames import HostNames

if TYPE_CHECKING:
    from pipeline.topology.cluster import Link
    from pipeline.topology.facts import Seat

__all__ = ["Sockets"]

_SWITCH_TIERS: Final = frozenset({"leaf", "spine"})
MAX_SHOWN: Final = 8
"""A message lists so many ends of a host."""


class Sockets:
    """Where jobs can be plugged in.

    Parameters
    ----------
    links
        All cables.
    aliases
        A host's name by each other name.
    """

    def __init__(self, links: Sequence[Link], *, aliases: Mapping[str, str]) -> None:
        self._ends: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        self._switches: set[str] = set()
        for link in links:
            for end in (link.a, link.b):
                node, _, interface = end.partition(":")
                self._ends[node][interface] = link.state != "down"
                if link.tier in _SWITCH_TIERS:
                    self._switches.add(node)
        self._names = HostNames(self._ends, aliases=aliases)

    def knows(self, host: str) -> bool:
        """Return whether a host is among the links."""
        return self._names.knows(host)

    def node(self, host: str) -> str:
        """Return the node that a host is among the links; a LookupError says why none is."""
        node = self._names.find(host)
        if node in self._switches:
            raise LookupError(f"its host {node} is a switch, through which others send")
        return node

    def interfaces(self, node: str) -> dict[str, bool]:
        """Return the interfaces of a node, ``device`` or ``device/port``, and whether the link of each is up."""
        return self._ends[node]

    def interface(self, seat: Seat) -> str:
        """Return the one interface of a rank.

        Raises
        ------
        LookupError
            If none or several fit, or its link is down.
        """
        of_node = self._ends[seat.host]
        fitting = [interface for interface in of_node if _fits(interface, seat)]
        if len(fitting) != 1:
            shown = ", ".join(f"{seat.host}:{interface}" for interface in list(of_node)[:MAX_SHOWN])
            more = ", …" if len(of_node) > MAX_SHOWN else ""
            remedy = "name the device and port of one" if fitting else "correct the rank, or add its link"
            raise LookupError(f"{seat} is the end of {len(fitting)} links, not one (there are {shown}{more}); {remedy}")
        if not of_node[fitting[0]]:
            raise LookupError(f"the link at {seat.host}:{fitting[0]} is down")
        return fitting[0]


def _fits(interface: str, seat: Seat) -> bool:
    device, _, port = interface.partition("/")
    return seat.device in ("", device) and seat.port in ("", port)
