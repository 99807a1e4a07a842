"""`BoundLink`: one link that binds jobs, what they ask of it, its own best shifts, and the least any could cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pipeline.compat.bounds import lower_bound
from pipeline.compat.classes import commensurate_classes, fits_circle, place_classes, seen_by
from pipeline.compat.levels import Excess
from pipeline.compat.members import members_of
from pipeline.compat.timeline import Circle, excess_at
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import numpy as np

    from pipeline.affinity import SolvedLink
    from pipeline.compat.demand import Demand
    from pipeline.compat.members import Members
    from pipeline.compat.result import JobShift
    from pipeline.shifts.clock import Clock
    from pipeline.shifts.options import PlanOptions

__all__ = ["Binding", "BoundLink", "bind_link"]

ROUNDING: Final = 1e-12
"""A smaller fraction of the capacity is no excess."""

SAME_SCORE: Final = 1e-9
"""Scores that differ by less are one: a solved link has its shifts in seconds, a plan in whole ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A class of jobs on a link that keep a phase to each other; ``excess`` counts what all others there take."""

    jobs: tuple[str, ...]
    demands: tuple[Demand, ...]
    excess: Excess
    best_ns: Mapping[str, int]
    bound_frac: float
    weight: float

    @property
    def capacity_bps(self) -> float:
        """Capacity of the link."""
        return self.excess.capacity_bps


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundLink:
    """A link and the jobs it binds.

    Parameters
    ----------
    jobs, demands
        The periodic jobs on it, in order of names, at the periods that the plan holds them to.
    excess
        What a rate of theirs costs, beside everything else on the link.
    classes
        Jobs, by index, that keep a phase to each other.
    best_ns
        The best shifts found for this link alone.
    bound_frac
        The least mean excess that any shifts could have, as a fraction of the capacity.
    weight
        What the link counts in the mean.
    score_random
        The link's score if nobody is shifted; None where it was not told.
    """

    jobs: tuple[str, ...]
    demands: tuple[Demand, ...]
    excess: Excess
    classes: tuple[tuple[int, ...], ...]
    best_ns: Mapping[str, int]
    bound_frac: float
    weight: float
    score_random: float | None

    def excess_frac(self, shifts_ns: Mapping[str, int]) -> float:
        """Return the mean excess at given shifts as a fraction of the capacity; classes meet at any phase."""
        return self._circle(0, shifts_ns).excess_frac(shifts_ns)

    @property
    def ties(self) -> list[tuple[str, ...]]:
        """Jobs that keep a phase to each other on it, whether or not their common circle can be laid out."""
        return [tuple(self.jobs[i] for i in places) for places in self.classes if len(places) > 1]

    def bindings(self) -> Iterator[Binding]:
        """Return one binding for each class of several jobs whose common circle can be laid out.

        Where there are several classes, each takes the others as they are at the link's own best shifts.
        """
        for i_class, places in enumerate(self.classes):
            if len(places) > 1 and fits_circle([self.demands[i] for i in places]):
                yield self._binding(i_class)

    def _binding(self, i_class: int) -> Binding:
        placed = self._circle(i_class, self.best_ns)
        bound_frac = self.bound_frac
        if len(self.classes) > 1:
            bound_bps = lower_bound(placed.circle.demands, excess=placed.circle.excess)
            bound_frac = min(bound_bps / self.excess.capacity_bps, placed.excess_frac(self.best_ns))
        return Binding(
            jobs=placed.jobs,
            demands=tuple(placed.circle.demands),
            excess=placed.circle.excess,
            best_ns=self.best_ns,
            bound_frac=bound_frac,
            weight=self.weight,
        )

    def _circle(self, i_class: int, shifts_ns: Mapping[str, int]) -> _ClassCircle:
        places = self.classes[i_class]
        shifts = [shifts_ns[job] for job in self.jobs]
        seen = self.excess
        if len(self.classes) > 1:
            seen = seen_by(i_class, self.classes, demands=self.demands, shifts=shifts, excess=self.excess)
        circle = Circle(demands=[self.demands[i] for i in places], excess=seen)
        return _ClassCircle(jobs=tuple(self.jobs[i] for i in places), circle=circle)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClassCircle:
    """The jobs of one class of a link, and where their shifts are judged."""

    jobs: tuple[str, ...]
    circle: Circle

    def excess_frac(self, shifts_ns: Mapping[str, int]) -> float:
        excess_bps = excess_at(self.circle, [shifts_ns[job] for job in self.jobs])
        return excess_bps / self.circle.excess.capacity_bps


def bind_link(link: SolvedLink, *, clock: Clock, options: PlanOptions, rng: np.random.Generator) -> BoundLink:
    """Return a link as the jobs of a component meet on it.

    What the link was solved to be is taken over where it holds on the clock: its shifts if they leave no excess, its
    shifts and bound if no period changes. Else it is solved anew.
    """
    members = members_of(link.demands)
    jobs = tuple(members.profiles)
    demands = tuple(clock.demand(profile, job=job) for job, profile in members.profiles.items())
    excess = Excess(capacity_bps=link.capacity_bps, others=members.background)
    found = _solved(link, members, demands=demands, excess=excess, clock=clock)
    if found is None:
        placed = place_classes(demands, pools=_pools(jobs, clock), excess=excess, rng=rng)
        found = _Found(
            classes=placed.classes,
            shifts_ns=placed.placement.shifts_ns,
            bound_frac=placed.bound_bps / link.capacity_bps,
        )
    bound = BoundLink(
        jobs=jobs,
        demands=demands,
        excess=excess,
        classes=found.classes,
        best_ns=dict(zip(jobs, found.shifts_ns, strict=True)),
        bound_frac=found.bound_frac,
        weight=options.weight_of(jobs),
        score_random=link.compatibility.score_random,
    )
    return replace(bound, bound_frac=max(found.bound_frac, _pinned_frac(bound, options)))


def _pinned_frac(link: BoundLink, options: PlanOptions) -> float:
    """Return the least excess that pins leave where no more than one job can still be moved, else 0."""
    movable = [i for i, job in enumerate(link.jobs) if job not in options.pinned]
    if len(link.classes) > 1 or len(movable) > 1:
        return 0.0
    circle = Circle(demands=link.demands, excess=link.excess)
    shifts_ns = [
        options.pinned_ns(job, period_ns=demand.period_ns) or 0
        for job, demand in zip(link.jobs, link.demands, strict=True)
    ]
    if not movable:
        return excess_at(circle, shifts_ns) / link.excess.capacity_bps
    beside = [i for i in range(len(shifts_ns)) if i != movable[0]]
    return circle.curve(movable[0], shifts_ns=shifts_ns, beside=beside).minimum_bps / link.excess.capacity_bps


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """How the classes of a link fit on it alone."""

    classes: tuple[tuple[int, ...], ...]
    shifts_ns: Sequence[int]
    bound_frac: float


def _solved(
    link: SolvedLink, members: Members, *, demands: Sequence[Demand], excess: Excess, clock: Clock
) -> _Found | None:
    """Return what is known of a link since it was solved by itself, None if that was for other periods.

    Its bound is that of unheld jobs; held ones have one only where nothing is in excess.
    """
    found = link.compatibility
    own = {shift.job: shift for shift in found.shifts}
    jobs = list(members.profiles)
    if len({clock.pool[job] for job in jobs}) > 1 or set(own) != set(jobs):
        return None
    solved_ns = [_solved_ns(own[job], demand) for job, demand in members.demands.items()]
    classes = commensurate_classes(demands, pool=range(len(jobs)))
    if solved_ns != [demand.period_ns for demand in demands] or len(classes) > 1 or not fits_circle(demands):
        return None
    shifts_ns = [round(own[job].shift_s * NS_PER_S) % period_ns for job, period_ns in zip(jobs, solved_ns, strict=True)]
    excess_frac = excess_at(Circle(demands=demands, excess=excess), shifts_ns) / link.capacity_bps
    if excess_frac <= ROUNDING:
        return _Found(classes=classes, shifts_ns=shifts_ns, bound_frac=0.0)
    if found.gap is None or found.score_best is None or abs(1 - excess_frac - found.score_best) > SAME_SCORE:
        return None
    if solved_ns != [demand.period_ns for demand in members.demands.values()]:
        return None
    bound_frac = 1 - found.score_best - found.gap
    return _Found(classes=classes, shifts_ns=shifts_ns, bound_frac=min(max(0.0, bound_frac), excess_frac))


def _solved_ns(shift: JobShift, demand: Demand) -> int:
    """Return the period for which a link was given a shift."""
    return demand.period_ns if shift.pace_period_s is None else round(shift.pace_period_s * NS_PER_S)


def _pools(jobs: Sequence[str], clock: Clock) -> list[list[int]]:
    pools = sorted({clock.pool[job] for job in jobs})
    return [[i for i, job in enumerate(jobs) if clock.pool[job] == pool] for pool in pools]
