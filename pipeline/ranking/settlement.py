"""`settle`: one shift a job for all links of a component, and what is left of each link's own fit.

On a tree of jobs and links every link has its best shifts at once (CASSINI's traversal [1]_). In a loop links may want
different things: then jobs move, one after the other, to where their links together lose least. CASSINI discards such
placements; here they score what their shifts attain.

References
----------
.. [1] S. Rajasekaran, M. Ghobadi, A. Akella, "CASSINI: Network-Aware Job Scheduling in Machine Learning Clusters",
   NSDI 2024, algorithm 1.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.relations import tie_periods
from pipeline.deadline import NEVER
from pipeline.ranking.bonds import bonds_of
from pipeline.ranking.web import SAME, descend_web, excess_on, web_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.deadline import Deadline
    from pipeline.ranking.bonds import Bond
    from pipeline.ranking.fits import Crossing, Fit
    from pipeline.ranking.senders import Rhythm, Sender
    from pipeline.ranking.web import Web

__all__ = ["Settlement", "settle"]

N_KICKS: Final = 6
"""So often a link that lost is put at its own best, and the descent begun again from there."""

N_RANDOM: Final = 16
FEW_JOBS: Final = 4
"""Of so few jobs a descent takes a tenth of a millisecond, so it is begun so often anywhere, too: of 80 random rings of
three jobs of one to three bursts, 90 % then ended at the optimum, and the others within 0.0023 of its score."""

SEED: Final = 0
"""Of these starts: the same problem has the same answer wherever it comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """Shift of each job in ns, and the mean excess of each crossing at these shifts, in their order."""

    shifts_ns: Mapping[str, int]
    excess_bps: tuple[float, ...]


def settle(
    crossings: Sequence[Crossing], fits: Sequence[Fit], *, senders: Mapping[str, Sender], deadline: Deadline = NEVER
) -> Settlement:
    """Return shifts for the periodic jobs of crossings that hang together.

    Parameters
    ----------
    crossings, fits
        Where the jobs meet, and the best for each alone.
    senders
        What each job sends.
    deadline
        When to give the best so far.

    Returns
    -------
    Settlement
        The first job of all, by name, has shift 0. A crossing may have less excess than by its own fit, which is the
        best that was found for it alone.
    """
    jobs = sorted({job for fit in fits for job in fit.jobs})
    rhythms = _tied(jobs, senders)
    periods_ns = {job: rhythm.demand.period_ns for job, rhythm in rhythms.items()}
    if len(crossings) == 1:
        shifts_ns = dict(zip(fits[0].jobs, fits[0].shifts_ns, strict=True))
        return Settlement(shifts_ns=_from_first(shifts_ns, periods_ns=periods_ns), excess_bps=(fits[0].excess_bps,))
    pairs = list(zip(crossings, fits, strict=True))
    bonds = [bond for i, (one, fit) in enumerate(pairs) for bond in bonds_of(i, one, fit=fit, rhythms=rhythms)]
    start_ns = _traverse(jobs, bonds, periods_ns=periods_ns)
    shifts_ns = _Search(bonds, periods_ns=periods_ns, deadline=deadline).best_from(start_ns)
    excess_bps = [fit.excess_bps for fit in fits]
    for i, n_bonds in Counter(bond.i_crossing for bond in bonds).items():
        last = next(bond for bond in bonds if bond.i_crossing == i)
        if n_bonds > 1:
            # The classes of a link see each other where they are now.
            last = bonds_of(i, crossings[i], fit=fits[i], rhythms=rhythms, shifts_ns=shifts_ns)[0]
        excess_bps[i] = excess_on(last, shifts_ns)
    return Settlement(shifts_ns=_from_first(shifts_ns, periods_ns=periods_ns), excess_bps=tuple(excess_bps))


