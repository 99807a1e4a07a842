"""`rank`: placement candidates in order of how well their jobs would fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

from pipeline.deadline import Deadline
from pipeline.ranking.candidate import Candidate, check_candidates
from pipeline.ranking.judge import Judge
from pipeline.ranking.ports import Sharing
from pipeline.ranking.result import Criterion, RankedCandidate, Ranking
from profiler.errors import UsageError

if TYPE_CHECKING:
    from pipeline.topology import Cluster
    from profiler.phases import TrafficProfile

__all__ = ["rank"]

TIES: Final[dict[Criterion, float]] = {"mean": 1e-9, "worst": 1e-9, "time": 0.01}
"""Candidates that are worse than the best of their group by no more than this are as good as it: scores are exact but
for rounding, a simulated mean over its period is good to a per cent."""

PERIODS_S: Final = (1e-6, 1e6)
"""Shortest and longest that can be answered on a clock of whole nanoseconds."""


def rank(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    profiles: Mapping[str, TrafficProfile],
    topology: Cluster,
    by: Criterion = "mean",
    sharing: Sharing = "refused",
    budget_s: float | None = None,
) -> Ranking:
    """Rank placements by how well their jobs would share the links.

    Parameters
    ----------
    candidates
        Placements of the jobs that are new or would be moved, as `Candidate` or ``{"id": …, "jobs": {job: [host,
        …]}}``. The order decides between equal ones.
    profiles
        What one rank of each job sends, for new and for standing jobs: its own demand, not one measured under
        contention. Jobs without a period take capacity and get no shift.
    topology
        Links, and the placements of the jobs that stand; those that a candidate names are moved.
    by
        ``mean`` or ``worst`` score of the shared links, or simulated iteration ``time``.
    sharing
        Whether two jobs may send through one port of a host; a candidate in which they do is ``refused``, or judged
        by how the port's link is shared.
    budget_s
        How long to judge, in seconds; candidates that are not done by then are not judged. None judges all.

    Returns
    -------
    Ranking
        Best first. A candidate that cannot be judged (an unknown host, one taken twice, no way between two, a job
        without a profile, one of which nothing is known or that would meet such a one) comes last, with its reason.

    Raises
    ------
    BadInput
        If there is no candidate, one is not what it should be, or two have one id.
    UsageError
        If ``by`` or ``sharing`` is unknown, the budget is not positive, the topology has no link or one without
        capacity, or a profile makes no sense.

    Notes
    -----
    A link's score is ``1 - E/C`` (`pipeline.solve`), that of a candidate the mean over its links as in CASSINI [1]_;
    but links that hang together in a loop are scored with one shift a job for all of them. Problems and components
    that come again in another candidate are solved once. Shifts of three jobs and more are the best that descents
    find, without the proof that `pipeline.solve` seeks for one link.

    From the best on, a group of equals takes in every candidate within `TIES` of its first and best, and within a
    group the caller's order counts. So every candidate of a group is better than every one of the next.

    References
    ----------
    .. [1] S. Rajasekaran, M. Ghobadi, A. Akella, "CASSINI: Network-Aware Job Scheduling in Machine Learning Clusters",
       NSDI 2024, algorithm 2.

    Examples
    --------
    >>> from pipeline.topology import Cluster, Link
    >>> from profiler.phases import TrafficProfile
    >>> ports = [("h1", "s1"), ("h2", "s1"), ("h3", "s2"), ("h4", "s2")]
    >>> links = [Link(link_id=h, a=f"{h}:0", b=f"{s}:{h}", tier="host", capacity_bps=1e9) for h, s in ports]
    >>> links.append(Link(link_id="trunk", a="s1:0", b="s2:0", tier="spine", capacity_bps=1e9))
    >>> busy = TrafficProfile.from_phases(period_s=0.2, phases=[(0.0, 0.15, 1e9)])
    >>> apart = {"id": "a rack each", "jobs": {"A": ["h1", "h2"], "B": ["h3", "h4"]}}
    >>> mixed = {"id": "two racks each", "jobs": {"A": ["h1", "h3"], "B": ["h2", "h4"]}}
    >>> found = rank([mixed, apart], profiles={"A": busy, "B": busy}, topology=Cluster(links=tuple(links)))
    >>> [(one.id, round(one.score_mean, 3)) for one in found.candidates]
    [('a rack each', 1.0), ('two racks each', 0.5)]
    """
    checked = check_candidates(candidates, place="rank")
    _check_choice("by", by, known=get_args(Criterion))
    _check_choice("sharing", sharing, known=get_args(Sharing))
    _check_links(topology)
    _check_periods(profiles)
    deadline = Deadline.after(budget_s)
    judge = Judge(profiles=profiles, topology=topology, hosts=_hosts(checked), sharing=sharing, deadline=deadline)
    late = f"not judged: the {budget_s} s given were over"
    judged = [
        _judged(candidate, judge=judge, deadline=deadline) or RankedCandidate(id=candidate.id, reason=late)
        for candidate in checked
    ]
    return Ranking(
        candidates=_in_order(judged, by=by),
        by=by,
        warnings=judge.warnings,
        method=f"one shift a job; ties within {TIES[by]:g}, in the order given",
        elapsed_s=deadline.elapsed_s(),
    )


def _judged(candidate: Candidate, *, judge: Judge, deadline: Deadline) -> RankedCandidate | None:
    """Return a candidate with its scores; None if there is no time for it, or not for all of it."""
    if deadline.is_over():
        return None
    found = judge.judge(candidate)
    return None if deadline.is_over() else found


def _in_order(candidates: Sequence[RankedCandidate], *, by: Criterion) -> tuple[RankedCandidate, ...]:
    """Return candidates best first, equal ones as the caller gave them.

    Those without a value for ``by`` come last of the judged ones, and after them those that are not judged.
    """
    costs = [_cost(candidate, by) for candidate in candidates]
    groups: list[list[int]] = []
    for i in sorted((i for i, one in enumerate(candidates) if one.is_judged), key=lambda i: costs[i]):
        if groups and (costs[i] == costs[groups[-1][0]] or costs[i] - costs[groups[-1][0]] <= TIES[by]):
            groups[-1].append(i)
        else:
            groups.append([i])
    groups.append([i for i, one in enumerate(candidates) if not one.is_judged])
    return tuple(candidates[i] for group in groups for i in sorted(group))


def _cost(candidate: RankedCandidate, by: Criterion) -> float:
    """Return what is to be small; infinite where it is not known."""
    if by == "time":
        return math.inf if candidate.predicted_slowdown is None else candidate.predicted_slowdown
    score = candidate.score_mean if by == "mean" else candidate.score_worst
    return math.inf if score is None else -score


def _hosts(candidates: Iterable[Candidate]) -> set[str]:
    texts = (text for candidate in candidates for hosts in candidate.jobs.values() for text in hosts)
    return {text.partition(":")[0] for text in texts}


def _check_choice(name: str, value: str, *, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"rank: {name} {value!r}: expected {', '.join(known)}")


def _check_links(topology: Cluster) -> None:
    if not topology.links:
        raise UsageError("rank: the topology has no link; give the links of the cluster")
    for link in topology.links:
        if not 0 < link.capacity_bps < math.inf:
            raise UsageError(f"link {link.link_id}: capacity_bps {link.capacity_bps!r}: must be positive and finite")


def _check_periods(profiles: Mapping[str, TrafficProfile]) -> None:
    for job, profile in profiles.items():
        if profile.period_s is not None and not PERIODS_S[0] <= profile.period_s <= PERIODS_S[1]:
            raise UsageError(
                f"job {job}: period_s {profile.period_s!r}: must lie in 1 µs to 1e6 s; give times in seconds"
            )
