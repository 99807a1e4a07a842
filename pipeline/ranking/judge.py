"""`Judge`: scores, shifts and slowdown of one candidate after the other on one cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from pipeline.compat.pacing import lead_of
from pipeline.compat.result import JobShift
from pipeline.ranking.components import Components
from pipeline.ranking.fits import crossings_of
from pipeline.ranking.ports import Ports
from pipeline.ranking.result import RankedCandidate
from pipeline.ranking.senders import senders_of
from pipeline.topology import Router
from profiler.errors import BadInput

if TYPE_CHECKING:
    from pipeline.deadline import Deadline
    from pipeline.ranking.candidate import Candidate
    from pipeline.ranking.components import Component
    from pipeline.ranking.fits import Place
    from pipeline.ranking.ports import Sharing
    from pipeline.topology import Cluster, Placement
    from profiler.phases import TrafficProfile

__all__ = ["Judge"]


class Judge:
    """Judges placements on one cluster, and remembers what comes again.

    Parameters
    ----------
    profiles
        What one rank of each job sends.
    topology
        Links, and where jobs stand.
    hosts
        Every host on which a candidate would put a rank.
    sharing
        Whether jobs may share a port.
    deadline
        When to hurry: what is judged afterwards does not count.

    Raises
    ------
    BadInput
        If the ranks of a standing job cannot reach each other.
    UsageError
        If a profile makes no sense.
    """

    def __init__(
        self,
        *,
        profiles: Mapping[str, TrafficProfile],
        topology: Cluster,
        hosts: Collection[str],
        sharing: Sharing,
        deadline: Deadline,
    ) -> None:
        standing = {placement.host for placement in topology.placements}
        self._capacities_bps = {link.link_id: link.capacity_bps for link in topology.links}
        self._senders = senders_of(profiles)
        self._ports = Ports(topology.links, standing=topology.placements, sharing=sharing)
        self._router = Router(topology.links, hosts=standing | {host for host in hosts if self._ports.has(host)})
        self._components = Components(self._senders, deadline=deadline)
        rings = _standing_rings(topology.placements)
        self._standing = {job: self._router.ring_load(ring) for job, ring in rings.items() if job in self._senders}
        self.warnings = tuple(
            f"job {job} stands, but {problem}" for job in sorted(rings) if (problem := self._problem(job))
        )

    def judge(self, candidate: Candidate) -> RankedCandidate:
        """Return a candidate with its scores, or with the reason why it has none."""
        try:
            loads = self._known_loads({**self._standing, **self._own_loads(candidate)}, own=candidate.jobs.keys())
        except BadInput as error:
            return RankedCandidate(id=candidate.id, reason=str(error))
        crossings = crossings_of(loads, capacities_bps=self._capacities_bps, senders=self._senders)
        components = list(self._components.of(crossings))
        rhythmic = [job for job in loads if self._senders[job].rhythm is not None]
        scores = [pair for one in components for pair in zip(one.crossings, one.scores, strict=True)]
        worst = min(scores, key=lambda pair: (pair[1], pair[0].places), default=None)
        reasons = [one.slowdown.reason for one in components if one.slowdown.reason]
        return RankedCandidate(
            id=candidate.id,
            score_mean=_mean(components, [one.scores for one in components]),
            score_worst=1.0 if worst is None else worst[1],
            score_bound=_mean(components, [one.own_scores for one in components]),
            predicted_slowdown=None if reasons else _mean_slowdown(components, rhythmic),
            slowdowns={job: ratio for one in components for job, ratio in sorted(one.slowdown.by_job.items())},
            shifts=self._shifts(components, own=[job for job in rhythmic if job in candidate.jobs]),
            n_links=sum(len(crossing.places) for crossing, _ in scores),
            worst_link=None if worst is None or worst[1] >= 1 else worst[0].places[0][0],
            reason="; ".join(reasons),
            warnings=self._warnings(candidate),
        )

    def _shifts(self, components: Sequence[Component], *, own: Sequence[str]) -> tuple[JobShift, ...]:
        shifts_s = dict.fromkeys(own, 0.0)
        for one in components:
            shifts_s |= one.shifts_s
        return tuple(
            JobShift(job=job, shift_s=shift_s, lead_s=lead_of(self._senders[job].profile))
            for job, shift_s in sorted(shifts_s.items())
        )

    def _own_loads(self, candidate: Candidate) -> dict[str, Mapping[Place, float]]:
        for job in candidate.jobs:
            if job not in self._senders:
                raise BadInput(f"job {job!r}: no profile of it is given; give one, or record the ports of its hosts")
        return {job: self._router.ring_load(ring) for job, ring in self._ports.rings(candidate.jobs).items()}

    def _known_loads(
        self, loads: Mapping[str, Mapping[Place, float]], *, own: Collection[str]
    ) -> dict[str, Mapping[Place, float]]:
        """Return the loads of jobs of which something is known; raise if a candidate's score hangs on another."""
        unseen = [job for job in loads if not self._senders[job].is_seen]
        touched = set(chain.from_iterable(loads[job] for job in own))
        for job in unseen:
            if not touched.isdisjoint(loads[job]):
                where = "" if job in own else ", and a job of the candidate would share links with it"
                raise BadInput(
                    f"job {job!r}: what it sends is not known ({self._senders[job].profile.status}){where}; give a "
                    "profile of it, or record the ports of its hosts"
                )
        return {job: load for job, load in loads.items() if job not in unseen}

    def _problem(self, job: str) -> str:
        if job not in self._senders:
            return "no profile of it is given: nothing was counted for it"
        if not self._senders[job].is_seen:
            status = self._senders[job].profile.status
            return f"what it sends is not known ({status}): no candidate that would meet it is judged"
        return ""

    def _warnings(self, candidate: Candidate) -> tuple[str, ...]:
        return tuple(
            f"job {job} has no period ({self._senders[job].profile.status}): it takes capacity and gets no shift"
            for job in sorted(candidate.jobs)
            if self._senders[job].rhythm is None and self._senders[job].is_seen
        )


def _standing_rings(placements: Iterable[Placement]) -> dict[str, list[Placement]]:
    """Return the ranks of each job in ring order, in whatever order they are listed."""
    rings: defaultdict[str, list[Placement]] = defaultdict(list)
    for placement in sorted(placements, key=lambda placement: (placement.job_id, placement.rank)):
        rings[placement.job_id].append(placement)
    return dict(rings)


def _mean(components: Sequence[Component], scores: Sequence[Sequence[float]]) -> float:
    """Return the mean score over all links and directions; 1 if there is none."""
    weighted = [
        (len(crossing.places), score)
        for one, own in zip(components, scores, strict=True)
        for crossing, score in zip(one.crossings, own, strict=True)
    ]
    n_links = sum(n_places for n_places, _ in weighted)
    return sum(n_places * score for n_places, score in weighted) / n_links if n_links else 1.0


def _mean_slowdown(components: Sequence[Component], jobs: Sequence[str]) -> float | None:
    """Return the mean over all periodic jobs; one that no contended link can slow runs as if alone."""
    lost = sum(ratio - 1 for one in components for ratio in one.slowdown.by_job.values())
    return 1 + lost / len(jobs) if jobs else None