def _tied(jobs: Sequence[str], senders: Mapping[str, Sender]) -> dict[str, Rhythm]:
    """Return each job's rhythm, all that agree within the errors of their periods on one clock."""
    rhythms = [rhythm for job in jobs if (rhythm := senders[job].rhythm) is not None]
    tied = tie_periods([rhythm.demand for rhythm in rhythms], [rhythm.beat for rhythm in rhythms])
    return {
        job: replace(rhythm, demand=demand) for job, rhythm, demand in zip(jobs, rhythms, tied.demands, strict=True)
    }


def _traverse(jobs: Sequence[str], bonds: Sequence[Bond], *, periods_ns: Mapping[str, int]) -> dict[str, int]:
    """Return shifts that suit the bonds in the order in which they are reached from the first job."""
    shifts_ns: dict[str, int] = {}
    for first in jobs:
        if first in shifts_ns:
            continue
        shifts_ns[first] = 0
        reached = deque([first])
        while reached:
            job = reached.popleft()
            for bond in bonds:
                if job in bond.jobs:
                    found = bond.moved(job, to_ns=shifts_ns[job], periods_ns=periods_ns)
                    reached.extend(other for other in bond.jobs if other not in shifts_ns)
                    shifts_ns = {**found, **shifts_ns}
    return shifts_ns


class _Search:
    """Descents of jobs on their bonds, begun again where a bond that lost is put at its own best."""

    def __init__(self, bonds: Sequence[Bond], *, periods_ns: Mapping[str, int], deadline: Deadline) -> None:
        self._bonds = bonds
        self._periods_ns = periods_ns
        self._jobs = sorted(periods_ns)
        self._deadline = deadline

    def best_from(self, shifts_ns: Mapping[str, int]) -> dict[str, int]:
        """Return shifts at which the bonds together lose no more than at the given ones."""
        if not self._bonds:
            return dict(shifts_ns)
        web = web_of(self._bonds, jobs=self._jobs)
        best, losses = self._descended(web, shifts_ns)
        for start_ns in self._anywhere():
            if losses.max() <= SAME or self._deadline.is_over():
                break
            found, found_losses = self._descended(web, start_ns)
            if found_losses.sum() < losses.sum() - SAME:
                best, losses = found, found_losses
        kicks = self._kicks(losses)
        for _ in range(N_KICKS):
            kick = next(kicks, None)
            if kick is None or self._deadline.is_over():
                break
            bond, job = kick
            kicked = bond.moved(job, to_ns=best[job], periods_ns=self._periods_ns)
            found, found_losses = self._descended(web, {**best, **kicked})
            if found_losses.sum() < losses.sum() - SAME:
                best, losses, kicks = found, found_losses, self._kicks(found_losses)
        return best

    def _anywhere(self) -> Iterator[dict[str, int]]:
        """Yield random starts, if the jobs are few."""
        rng = np.random.default_rng(SEED)
        for _ in range(N_RANDOM if len(self._jobs) <= FEW_JOBS else 0):
            yield {job: int(rng.integers(self._periods_ns[job])) for job in self._jobs}

    def _kicks(self, losses: NDArray[np.float64]) -> Iterator[tuple[Bond, str]]:
        """Yield each bond that loses, the worst first, with the job that stays where it is: the first, or the last."""
        for i in np.argsort(-losses, kind="stable").tolist():
            if losses[i] > SAME:
                for job in (self._bonds[i].jobs[0], self._bonds[i].jobs[-1]):
                    yield self._bonds[i], job

    def _descended(self, web: Web, start_ns: Mapping[str, int]) -> tuple[dict[str, int], NDArray[np.float64]]:
        shifts_ns = np.array([start_ns[job] for job in self._jobs], dtype=np.int64)
        losses = np.empty(len(self._bonds))
        descend_web(web, shifts_ns, losses)
        return dict(zip(self._jobs, shifts_ns.tolist(), strict=True)), losses


def _from_first(shifts_ns: Mapping[str, int], *, periods_ns: Mapping[str, int]) -> dict[str, int]:
    """Return the same shifts with that of the first job, by name, being 0."""
    jobs = sorted(shifts_ns)
    zero_ns = shifts_ns[jobs[0]] if jobs else 0
    return {job: (shifts_ns[job] - zero_ns) % periods_ns[job] for job in jobs}
