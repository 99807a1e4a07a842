"""Classes of commensurate jobs, and solving across them.

Two periods whose common multiple is far away meet at every relative phase: shifting one against the other changes
next to nothing. So jobs are grouped into classes, of those whose phases matter to each other; inside a class the
excess is exact, across classes the others enter by the distribution of their levels. Whole classes are then settled
against each other, and what that can matter at most is the gap (`pipeline.compat.strangers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.bounds import lower_bound
from pipeline.compat.class_sweep import place_each
from pipeline.compat.commensurate import commensurate_classes
from pipeline.compat.kinks import FLAT_FRAC
from pipeline.compat.level_floor import gathered_levels, gathered_without_each, least_spread
from pipeline.compat.levels import MAX_LEVELS, independent_levels, levels_of
from pipeline.compat.strangers import Band, fits_circle, most_of_phases, settled
from pipeline.deadline import NEVER

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess
    from pipeline.compat.placement import Effort, Placement
    from pipeline.deadline import Deadline

__all__ = ["ClassedPlacement", "commensurate_classes", "fits_circle", "place_classes", "seen_by"]

CLOSE_FRAC: Final = 0.02
"""A gap of this share of the capacity is not worth the milliseconds of a linear programme."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassedPlacement:
    """Shifts of all jobs with the classes they were found in; ``excess_bps >= bound_bps``, which no shifts can beat."""

    placement: Placement
    bound_bps: float
    classes: tuple[tuple[int, ...], ...]


def seen_by(
    i_class: int,
    classes: Sequence[tuple[int, ...]],
    *,
    demands: Sequence[Demand],
    shifts: Sequence[int],
    excess: Excess,
) -> Excess:
    """Return the excess as one class sees it: the others at their shifts, at any phase."""
    others = [Band.of(demands, members, shifts_ns=shifts).levels for i, members in enumerate(classes) if i != i_class]
    return replace(excess, others=independent_levels([excess.others, *others]))


def place_classes(
    demands: Sequence[Demand],
    *,
    pools: Sequence[Sequence[int]],
    excess: Excess,
    rng: np.random.Generator,
    deadline: Deadline = NEVER,
    effort: Effort = "proof",
) -> ClassedPlacement:
    """Return the best shifts for ever, class by class, with a bound for all classes together.

    A job alone in its class is moved only if its phase gains anything.

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
    deadline
        When to give the best so far.
    effort
        How far to search; without a proof the bound is only what costs nothing.

    Notes
    -----
    Shifts inside a class are chosen with the other classes at any phase. Where at most one class has several jobs, its
    bound is one for all jobs but for what the phases of classes can matter (`most_between`).
    """
    classes = tuple(members for pool in pools for members in commensurate_classes(demands, pool=pool))
    movable = [members for members in classes if len(members) > 1]
    alone = [levels_of(demands[i]) for members in classes if len(members) == 1 for i in members]
    beside = replace(excess, others=independent_levels([excess.others, *alone]))
    placement = place_each(demands, movable, excess=beside, rng=rng, deadline=deadline, effort=effort)
    bands = ([Band.of(demands, members) for members in classes if members[0] in pool] for pool in pools)
    residual_bps = sum(map(most_of_phases, bands))
    if len(movable) <= 1 and beside.others.rate_bps.size < MAX_LEVELS:
        bound_bps = placement.bound_bps - residual_bps
    elif effort == "descent":
        bound_bps = 0.0
    else:
        bound_bps = _floor(demands, classes, excess=excess) - residual_bps
    if len(pools) == 1 and len(classes) > 1:
        placement = settled(placement, demands=demands, classes=classes, excess=excess)
    if effort == "proof" and placement.excess_bps > bound_bps + CLOSE_FRAC * excess.capacity_bps:
        bound_bps = max(bound_bps, lower_bound(demands, excess=excess))
    bound_bps = max(0.0, min(bound_bps, placement.excess_bps))
    is_proved = placement.excess_bps <= bound_bps + FLAT_FRAC * sum(demand.peak_bps for demand in demands)
    placement = replace(placement, bound_bps=bound_bps, is_proved=is_proved)
    return ClassedPlacement(placement=placement, bound_bps=bound_bps, classes=classes)


def _floor(demands: Sequence[Demand], classes: Sequence[tuple[int, ...]], *, excess: Excess) -> float:
    """Return a bound with independent phases of classes: that of one class beside the least that all others can be."""
    alone = [levels_of(demands[i]) for members in classes if len(members) == 1 for i in members]
    several = [[demands[i] for i in members] for members in classes if len(members) > 1]
    least = [least_spread([levels_of(demand) for demand in members]) for members in several]
    beside = gathered_without_each([*least, gathered_levels([excess.others, *alone])])
    together = gathered_levels([beside[-1], gathered_levels([excess.others, *alone])])
    bounds_bps = [
        lower_bound(members, excess=replace(excess, others=others))
        for members, others in zip(several, beside, strict=False)
    ]
    return max(float(replace(excess, others=together)(np.zeros(1))[0]), *bounds_bps, 0.0)
