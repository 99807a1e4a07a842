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

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.kernel import ShiftCurve
from pipeline.compat.relations import tie_periods
from pipeline.ranking.bonds import bonds_of, values_at

if TYPE_CHECKING:
    from pipeline.ranking.bonds import Bond
    from pipeline.ranking.fits import Crossing, Fit
    from pipeline.ranking.senders import Rhythm, Sender

__all__ = ["Settlement", "settle"]

MAX_TURNS: Final = 8
"""A descent over so few jobs ends after two or three turns of each."""

N_KICKS: Final = 6
"""So often a link that lost is put at its own best, and the descent begun again from there: of small rings 90 % then
end at the optimum, and the others within 0.02 of it."""

SAME: Final = 1e-12
"""Of a score: what lies between is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """Shift of each job in ns, and the mean excess of each crossing at these shifts, in their order."""

    shifts_ns: Mapping[str, int]
    excess_bps: tuple[float, ...]


def settle(crossings: Sequence[Crossing], fits: Sequence[Fit], *, senders: Mapping[str, Sender]) -> Settlement:
    """Return shifts for the periodic jobs of crossings that hang together.

    Parameters
    ----------
    crossings, fits
        Where the jobs meet, and the best for each alone.
    senders
        What each job sends.

    Returns
    -------
    Settlement
        The first job of all, by name, has shift 0; no crossing has less excess than by its own fit.
    """
    jobs = sorted({job for fit in fits for job in fit.jobs})
    rhythms = _tied(jobs, senders)
    periods_ns = {job: rhythm.demand.period_ns for job, rhythm in rhythms.items()}
    if len(crossings) == 1:
        shifts_ns = dict(zip(fits[0].jobs, fits[0].shifts_ns, strict=True))
        return Settlement(shifts_ns=_from_first(shifts_ns, periods_ns=periods_ns), excess_bps=(fits[0].excess_bps,))
    pairs = list(zip(crossings, fits, strict=True))
    bonds = [bond for i, (one, fit) in enumerate(pairs) for bond in bonds_of(i, one, fit=fit, rhythms=rhythms)]
    shifts_ns = _Search(bonds, periods_ns=periods_ns).best_from(_traverse(jobs, bonds, periods_ns=periods_ns))
    excess_bps = [fit.excess_bps for fit in fits]
    for i, n_bonds in Counter(bond.i_crossing for bond in bonds).items():
        last = next(bond for bond in bonds if bond.i_crossing == i)
        if n_bonds > 1:
            # The classes of a link see each other where they are now.
            last = bonds_of(i, crossings[i], fit=fits[i], rhythms=rhythms, shifts_ns=shifts_ns)[0]
        excess_bps[i] = max(excess_bps[i], last.excess_bps(shifts_ns))
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
    """Descent of jobs on their bonds: each step is exact, and only jobs with something to gain take one."""

    def __init__(self, bonds: Sequence[Bond], *, periods_ns: Mapping[str, int]) -> None:
        self._bonds = bonds
        self._periods_ns = periods_ns
        self._of_job: defaultdict[str, list[int]] = defaultdict(list)
        for i, bond in enumerate(bonds):
            for job in bond.jobs:
                self._of_job[job].append(i)

    def best_from(self, shifts_ns: Mapping[str, int]) -> dict[str, int]:
        """Return shifts at which the bonds together lose no more than at the given ones."""
        best, losses = self._descended(shifts_ns)
        kicks = self._kicks(losses)
        for _ in range(N_KICKS):
            kick = next(kicks, None)
            if kick is None:
                break
            bond, job = kick
            kicked = bond.moved(job, to_ns=best[job], periods_ns=self._periods_ns)
            found, found_losses = self._descended({**best, **kicked})
            if sum(found_losses) < sum(losses) - SAME:
                best, losses, kicks = found, found_losses, self._kicks(found_losses)
        return best

    def _kicks(self, losses: Sequence[float]) -> Iterator[tuple[Bond, str]]:
        """Yield each bond that loses, the worst first, with the job that stays where it is: the first, or the last."""
        for i in sorted(range(len(losses)), key=lambda i: -losses[i]):
            if losses[i] > SAME:
                for job in (self._bonds[i].jobs[0], self._bonds[i].jobs[-1]):
                    yield self._bonds[i], job

    def _descended(self, start_ns: Mapping[str, int]) -> tuple[dict[str, int], list[float]]:
        """Move one job after the other to where its bonds together lose least, until none can improve."""
        shifts_ns = dict(start_ns)
        losses = [bond.loss(bond.excess_bps(shifts_ns)) for bond in self._bonds]
        first, *others = sorted(shifts_ns)
        waiting = deque(others)
        for _ in range(MAX_TURNS * len(others)):
            if not waiting:
                break
            job = waiting.popleft()
            if sum(losses[i] for i in self._of_job[job]) > SAME and self._improved(job, shifts_ns, losses=losses):
                beside = {name for i in self._of_job[job] for name in self._bonds[i].jobs}
                waiting.extend(sorted(beside - {first, job, *waiting}))
        return shifts_ns, losses

    def _improved(self, job: str, shifts_ns: dict[str, int], *, losses: list[float]) -> bool:
        """Move one job to its best shift; return whether that gains anything."""
        own = [self._bonds[i] for i in self._of_job[job]]
        curves = [bond.curve(job, shifts_ns=shifts_ns) for bond in own]
        kinks_ns = np.unique(np.concatenate([*(curve.kinks_ns for curve in curves), [shifts_ns[job]]]))
        values_bps = [values_at(curve, kinks_ns) for curve in curves]
        total = np.sum([bond.weight * one for bond, one in zip(own, values_bps, strict=True)], axis=0)
        if total[np.searchsorted(kinks_ns, shifts_ns[job])] - total.min() <= SAME:
            return False
        scale = sum(bond.weight * curve.scale_bps for bond, curve in zip(own, curves, strict=True))
        sum_of_curves = ShiftCurve(
            period_ns=self._periods_ns[job], kinks_ns=kinks_ns, excess_bps=total, scale_bps=scale
        )
        shifts_ns[job] = sum_of_curves.best_shift_ns()
        at_ns = np.array([shifts_ns[job]], dtype=np.int64)
        for i, bond, curve in zip(self._of_job[job], own, curves, strict=True):
            losses[i] = bond.loss(float(values_at(curve, at_ns)[0]))
        return True


def _from_first(shifts_ns: Mapping[str, int], *, periods_ns: Mapping[str, int]) -> dict[str, int]:
    """Return the same shifts with that of the first job, by name, being 0."""
    jobs = sorted(shifts_ns)
    zero_ns = shifts_ns[jobs[0]] if jobs else 0
    return {job: (shifts_ns[job] - zero_ns) % periods_ns[job] for job in jobs}
