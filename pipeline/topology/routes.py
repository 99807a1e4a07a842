"""`route_rings` and `Router`: the links that all-reduce rings take, with equal shares among equal paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

import networkx as nx

from pipeline.topology.cluster import Direction, Link, Path, Placement
from profiler.errors import BadInput

__all__ = ["Router", "route", "route_rings"]

_HOST_TIER: Final = "host"


def route_rings(links: Sequence[Link], placements: Sequence[Placement]) -> tuple[Path, ...]:
    """Send every job's all-reduce ring over the network, and add up its load on each direction of each link.

    Rank r sends to rank r + 1 mod n what one rank transmits; ranks on one host speak without the network.

    Parameters
    ----------
    links
        All cables. Hosts pass no traffic on; switches do.
    placements
        Ranks of every job, in order of job and rank.

    Returns
    -------
    tuple of Path
        In order of job, link and direction, where the load is not zero.

    Raises
    ------
    BadInput
        If two neighbours of a ring cannot reach each other.

    Notes
    -----
    Equal-cost multi-path as switches do it: at each hop, traffic divides equally among all links that lie on a
    shortest path (RFC 2992 hashes flows so; a share is the mean over many flows). One breadth-first search a
    destination, then time proportional to the links on the shortest paths.
    """
    return route(links, [list(ranks) for _, ranks in groupby(placements, key=lambda placement: placement.job_id)])


def route(links: Sequence[Link], rings: Sequence[Sequence[Placement]]) -> tuple[Path, ...]:
    """Send rings over the network as `route_rings` does, where a job may have several, such as one a rail."""
    router = Router(links, hosts={placement.host for ring in rings for placement in ring})
    load_frac: defaultdict[tuple[str, str, Direction], float] = defaultdict(float)
    for ring in rings:
        for (link_id, direction), share in router.ring_load(ring).items():
            load_frac[ring[0].job_id, link_id, direction] += share
    return tuple(
        Path(job_id=job_id, link_id=link_id, direction=direction, weight_frac=weight_frac)
        for (job_id, link_id, direction), weight_frac in sorted(load_frac.items())
    )


class Router:
    """Routes rings over one network, of which it remembers every pair of ports.

    A switch is one vertex, each port of a host a vertex of its own.

    Parameters
    ----------
    links
        All cables.
    hosts
        Nodes on which a rank may stand; they pass no traffic on.
    """

    def __init__(self, links: Sequence[Link], *, hosts: set[str]) -> None:
        leaves = hosts | _idle_hosts(links)
        self._graph = nx.MultiGraph()
        for link in links:
            a, b = (end if _node(end) in leaves else _node(end) for end in (link.a, link.b))
            self._graph.add_edge(a, b, key=link.link_id, a=a)
        self._hops_to: dict[str, Mapping[str, int]] = {}
        self._shares: dict[tuple[str, str], Mapping[tuple[str, Direction], float]] = {}

    def ring_load(self, ring: Sequence[Placement]) -> dict[tuple[str, Direction], float]:
        """Return the load of one job's ring on each link and direction, in units of one rank's transmit rate.

        Parameters
        ----------
        ring
            The job's ranks, in order.

        Raises
        ------
        BadInput
            If two neighbours of the ring cannot reach each other.
        """
        load_frac: defaultdict[tuple[str, Direction], float] = defaultdict(float)
        for sender, receiver in zip(ring, [*ring[1:], *ring[:1]], strict=True):
            if sender.host == receiver.host:
                continue
            pair = (sender.end, receiver.end)
            try:
                shares = self._shares[pair] if pair in self._shares else self._route(*pair)
            except nx.NetworkXNoPath:
                raise BadInput(
                    f"job {sender.job_id!r}: no links lead from {sender.end} to {receiver.end}; add those between them"
                ) from None
            self._shares[pair] = shares
            for place, share in shares.items():
                load_frac[place] += share
        return dict(load_frac)

    def _route(self, source: str, target: str) -> dict[tuple[str, Direction], float]:
        """Return the share of a flow on each direction of each link between two hosts' ports."""
        if target not in self._hops_to:
            self._hops_to[target] = nx.single_source_shortest_path_length(self._graph, target)
        hops_to = self._hops_to[target]
        if source not in hops_to:
            raise nx.NetworkXNoPath
        shares: defaultdict[tuple[str, Direction], float] = defaultdict(float)
        here = {source: 1.0}
        for hops_left in range(hops_to[source], 0, -1):
            there: defaultdict[str, float] = defaultdict(float)
            for vertex, share in here.items():
                onward = [edge for edge in self._edges(vertex) if hops_to.get(edge[0]) == hops_left - 1]
                for neighbour, link_id, direction in onward:
                    shares[link_id, direction] += share / len(onward)
                    there[neighbour] += share / len(onward)
            here = there
        return shares

    def _edges(self, vertex: str) -> Iterable[tuple[str, str, Direction]]:
        for _, neighbour, link_id, a in self._graph.edges(vertex, keys=True, data="a"):
            yield neighbour, link_id, "forward" if a == vertex else "backward"


def _idle_hosts(links: Sequence[Link]) -> set[str]:
    """Return nodes with host links alone, next to a node with other links too: hosts on which no job runs."""
    tiers: defaultdict[str, set[str | None]] = defaultdict(set)
    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    for link in links:
        a, b = _node(link.a), _node(link.b)
        tiers[a].add(link.tier)
        tiers[b].add(link.tier)
        neighbours[a].add(b)
        neighbours[b].add(a)
    edge = {node for node, seen in tiers.items() if seen == {_HOST_TIER}}
    return {node for node in edge if neighbours[node] - edge}


def _node(end: str) -> str:
    return end.partition(":")[0]
