"""`LinkNetwork`: the jobs and links of one component on one clock, and what given shifts cost on all links together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from pipeline.shifts.bound_link import bind_link
from pipeline.shifts.clock import clock_of
from pipeline.shifts.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pipeline.affinity import Component
    from pipeline.shifts.bound_link import Binding, BoundLink
    from pipeline.shifts.clock import Clock
    from pipeline.shifts.options import PlanOptions

__all__ = ["LinkNetwork", "network_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkNetwork:
    """Jobs bound by links. Arrays of shifts are int64 in ns, shape (n_jobs,), in the order of ``jobs``.

    Parameters
    ----------
    jobs
        In order of names.
    clock
        Their slots and periods.
    links
        The links, in order of names.
    bindings
        The classes of jobs on them that keep a phase.
    pinned_ns
        Shifts that may not change.
    """

    jobs: tuple[str, ...]
    clock: Clock
    links: tuple[BoundLink, ...]
    bindings: tuple[Binding, ...]
    pinned_ns: Mapping[str, int]

    def tally(self, shifts_ns: NDArray[np.int64]) -> Tally:
        """Return what shifts cost each link."""
        by_job = self.by_job(shifts_ns)
        random = [math.nan if link.score_random is None else link.score_random for link in self.links]
        return Tally(
            weight=np.array([link.weight for link in self.links], dtype=np.float64),
            excess=np.array([link.excess_frac(by_job) for link in self.links], dtype=np.float64),
            bound=np.array([link.bound_frac for link in self.links], dtype=np.float64),
            score_random=np.array(random, dtype=np.float64),
        )

    @property
    def unshifted_ns(self) -> NDArray[np.int64]:
        """Shifts of nobody but those that are pinned."""
        return np.array([self.pinned_ns.get(job, 0) for job in self.jobs], dtype=np.int64)

    def by_job(self, shifts_ns: NDArray[np.int64]) -> dict[str, int]:
        """Return shifts by the names of their jobs."""
        return dict(zip(self.jobs, shifts_ns.tolist(), strict=True))

    def parts(self) -> list[list[int]]:
        """Return the jobs, by index, that keep a phase on some link; no shift in one part matters to another."""
        graph = nx.Graph()
        graph.add_nodes_from(range(len(self.jobs)))
        place = {job: i for i, job in enumerate(self.jobs)}
        for link in self.links:
            for tied in link.ties:
                nx.add_path(graph, [place[job] for job in tied])
        return sorted(sorted(part) for part in nx.connected_components(graph))

    def canonical(self, shifts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same plan with the first job of each part at 0; a part with a pinned job stays where it is."""
        turned_ns = shifts_ns.copy()
        period_ns = np.array([self.clock.period_ns[job] for job in self.jobs], dtype=np.int64)
        for part in self.parts():
            if not any(self.jobs[i] in self.pinned_ns for i in part):
                turned_ns[part] = (shifts_ns[part] - shifts_ns[part[0]]) % period_ns[part]
        return turned_ns


def network_of(component: Component, *, options: PlanOptions, rng: np.random.Generator) -> LinkNetwork:
    """Lay out the jobs of a component on one clock, with what is known of each of its links alone."""
    clock = clock_of(component)
    links = tuple(bind_link(link, clock=clock, options=options, rng=rng) for link in component.links)
    return LinkNetwork(
        jobs=component.jobs,
        clock=clock,
        links=links,
        bindings=tuple(binding for link in links for binding in link.bindings()),
        pinned_ns={
            job: at_ns
            for job, period_ns in clock.period_ns.items()
            if (at_ns := options.pinned_ns(job, period_ns=period_ns)) is not None
        },
    )
