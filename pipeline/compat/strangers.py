"""Classes of jobs against each other: how much their relative phase can matter, and the best of it.

Move one class by t against the others and the excess repeats after ``g``, the greatest common divisor of their
circles. Its mean over g is that of independent phases, and its slope is at most what the moved jobs step up in a unit
of time, so it is nowhere lower than that mean by more than a quarter of g times the slope. Where all edges fall on a
clock of g it is not lower at all: between the clock's ticks the excess is straight, and all ticks are alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Self

from pipeline.compat.demand import superpose
from pipeline.compat.kernel import shift_curve
from pipeline.compat.levels import independent_levels, levels_of

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess, Levels
    from pipeline.compat.placement import Placement

__all__ = ["Band", "fits_circle", "most_between", "most_of_phases", "settled"]

MAX_CIRCLE_EDGES: Final = 4096
"""A common circle that is laid out has at most this many edges."""

NOTHING_FRAC: Final = 1e-9
"""A gain of less than this share of the capacity moves no job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Jobs that keep a phase relative to each other.

    Parameters
    ----------
    demands, shifts_ns
        The jobs, and by how much each is delayed.
    length_ns
        Length of their common circle.
    tick_ns
        Longest time of which all their periods and edges are multiples.
    rise_bps_per_ns
        By how much their rates step up in a unit of time: the steepest that the excess can be against their shift.
    """

    demands: tuple[Demand, ...]
    shifts_ns: tuple[int, ...]
    length_ns: int
    tick_ns: int
    rise_bps_per_ns: float

    @classmethod
    def of(cls, demands: Sequence[Demand], members: Sequence[int], *, shifts_ns: Sequence[int] | None = None) -> Self:
        """Return some of the jobs, by index, as a band; without shifts, all begin at once."""
        own = tuple(demands[i] for i in members)
        return cls(
            demands=own,
            shifts_ns=(0,) * len(own) if shifts_ns is None else tuple(shifts_ns[i] for i in members),
            length_ns=math.lcm(*(demand.period_ns for demand in own)),
            tick_ns=math.gcd(*(math.gcd(demand.period_ns, *demand.edges_ns.tolist()) for demand in own)),
            rise_bps_per_ns=sum(_rise_bps(demand) / demand.period_ns for demand in own),
        )

    @property
    def clock_ns(self) -> int:
        """Longest time of which all periods, edges and shifts are multiples."""
        return math.gcd(self.tick_ns, *self.shifts_ns)

    @property
    def laid_out(self) -> Demand:
        """The sum of the jobs at their shifts over the common circle."""
        if self.shifts_ns == (0,):
            return self.demands[0]
        return superpose(self.demands, shifts_ns=self.shifts_ns, length_ns=self.length_ns)

    @property
    def levels(self) -> Levels:
        """How much of the time the jobs send at which rate; if the circle is too long, with independent phases."""
        if len(self.demands) == 1:
            return levels_of(self.demands[0])
        if not fits_circle(self.demands):
            return independent_levels(levels_of(demand) for demand in self.demands)
        return levels_of(self.laid_out)

    def moved(self, by_ns: int) -> Band:
        """Return the same jobs, all so much later."""
        shifts = zip(self.shifts_ns, self.demands, strict=True)
        return replace(self, shifts_ns=tuple((shift + by_ns) % demand.period_ns for shift, demand in shifts))

    def joined(self, other: Band) -> Band:
        """Return the jobs of both."""
        return Band(
            demands=(*self.demands, *other.demands),
            shifts_ns=(*self.shifts_ns, *other.shifts_ns),
            length_ns=math.lcm(self.length_ns, other.length_ns),
            tick_ns=math.gcd(self.tick_ns, other.tick_ns),
            rise_bps_per_ns=self.rise_bps_per_ns + other.rise_bps_per_ns,
        )


def fits_circle(demands: Sequence[Demand]) -> bool:
    """Return whether the common circle of some demands has few enough edges to be laid out."""
    length_ns = math.lcm(*(demand.period_ns for demand in demands))
    return sum(demand.edges_ns.size * (length_ns // demand.period_ns) for demand in demands) <= MAX_CIRCLE_EDGES


def most_between(one: Band, other: Band) -> float:
    """Return by how much, in bit/s, the best phase of two bands can be better than independent ones.

    Only what lies on a common clock is known not to matter, so shifts that fall between its ticks count.
    """
    common_ns = math.gcd(one.length_ns, other.length_ns)
    if common_ns <= math.gcd(one.clock_ns, other.clock_ns):
        return 0.0
    return common_ns / 4 * min(one.rise_bps_per_ns, other.rise_bps_per_ns)


def most_of_phases(bands: Sequence[Band]) -> float:
    """Return by how much, in bit/s, the best phases of all bands together can be better than independent ones.

    One after the other becomes independent of those left, the least steep first.
    """
    most_bps = 0.0
    solid: Band | None = None
    for band in sorted(bands, key=lambda band: -band.rise_bps_per_ns):
        if solid is not None:
            most_bps += most_between(band, solid)
        solid = band if solid is None else solid.joined(band)
    return most_bps


def settled(
    placement: Placement, *, demands: Sequence[Demand], classes: Sequence[tuple[int, ...]], excess: Excess
) -> Placement:
    """Move whole classes to their best phases against each other; classes that gain next to nothing stay.

    Parameters
    ----------
    placement
        Shifts within the classes, and the excess with independent phases of the classes.
    demands
        One a job.
    classes
        Indices of jobs, of each class so many as have a short circle.
    excess
        What a rate costs.

    Notes
    -----
    One class after the other, the largest first, meets those before it; the others count by their levels. That needs
    the common circle of those before it, never that of all. The excess of what is returned is exact but for classes
    whose phase cannot matter, or no longer be laid out.
    """
    order = sorted(classes, key=lambda members: (-len(members), members))
    bands = [Band.of(demands, members, shifts_ns=placement.shifts_ns) for members in order]
    near, far = _near(bands, nothing_bps=NOTHING_FRAC * excess.capacity_bps)
    if len(near) < 2:
        return placement
    beside = [independent_levels([excess.others, *(bands[i].levels for i in far)])]
    for i in near[:1:-1]:
        beside.append(independent_levels([beside[-1], bands[i].levels]))
    solid, excess_bps = bands[near[0]], placement.excess_bps
    for i, others in zip(near[1:], reversed(beside), strict=True):
        solid, excess_bps = _settle(solid, bands[i], excess=replace(excess, others=others))
    shifts = list(placement.shifts_ns)
    for i_job, shift_ns in zip((i for k in near for i in order[k]), solid.shifts_ns, strict=True):
        shifts[i_job] = shift_ns
    return replace(placement, shifts_ns=tuple(shifts), excess_bps=excess_bps)


def _near(bands: Sequence[Band], *, nothing_bps: float) -> tuple[list[int], list[int]]:
    """Return which bands can be settled one against the other, and which not or to no effect."""
    lengths_ns = [band.length_ns for band in bands]
    before = list(accumulate(lengths_ns, math.lcm, initial=1))
    after = list(accumulate(reversed(lengths_ns), math.lcm, initial=1))[::-1]
    clock_ns = math.gcd(*(band.clock_ns for band in bands))
    near: list[int] = []
    solid: tuple[Demand, ...] = ()
    for i, band in enumerate(bands):
        common_ns = math.gcd(band.length_ns, math.lcm(before[i], after[i + 1]))
        matters = common_ns > clock_ns and common_ns / 4 * band.rise_bps_per_ns > nothing_bps
        if matters and (not solid or fits_circle(solid)):
            near.append(i)
            solid += band.demands
    return near, [i for i in range(len(bands)) if i not in near]


def _settle(fixed: Band, moving: Band, *, excess: Excess) -> tuple[Band, float]:
    """Move a band to its best phase against another; return both together and their mean excess."""
    curve = shift_curve(fixed.laid_out, moving.laid_out, excess=excess)
    stays_bps = float(curve.at(0))
    if stays_bps <= curve.minimum_bps + NOTHING_FRAC * excess.capacity_bps:
        return fixed.joined(moving), stays_bps
    return fixed.joined(moving.moved(curve.best_shift_ns())), curve.minimum_bps


def _rise_bps(demand: Demand) -> float:
    rates_bps: list[float] = demand.rate_bps.tolist()
    return sum(max(0.0, after - before) for before, after in zip([rates_bps[-1], *rates_bps], rates_bps, strict=False))
