"""Classes of commensurate jobs, and solving across them.

Two periods whose common multiple is far away meet at every relative phase: shifting one against the other changes
next to nothing. So jobs are grouped into classes whose common circle can be laid out; inside a class the excess is
exact, across classes the others enter by the distribution of their levels. What that leaves out is bounded: shifts
matter only modulo ``g = gcd(L, L')`` of the classes' circles, and moving a class by t changes the excess by at most t
times its variation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.bounds import lower_bound
from pipeline.compat.demand import superpose
from pipeline.compat.levels import Levels, independent_levels, levels_of
from pipeline.compat.placement import Placement
from pipeline.compat.solver import place_jobs
from pipeline.compat.timeline import Circle

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess

__all__ = ["ClassedPlacement", "commensurate_classes", "fits_circle", "place_classes", "seen_by"]

MAX_CIRCLE_EDGES: Final = 4096
"""A class's common circle has at most this many edges."""

N_SWEEPS: Final = 3
"""How often each class is solved again against the others' levels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassedPlacement:
    """Shifts of all jobs with the classes they were found in; ``excess_bps >= bound_bps``, which no shifts can beat."""

    placement: Placement
    bound_bps: float
    classes: tuple[tuple[int, ...], ...]


def commensurate_classes(demands: Sequence[Demand], *, pool: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Group the demands of a pool whose common circle has few enough edges; two alone always are one class.

    The exact kernel of two jobs needs no common circle.
    """
    if len(pool) <= 2:
        return (tuple(pool),)
    classes: list[list[int]] = []
    for i_job in sorted(pool, key=lambda i: (demands[i].period_ns, i)):
        home = next((c for c in classes if fits_circle([demands[i] for i in (*c, i_job)])), None)
        if home is None:
            classes.append([i_job])
        else:
            home.append(i_job)
    return tuple(tuple(sorted(members)) for members in classes)


def fits_circle(demands: Sequence[Demand]) -> bool:
    """Return whether the common circle of some demands has few enough edges to be laid out."""
    length_ns = math.lcm(*(demand.period_ns for demand in demands))
    return sum(demand.edges_ns.size * (length_ns // demand.period_ns) for demand in demands) <= MAX_CIRCLE_EDGES


def seen_by(
    i_class: int,
    classes: Sequence[tuple[int, ...]],
    *,
    demands: Sequence[Demand],
    shifts: Sequence[int],
    excess: Excess,
) -> Excess:
    """Return the excess as one class sees it: the others at their shifts, at any phase."""
    others = [
        _levels_at([demands[j] for j in members], shifts_ns=[shifts[j] for j in members])
        for i, members in enumerate(classes)
        if i != i_class
    ]
    return replace(excess, others=independent_levels([excess.others, *others]))


def place_classes(
    demands: Sequence[Demand],
    *,
    pools: Sequence[Sequence[int]],
    excess: Excess,
    rng: np.random.Generator,
) -> ClassedPlacement:
    """Return the best shifts for ever, class by class, with a bound for all classes together.

    A job alone in its class has no shift that matters. Where no more than one class has several jobs and its placement
    is proved, so is the whole but for the residual.

    Parameters
    ----------
    demands
        One a job.
    pools
        Jobs that may share a class; between jobs of different pools there is no lasting phase.
    excess
        What a rate costs.
    rng
        Source of the random starts.
    """
    classes = tuple(members for pool in pools for members in commensurate_classes(demands, pool=pool))
    movable = [members for members in classes if len(members) > 1]
    alone = [levels_of(demands[i]) for members in classes if len(members) == 1 for i in members]
    beside = replace(excess, others=independent_levels([excess.others, *alone]))
    placement = _sweep(demands, movable, excess=beside, rng=rng)
    bound_bps = lower_bound(demands, excess=excess)
    if placement.is_proved:
        residual_bps = sum(_residual(demands, [c for c in classes if c[0] in pool]) for pool in pools)
        bound_bps = max(bound_bps, placement.excess_bps - residual_bps)
    return ClassedPlacement(placement=placement, bound_bps=min(bound_bps, placement.excess_bps), classes=classes)


def _sweep(
    demands: Sequence[Demand], movable: Sequence[tuple[int, ...]], *, excess: Excess, rng: np.random.Generator
) -> Placement:
    """Place one class of several jobs after the other, given the levels of all jobs that are alone."""
    shifts = [0] * len(demands)
    excess_bps, best_bps = float(excess(np.zeros(1))[0]), math.inf
    is_proved = not movable
    for _ in range(N_SWEEPS if len(movable) > 1 else 1):
        for i_class, members in enumerate(movable):
            seen = seen_by(i_class, movable, demands=demands, shifts=shifts, excess=excess)
            found = _place_class([demands[i] for i in members], excess=seen, rng=rng)
            for i_job, shift_ns in zip(members, found.shifts_ns, strict=True):
                shifts[i_job] = shift_ns
            excess_bps, is_proved = found.excess_bps, found.is_proved and len(movable) == 1
        if excess_bps >= best_bps:
            break
        best_bps = excess_bps
    return Placement(shifts_ns=tuple(shifts), excess_bps=excess_bps, is_proved=is_proved)


def _place_class(demands: Sequence[Demand], *, excess: Excess, rng: np.random.Generator) -> Placement:
    circle = Circle(demands=demands, excess=excess)
    return place_jobs(circle, bound_bps=lower_bound(demands, excess=excess), rng=rng)


def _levels_at(demands: Sequence[Demand], *, shifts_ns: Sequence[int]) -> Levels:
    """Return the levels of a class at its shifts; of two jobs whose circle is too long, those of any shifts."""
    if not fits_circle(demands):
        return independent_levels(levels_of(demand) for demand in demands)
    length_ns = math.lcm(*(demand.period_ns for demand in demands))
    return levels_of(superpose(demands, shifts_ns=shifts_ns, length_ns=length_ns))


def _residual(demands: Sequence[Demand], classes: Sequence[tuple[int, ...]]) -> float:
    """Return by how much the excess can differ from that of independent classes.

    A class moved over the whole of ``g`` averages to independence, and no shift is further than g/2 from any other,
    g/4 on average.
    """
    lengths_ns = [math.lcm(*(demands[i].period_ns for i in members)) for members in classes]
    steepness = [sum(demands[i].variation_bps / demands[i].period_ns for i in members) for members in classes]
    residual_bps = 0.0
    for i in range(len(classes) - 1):
        common_ns = math.gcd(lengths_ns[i], math.lcm(*lengths_ns[i + 1 :]))
        residual_bps += common_ns / 4 * min(steepness[i], sum(steepness[i + 1 :]))
    return residual_bps
