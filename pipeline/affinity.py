"""`AffinityGraph`: which jobs meet on which links; a job's one shift must suit every link that it crosses.

After CASSINI's affinity graph [1]_: jobs on one side, contended links on the other, an edge where a job's traffic
crosses a link. On a tree every link's best shifts can be had at once; a loop is a set of wishes that may contradict
each other.

References
----------
.. [1] S. Rajasekaran, M. Ghobadi, A. Akella, "CASSINI: Network-Aware Job Scheduling in Machine Learning Clusters",
   NSDI 2024, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import networkx as nx

if TYPE_CHECKING:
    from pipeline.compat.result import Compatibility
    from profiler.phases import TrafficProfile

__all__ = ["AffinityGraph", "Component", "SolvedLink", "affinity_of"]

SHIFTABLE: Final = frozenset({"compatible", "paced"})
"""Verdicts that recommend a shift; links of any other verdict bind nobody."""


class SolvedLink(Protocol):
    """One direction of a link, the demand of each job on it, and how they fit."""

    @property
    def link(self) -> str:
        """Name of the link."""

    @property
    def direction(self) -> str:
        """Direction of the traffic on it."""

    @property
    def capacity_bps(self) -> float:
        """Capacity of the direction."""

    @property
    def demands(self) -> Mapping[str, TrafficProfile]:
        """What each job sends over the link."""

    @property
    def compatibility(self) -> Compatibility:
        """How the jobs fit on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Jobs that are bound to each other through links, in order of their names, and those links."""

    jobs: tuple[str, ...]
    links: tuple[SolvedLink, ...]
    is_tree: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinityGraph:
    """Jobs and the contended links that they cross.

    The nodes of ``graph`` are ``("job", name)`` and ``("link", place)``, ``place`` counting in ``links``.
    """

    links: tuple[SolvedLink, ...]
    graph: nx.Graph

    @property
    def is_tree(self) -> bool:
        """Whether no component has a loop, so that every link's best shifts can be had at once."""
        return self.graph.number_of_nodes() == 0 or bool(nx.is_forest(self.graph))

    def components(self) -> Iterator[Component]:
        """Return the connected parts in order of their first job; no shift in one matters to another."""
        parts = []
        for nodes in nx.connected_components(self.graph):
            jobs = tuple(sorted(name for kind, name in nodes if kind == "job"))
            places = sorted(place for kind, place in nodes if kind == "link")
            is_tree = nx.is_tree(self.graph.subgraph(nodes))
            parts.append(Component(jobs=jobs, links=tuple(self.links[place] for place in places), is_tree=is_tree))
        return iter(sorted(parts, key=lambda part: part.jobs))


def affinity_of(links: Sequence[SolvedLink]) -> AffinityGraph:
    """Return the affinity graph of the links whose verdict recommends a shift, the same in whatever order they come."""
    contended = tuple(sorted((link for link in links if link.compatibility.verdict in SHIFTABLE), key=_in_order))
    graph = nx.Graph()
    for place, link in enumerate(contended):
        for shift in link.compatibility.shifts:
            graph.add_edge(("job", shift.job), ("link", place))
    return AffinityGraph(links=contended, graph=graph)


def _in_order(link: SolvedLink) -> tuple[str, str, float, list[str]]:
    return link.link, link.direction, link.capacity_bps, sorted(link.demands)
