"""`place_each`: classes placed one after the other, each beside the levels of all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from pipeline.compat.bounds import lower_bound
from pipeline.compat.level_floor import gathered_sum
from pipeline.compat.levels import independent_levels, levels_of
from pipeline.compat.placement import Method, Placement
from pipeline.compat.solver import place_jobs
from pipeline.compat.strangers import Band
from pipeline.compat.timeline import Circle, excess_at

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess, Levels
    from pipeline.compat.placement import Effort
    from pipeline.deadline import Deadline

__all__ = ["place_each"]

MAX_SWEEPS: Final = 3
"""Placing a class changes the levels beside the others, so each is placed again, but no more often than this."""

MAX_PLACED: Final = 12
"""With more classes than this each is placed once: one of many changes little of what is beside the others."""

METHODS: Final[tuple[Method, ...]] = get_args(Method)
"""The strongest first."""


def place_each(
    demands: Sequence[Demand],
    classes: Sequence[tuple[int, ...]],
    *,
    excess: Excess,
    rng: np.random.Generator,
    deadline: Deadline,
    effort: Effort,
) -> Placement:
    """Return the best shifts found within each class, those of all other jobs being 0.

    Parameters
    ----------
    demands
        One a job.
    classes
        Those of several jobs, by index.
    excess
        What a rate costs beside all jobs that are in none of them.
    rng
        Source of the random starts.
    deadline
        When to give the best so far.
    effort
        How far to search.

    Returns
    -------
    Placement
        Its excess is that with independent phases of the classes. Of several classes there is no bound.
    """
    nothing_bps = float(excess(np.zeros(1))[0])
    best = Placement(
        shifts_ns=(0,) * len(demands),
        excess_bps=nothing_bps,
        bound_bps=nothing_bps,
        is_proved=True,
        method="exact kernel",
    )
    sweeps = _Sweeps(demands, classes, excess=excess, rng=rng, deadline=deadline, effort=effort)
    best_bps = math.inf
    for _ in range(_n_sweeps(len(classes))):
        best = sweeps.placed(best)
        if best.excess_bps >= best_bps or deadline.is_over():
            break
        best_bps = best.excess_bps
    if len(classes) < 2:
        return best
    return replace(best, excess_bps=sweeps.excess_at(best.shifts_ns), bound_bps=0.0, is_proved=False)


def _n_sweeps(n_classes: int) -> int:
    if n_classes < 2:
        return n_classes
    return max(1, min(MAX_SWEEPS, MAX_PLACED // n_classes))


class _Sweeps:
    """Several classes with the levels that they have at their present shifts; at first, at any shifts.

    While they are placed, the levels of many others are gathered into fewer.
    """

    def __init__(
        self,
        demands: Sequence[Demand],
        classes: Sequence[tuple[int, ...]],
        *,
        excess: Excess,
        rng: np.random.Generator,
        deadline: Deadline,
        effort: Effort,
    ) -> None:
        self._demands = demands
        self._classes = classes
        self._excess = excess
        self._rng = rng
        self._deadline = deadline
        self._effort = effort
        several = classes if len(classes) > 1 else ()
        self._levels = [independent_levels(levels_of(demands[i]) for i in members) for members in several]

    def placed(self, start: Placement) -> Placement:
        """Place each class once."""
        shifts = list(start.shifts_ns)
        later = list(accumulate(reversed(self._levels[1:]), gathered_sum, initial=self._excess.others))[::-1]
        earlier: Levels | None = None
        found: list[Placement] = []
        for k, members in enumerate(self._classes):
            found.append(self._place(members, others=later[k] if earlier is None else gathered_sum(earlier, later[k])))
            for i_job, shift_ns in zip(members, found[-1].shifts_ns, strict=True):
                shifts[i_job] = shift_ns
            if len(self._classes) > 1:
                self._levels[k] = Band.of(self._demands, members, shifts_ns=shifts).levels
                earlier = self._levels[k] if earlier is None else gathered_sum(earlier, self._levels[k])
        method = max((one.method for one in found), key=METHODS.index)
        return replace(found[-1], shifts_ns=tuple(shifts), method=method)

    def excess_at(self, shifts_ns: Sequence[int]) -> float:
        """Return the excess at the shifts of the last sweep; levels that were gathered meanwhile count in full."""
        members = self._classes[-1]
        others = independent_levels([self._excess.others, *self._levels[:-1]])
        demands = [self._demands[i] for i in members]
        circle = Circle(demands=demands, excess=replace(self._excess, others=others))
        return excess_at(circle, [shifts_ns[i] for i in members])

    def _place(self, members: Sequence[int], *, others: Levels) -> Placement:
        demands = [self._demands[i] for i in members]
        circle = Circle(demands=demands, excess=replace(self._excess, others=others))
        is_bounded = len(demands) > 2 and self._effort == "proof"
        bound_bps = lower_bound(demands, excess=circle.excess) if is_bounded else 0.0
        return place_jobs(circle, bound_bps=bound_bps, rng=self._rng, deadline=self._deadline, effort=self._effort)
