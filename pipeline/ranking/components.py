"""`Components`: links that hang together through the jobs on them, judged as one; what comes again is remembered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import networkx as nx

from pipeline.ranking.fits import Fits
from pipeline.ranking.settlement import settle
from pipeline.ranking.slowdown import Slowdown, predict_slowdown
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.deadline import Deadline
    from pipeline.ranking.fits import Crossing, Fit
    from pipeline.ranking.senders import Sender

__all__ = ["Component", "Components"]

_Problem = tuple[tuple[tuple[str, float], ...], float, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Some crossings and how their jobs fare.

    Parameters
    ----------
    crossings
        The links.
    scores
        Score of each at the shifts.
    own_scores
        Score of each at the best shifts that were found for it.
    shifts_s
        One shift for each periodic job that may be in another's way.
    slowdown
        What these jobs lose.
    """

    crossings: tuple[Crossing, ...]
    scores: tuple[float, ...]
    own_scores: tuple[float, ...]
    shifts_s: Mapping[str, float] = field(default_factory=dict)
    slowdown: Slowdown = field(default_factory=Slowdown)


class Components:
    """The components of any crossings of some jobs.

    Parameters
    ----------
    senders
        What each job sends.
    deadline
        When to hurry: what is found afterwards is no more than a beginning.
    """

    def __init__(self, senders: Mapping[str, Sender], *, deadline: Deadline) -> None:
        self._senders = senders
        self._deadline = deadline
        self._fits = Fits(senders, deadline=deadline)
        self._known: dict[tuple[_Problem, ...], Component] = {}

    def of(self, crossings: Sequence[Crossing]) -> Iterator[Component]:
        """Yield components that together hold every crossing once."""
        crossings = sorted(crossings, key=_problem)
        fits = [self._fits.fit(crossing) for crossing in crossings]
        for places in _connected(fits):
            own = tuple(crossings[i] for i in places)
            problem = tuple(map(_problem, own))
            if problem not in self._known:
                self._known[problem] = self._judged(own, [fits[i] for i in places])
            yield replace(self._known[problem], crossings=own)

    def _judged(self, crossings: tuple[Crossing, ...], fits: Sequence[Fit]) -> Component:
        own_scores = tuple(1 - fit.excess_bps / fit.excess.capacity_bps for fit in fits)
        if not any(fit.binds for fit in fits):
            return Component(crossings=crossings, scores=own_scores, own_scores=own_scores)
        settled = settle(crossings, fits, senders=self._senders, deadline=self._deadline)
        shifts_s = {job: shift_ns / NS_PER_S for job, shift_ns in settled.shifts_ns.items()}
        scores = tuple(
            1 - excess_bps / fit.excess.capacity_bps for excess_bps, fit in zip(settled.excess_bps, fits, strict=True)
        )
        return Component(
            crossings=crossings,
            scores=scores,
            own_scores=tuple(map(max, own_scores, scores)),
            shifts_s=shifts_s,
            slowdown=self._slowdown(crossings, shifts_s),
        )

    def _slowdown(self, crossings: Sequence[Crossing], shifts_s: Mapping[str, float]) -> Slowdown:
        if self._deadline.is_over():
            return Slowdown(reason="no time was left to simulate")
        return predict_slowdown(crossings, shifts_s=shifts_s, senders=self._senders)


def _problem(crossing: Crossing) -> _Problem:
    """Return what of a crossing matters to its jobs: not which links it is of."""
    return crossing.load_frac, crossing.capacity_bps, len(crossing.places)


def _connected(fits: Sequence[Fit]) -> list[list[int]]:
    """Return the places of fits that share periodic jobs; a fit that binds nobody is alone."""
    graph = nx.Graph()
    for i, fit in enumerate(fits):
        graph.add_node(i)
        if fit.binds:
            graph.add_edges_from((i, job) for job in fit.jobs)
    return [sorted(node for node in nodes if isinstance(node, int)) for nodes in nx.connected_components(graph)]
