"""`route_rings` and `Router`: the links that jobs' traffic takes, with equal shares among equal paths."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import networkx as nx

from pipeline.topology.cluster import Direction, Link, Path, Pattern, Placement
from pipeline.topology.patterns import exchanges
from profiler.errors import BadInput

__all__ = ["Load", "Router", "paths_of", "route_rings"]

Load = dict[tuple[str, Direction], float]
"""On each link and direction, in units of one rank's transmit rate."""

_HOST_TIER: Final = "host"
_ADAPTER: Final = re.compile(r"(?:mlx[45]|bnxt_re|irdma|hfi1|qedr|efa|erdma|mana)_|HCA-\d|(?:roce|rdma|ib)[a-z]*\d")
"""How RDMA devices are called, by their drivers or by their places (rdma-core, `kernel-boot/rdma_rename.c`)."""


def route_rings(links: Sequence[Link], placements: Sequence[Placement]) -> tuple[Path, ...]:
    """Send every job's all-reduce ring over the network, and add up its load on each direction of each link.

    Rank r sends to rank r + 1 mod n what one rank transmits; ranks on one host speak without the network.

    Parameters
    ----------
    links
        All cables; those that are down carry nothing. Hosts pass no traffic on; switches do.
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
    """
    router = Router(links, hosts={placement.host for placement in placements})
    rings = [(job, list(ranks)) for job, ranks in groupby(placements, key=lambda placement: placement.job_id)]
    return tuple(path for job, ring in sorted(rings) for path in paths_of(job, router.ring_load(ring)))


def paths_of(job_id: str, load: Load) -> list[Path]:
    """Return a job's load as rows, in order of link and direction."""
    return [
        Path(job_id=job_id, link_id=link_id, direction=direction, weight_frac=weight_frac)
        for (link_id, direction), weight_frac in sorted(load.items())
    ]


@dataclass(frozen=True, slots=True)
class _Plug:
    """Where a host's port leads: its cable, which way along it leads out, and the vertex at the far end."""

    link_id: str
    out: Direction
    far: str

    @property
    def into(self) -> Direction:
        return "backward" if self.out == "forward" else "forward"


class Router:
    """Routes jobs over one network, of which it remembers every pair of switches.

    A switch is one vertex, each port of a host a vertex of its own, on one cable.

    Parameters
    ----------
    links
        All cables.
    hosts
        Nodes on which a rank may stand; they pass no traffic on.

    Notes
    -----
    Equal-cost multi-path as switches do it: at each hop, traffic divides equally among all links that lie on a
    shortest path (RFC 2992 hashes flows so; a share is the mean over many flows), whatever their capacities. One
    breadth-first search a switch that faces ranks, then time proportional to the links on the shortest paths.
    """

    def __init__(self, links: Sequence[Link], *, hosts: set[str]) -> None:
        leaves = hosts | _idle_hosts(links)
        self._graph = nx.MultiGraph()
        self._plugs: dict[str, _Plug] = {}
        for link in links:
            if link.state == "down":
                continue
            a, b = (end if _node(end) in leaves else _node(end) for end in (link.a, link.b))
            if a == link.a:
                self._plugs[a] = _Plug(link.link_id, "forward", b)
            if b == link.b:
                self._plugs[b] = _Plug(link.link_id, "backward", a)
            if a != link.a and b != link.b:
                self._graph.add_edge(a, b, key=link.link_id, a=a)
        self._edges = {vertex: list(self._edges_of(vertex)) for vertex in self._graph}
        self._hops_to: dict[str, Mapping[str, int]] = {}
        self._shares: dict[tuple[str, str], Load | None] = {}

    def ring_load(self, ring: Sequence[Placement]) -> Load:
        """Return the load of one ring of ranks, in order; see `group_load`."""
        return self.group_load(ring, "ring")

    def group_load(self, ranks: Sequence[Placement], pattern: Pattern) -> Load:
        """Return the load of ranks of a job that speak among themselves.

        Parameters
        ----------
        ranks
            In order.
        pattern
            Who speaks to whom.

        Raises
        ------
        BadInput
            If two that speak to each other cannot reach each other.
        """
        load_frac: defaultdict[tuple[str, Direction], float] = defaultdict(float)
        between: defaultdict[tuple[str, str], float] = defaultdict(float)
        for sender, receiver, share in exchanges(ranks, pattern):
            here, there = self._plugs.get(sender.end), self._plugs.get(receiver.end)
            if here is None or there is None or not self._meet(here, there, target=receiver.end):
                raise BadInput(
                    f"job {sender.job_id!r}: no links lead from {sender.end} to {receiver.end}; add those between them"
                )
            load_frac[here.link_id, here.out] += share
            if here.link_id != there.link_id:
                load_frac[there.link_id, there.into] += share
                between[here.far, there.far] += share
        for pair, share in between.items():
            for place, part in (self._shares[pair] or {}).items():
                load_frac[place] += share * part
        return dict(load_frac)

    def _meet(self, here: _Plug, there: _Plug, *, target: str) -> bool:
        """Return whether a way leads from one port to another, and remember its shares."""
        if here.link_id == there.link_id:
            return here.far == target
        pair = (here.far, there.far)
        if pair not in self._shares:
            self._shares[pair] = self._route(*pair)
        return self._shares[pair] is not None

    def _route(self, source: str, target: str) -> Load | None:
        """Return the share of a flow on each direction of each link between two switches; None if there is no way."""
        if source == target:
            return None if source in self._plugs else {}
        if target not in self._hops_to:
            is_there = target in self._graph
            self._hops_to[target] = nx.single_source_shortest_path_length(self._graph, target) if is_there else {}
        hops_to = self._hops_to[target]
        if source not in hops_to:
            return None
        shares: defaultdict[tuple[str, Direction], float] = defaultdict(float)
        here = {source: 1.0}
        for hops_left in range(hops_to[source], 0, -1):
            there: defaultdict[str, float] = defaultdict(float)
            for vertex, share in here.items():
                onward = [edge for edge in self._edges[vertex] if hops_to.get(edge[0]) == hops_left - 1]
                for neighbour, link_id, direction in onward:
                    shares[link_id, direction] += share / len(onward)
                    there[neighbour] += share / len(onward)
            here = there
        return dict(shares)

    def _edges_of(self, vertex: str) -> Iterable[tuple[str, str, Direction]]:
        for _, neighbour, link_id, a in self._graph.edges(vertex, keys=True, data="a"):
            yield neighbour, link_id, "forward" if a == vertex else "backward"


def _idle_hosts(links: Sequence[Link]) -> set[str]:
    """Return nodes with host links alone, next to a node with other links too: hosts on which no job runs.

    A link that tells no tier is of a host where its end is named as an RDMA device, which no switch has.
    """
    is_host: defaultdict[str, list[bool]] = defaultdict(list)
    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    for link in links:
        for end, far in ((link.a, link.b), (link.b, link.a)):
            is_adapter = link.tier is None and _ADAPTER.match(end.partition(":")[2]) is not None
            is_host[_node(end)].append(link.tier == _HOST_TIER or is_adapter)
            neighbours[_node(end)].add(_node(far))
    edge = {node for node, seen in is_host.items() if all(seen)}
    return {node for node in edge if neighbours[node] - edge}


def _node(end: str) -> str:
    return end.partition(":")[0]
