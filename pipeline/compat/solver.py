"""Shifts of n jobs on one circle: descents whose every step is exact, then branch and bound, and a bound of all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pipeline.compat.bounds import lower_bound, quick_bound
from pipeline.compat.branch import branch_and_bound
from pipeline.compat.descents import Descents
from pipeline.compat.kernel import shift_curve
from pipeline.compat.placement import Placement, tolerance_bps
from pipeline.deadline import NEVER

if TYPE_CHECKING:
    import numpy as np

    from pipeline.compat.placement import Effort
    from pipeline.compat.timeline import Circle
    from pipeline.deadline import Deadline

__all__ = ["place_jobs"]

GLANCE_JOBS: Final = 4
GLANCE_WORK: Final = 20_000
"""Of branch and bound after mere descents: a millisecond, which is enough for so few jobs of few bursts."""

PATIENT_JOBS: Final = 12
"""Of so many jobs branch and bound may end in minutes; of more there are too many trees."""

N_LATE_KICKS: Final = 5000
"""These take some seconds, and more would hardly gain."""


def place_jobs(
    circle: Circle,
    *,
    bound_bps: float,
    rng: np.random.Generator,
    deadline: Deadline = NEVER,
    effort: Effort = "proof",
) -> Placement:
    """Return the best shifts found, that of the first job being 0.

    Parameters
    ----------
    circle
        The demands, and what a rate costs.
    bound_bps
        A lower bound of the mean excess, 0 if none is known: the search ends once it is attained.
    rng
        Source of the random starts.
    deadline
        When to give the best so far. Without one the work is bounded, and the same for the same ``rng``.
    effort
        How far to search.

    Returns
    -------
    Placement
        With the best bound known: that handed in, or what branch and bound or the demands say.

    Notes
    -----
    Of two jobs the first step is already the optimum. Of more, what descents find (`pipeline.compat.descents`) is
    proved by a bound that it attains (`pipeline.compat.bounds`) or by branch and bound (`pipeline.compat.branch`), as
    far as the work allows. Periods of two jobs may have any ratio; those of more need a circle short enough to lay out.
    """
    if len(circle.demands) == 1:
        return _exact(circle.alone(0), shifts_ns=(0,))
    if len(circle.demands) == 2:
        curve = shift_curve(*circle.demands, excess=circle.excess)
        return _exact(curve.minimum_bps, shifts_ns=(0, curve.best_shift_ns()))
    bound_bps = max(bound_bps, quick_bound(circle.demands, excess=circle.excess))
    descents = Descents(circle, bound_bps=bound_bps, rng=rng, deadline=deadline)
    steps: tuple[Callable[[Placement], Placement], ...] = (
        lambda best: branch_and_bound(circle, start=best, deadline=deadline),
        descents.kicked,
        lambda best: _bounded(best, circle),
        lambda best: _pursued(best, circle, descents=descents, deadline=deadline),
    )
    if effort == "descent":
        max_work = GLANCE_WORK if len(circle.demands) <= GLANCE_JOBS else 0
        steps = (lambda best: branch_and_bound(circle, start=best, deadline=deadline, max_work=max_work),)
    best = descents.best_of_starts()
    for step in steps:
        if best.is_proved or deadline.is_over():
            break
        best = step(best)
    return descents.centred(best)


def _exact(excess_bps: float, *, shifts_ns: tuple[int, ...]) -> Placement:
    return Placement(
        shifts_ns=shifts_ns, excess_bps=excess_bps, bound_bps=excess_bps, is_proved=True, method="exact kernel"
    )


def _bounded(best: Placement, circle: Circle) -> Placement:
    """Return a placement with the bounds that take milliseconds, too."""
    bound_bps = min(best.excess_bps, max(best.bound_bps, lower_bound(circle.demands, excess=circle.excess)))
    is_proved = best.excess_bps <= bound_bps + tolerance_bps(circle)
    return replace(best, bound_bps=bound_bps, is_proved=is_proved)


def _pursued(best: Placement, circle: Circle, *, descents: Descents, deadline: Deadline) -> Placement:
    """Return what is found in the time that is left, if a deadline is set: it may take all of it."""
    if not deadline.is_finite:
        return best
    if len(circle.demands) > PATIENT_JOBS:
        return descents.kicked(best, n_kicks=N_LATE_KICKS)
    return branch_and_bound(circle, start=best, deadline=deadline, max_work=math.inf)
