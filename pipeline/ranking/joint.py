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

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pipeline.compat.classes import fits_circle, seen_by
from pipeline.compat.kernel import add_curves
from pipeline.compat.relations import tie_periods
from pipeline.compat.timeline import Circle, excess_at

if TYPE_CHECKING:
    from pipeline.compat.kernel import ShiftCurve
    from pipeline.ranking.crossings import Crossing
    from pipeline.ranking.fits import Fit
    from pipeline.ranking.senders import Rhythm, Sender

__all__ = ["Settlement", "settle"]

MAX_ROUNDS: Final = 8
"""A descent over so few jobs ends after two or three."""

N_KICKS: Final = 2
"""So often the link that lost most is put at its own best, and the descent begun again from there."""

SAME: Final = 1e-12
"""Of the capacity: what lies between is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """Shift of each job in ns, and the mean excess of each crossing at these shifts, in their order."""

    shifts_ns: Mapping[str, int]
    excess_bps: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bond:
    """Jobs that keep a phase on a crossing: their demands on a common circle, and the best shifts for it alone.

    ``weight`` makes excess a loss of score, summed over the links of the crossing.
    """

    i_crossing: int
    jobs: tuple[str, ...]
    circle: Circle
    best_ns: tuple[int, ...]
    least_bps: float
    weight: float

    def excess_bps(self, shifts_ns: Mapping[str, int]) -> float:
        return excess_at(self.circle, [shifts_ns[job] for job in self.jobs])

    def curve(self, job: str, shifts_ns: Mapping[str, int]) -> ShiftCurve:
        i_job = self.jobs.index(job)
        beside = [i for i in range(len(self.jobs)) if i != i_job]
        return self.circle.curve(i_job, shifts_ns=[shifts_ns[name] for name in self.jobs], beside=beside)


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
    own_bps = [fit.excess_bps for fit in fits]
    if len(crossings) == 1:
        shifts_ns = dict(zip(fits[0].jobs, fits[0].shifts_ns, strict=True))
        periods_ns = {job: _period_ns(senders[job]) for job in jobs}
        return Settlement(shifts_ns=_from_first(shifts_ns, periods_ns=periods_ns), excess_bps=tuple(own_bps))
    rhythms = _tied(jobs, senders)
    periods_ns = {job: rhythm.demand.period_ns for job, rhythm in rhythms.items()}
    bonds = [
        bond
        for i, (crossing, fit) in enumerate(zip(crossings, fits, strict=True))
        for bond in _bonds(i, crossing, fit=fit, rhythms=rhythms)
    ]
    shifts_ns = _search(bonds, _traverse(jobs, bonds, periods_ns=periods_ns), periods_ns=periods_ns)
    for bond in bonds:
        own_bps[bond.i_crossing] = max(own_bps[bond.i_crossing], bond.excess_bps(shifts_ns))
    return Settlement(shifts_ns=_from_first(shifts_ns, periods_ns=periods_ns), excess_bps=tuple(own_bps))


def _period_ns(sender: Sender) -> int:
    return sender.rhythm.demand.period_ns if sender.rhythm else 1


def _tied(jobs: Sequence[str], senders: Mapping[str, Sender]) -> dict[str, Rhythm]:
    """Return each job's rhythm, all that agree within the errors of their periods on one clock."""
    rhythms = [rhythm for job in jobs if (rhythm := senders[job].rhythm) is not None]
    tied = tie_periods([rhythm.demand for rhythm in rhythms], [rhythm.beat for rhythm in rhythms])
    return {
        job: replace(rhythm, demand=demand) for job, rhythm, demand in zip(jobs, rhythms, tied.demands, strict=True)
    }


