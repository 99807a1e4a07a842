"""`rank`: placement candidates in order of how well their jobs would fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

from pipeline.ranking.candidate import Candidate, check_candidates
from pipeline.ranking.judge import Judge
from pipeline.ranking.order import TIES, in_order
from pipeline.ranking.result import Criterion, Ranking
from profiler.errors import UsageError

if TYPE_CHECKING:
    from pipeline.topology import Cluster
    from profiler.phases import TrafficProfile

__all__ = ["rank"]

PERIODS_S: Final = (1e-6, 1e6)
"""Shortest and longest that can be answered on a clock of whole nanoseconds."""


def rank(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    profiles: Mapping[str, TrafficProfile],
    topology: Cluster,
    by: Criterion = "mean",
    seed: int = 0,
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
    seed
        Of the jitter in the simulation; the same seed gives the same answer.

    Returns
    -------
    Ranking
        Best first. A candidate that cannot be judged (an unknown host, no way between two, a job without a profile)
        comes last, with its reason.

    Raises
    ------
    BadInput
        If there is no candidate, one is not what it should be, or two have one id.
    UsageError
        If ``by`` is unknown, the topology has no link, or a profile makes no sense.

    Notes
    -----
    A link's score is ``1 - E/C`` (`pipeline.solve`), that of a candidate the mean over its links as in CASSINI [1]_;
    but links that hang together in a loop are scored with one shift a job for all of them. Problems and components
    that come again in another candidate are solved once.

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
    _check(profiles, topology=topology, by=by)
    judge = Judge(profiles=profiles, topology=topology, hosts=_hosts(checked), seed=seed)
    judged = [judge.judge(candidate) for candidate in checked]
    return Ranking(
        candidates=in_order(judged, by=by),
        by=by,
        warnings=judge.warnings,
        method=f"one shift a job; ties within {TIES[by]:g}, in the order given",
    )


def _hosts(candidates: Iterable[Candidate]) -> set[str]:
    texts = (text for candidate in candidates for hosts in candidate.jobs.values() for text in hosts)
    return {text.partition(":")[0] for text in texts}


def _check(profiles: Mapping[str, TrafficProfile], *, topology: Cluster, by: str) -> None:
    if by not in get_args(Criterion):
        raise UsageError(f"rank: by {by!r}: expected {', '.join(get_args(Criterion))}")
    if not topology.links:
        raise UsageError("rank: the topology has no link; give the links of the cluster")
    for job, profile in profiles.items():
        if profile.period_s is not None and not PERIODS_S[0] <= profile.period_s <= PERIODS_S[1]:
            raise UsageError(
                f"job {job}: period_s {profile.period_s!r}: must lie in 1 µs to 1e6 s; give times in seconds"
            )