def _bonds(i_crossing: int, crossing: Crossing, *, fit: Fit, rhythms: Mapping[str, Rhythm]) -> list[_Bond]:
    """Return a bond for each class of two or more jobs of a crossing."""
    load_frac = dict(crossing.load_frac)
    own = [rhythms[job].loaded(load_frac[job]).demand for job in fit.jobs]
    bonds = []
    for i_class, members in enumerate(fit.classes):
        of_class = [own[i] for i in members]
        if len(members) < 2 or not fit.is_contended or not fits_circle(of_class):
            continue
        seen = seen_by(i_class, fit.classes, demands=own, shifts=fit.shifts_ns, excess=fit.excess)
        bonds.append(
            _Bond(
                i_crossing=i_crossing,
                jobs=tuple(fit.jobs[i] for i in members),
                circle=Circle(demands=of_class, excess=seen),
                best_ns=tuple(fit.shifts_ns[i] for i in members),
                least_bps=fit.excess_bps,
                weight=len(crossing.places) / crossing.capacity_bps,
            )
        )
    return bonds


def _traverse(jobs: Sequence[str], bonds: Sequence[_Bond], *, periods_ns: Mapping[str, int]) -> dict[str, int]:
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
                    found = _moved(bond, job=job, to_ns=shifts_ns[job], periods_ns=periods_ns)
                    reached.extend(other for other in bond.jobs if other not in shifts_ns)
                    shifts_ns = {**found, **shifts_ns}
    return shifts_ns


def _moved(bond: _Bond, *, job: str, to_ns: int, periods_ns: Mapping[str, int]) -> dict[str, int]:
    """Return a bond's best shifts, moved together so that one job has a given one."""
    move_ns = to_ns - bond.best_ns[bond.jobs.index(job)]
    return {name: (best_ns + move_ns) % periods_ns[name] for name, best_ns in zip(bond.jobs, bond.best_ns, strict=True)}


def _search(bonds: Sequence[_Bond], shifts_ns: dict[str, int], *, periods_ns: Mapping[str, int]) -> dict[str, int]:
    """Return shifts at which the bonds together lose no more than at the given ones."""
    best = shifts_ns
    losses = _losses(bonds, best)
    if sum(losses) <= SAME:
        return best
    best = _descend(bonds, best, periods_ns=periods_ns)
    losses = _losses(bonds, best)
    for _ in range(N_KICKS):
        if sum(losses) <= SAME:
            break
        worst = bonds[max(range(len(bonds)), key=losses.__getitem__)]
        kicked = {**best, **_moved(worst, job=worst.jobs[0], to_ns=best[worst.jobs[0]], periods_ns=periods_ns)}
        found = _descend(bonds, kicked, periods_ns=periods_ns)
        found_losses = _losses(bonds, found)
        if sum(found_losses) >= sum(losses) - SAME:
            break
        best, losses = found, found_losses
    return best


def _losses(bonds: Sequence[_Bond], shifts_ns: Mapping[str, int]) -> list[float]:
    """Return by how much each bond's score, summed over its links, lies below its own best."""
    return [bond.weight * max(0.0, bond.excess_bps(shifts_ns) - bond.least_bps) for bond in bonds]


def _descend(bonds: Sequence[_Bond], shifts_ns: Mapping[str, int], *, periods_ns: Mapping[str, int]) -> dict[str, int]:
    """Move one job after the other to where its links together lose least, until no job can improve."""
    shifts = dict(shifts_ns)
    for _ in range(MAX_ROUNDS):
        gained = 0.0
        for job in sorted(shifts)[1:]:
            own = [bond for bond in bonds if job in bond.jobs]
            if not own:
                continue
            curve = add_curves(
                [bond.curve(job, shifts) for bond in own],
                weights=[bond.weight for bond in own],
                period_ns=periods_ns[job],
            )
            gain = float(curve.at(shifts[job])) - curve.minimum_bps
            if gain > SAME:
                shifts[job] = curve.best_shift_ns()
                gained += gain
        if gained <= SAME:
            break
    return shifts


def _from_first(shifts_ns: Mapping[str, int], *, periods_ns: Mapping[str, int]) -> dict[str, int]:
    """Return the same shifts with that of the first job, by name, being 0."""
    jobs = sorted(shifts_ns)
    zero_ns = shifts_ns[jobs[0]] if jobs else 0
    return {job: (shifts_ns[job] - zero_ns) % periods_ns[job] for job in jobs}
