"""Three jobs, proved: some optimum is a spanning tree of edge coincidences, so try every tree.

With two coincidences the three jobs are rigid. Each such tree has a coincidence of the first job with the second or
with the third; for each of these the remaining job's best shift is exact (`shift_curve`). Candidates come in order of
what the pair alone costs, and end where that, with what the third job adds at least, exceeds the best so far.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.placement import Placement, tolerance_bps

if TYPE_CHECKING:
    from pipeline.compat.timeline import Circle

__all__ = ["MAX_COINCIDENCES", "best_of_three", "n_coincidences"]

MAX_COINCIDENCES: Final = 1024
"""More than this many coincidences take too long to try."""


def n_coincidences(circle: Circle) -> int:
    """Return how many coincidences of edges the first job has with the others."""
    first, *others = circle.demands
    return sum(
        first.edges_ns.size * other.edges_ns.size * (other.period_ns // math.gcd(first.period_ns, other.period_ns))
        for other in others
    )


def best_of_three(circle: Circle, *, start: Placement) -> Placement:
    """Return shifts of three jobs that no others can beat, given some to start from.

    Notes
    -----
    The third job adds at least what it adds to either of the two alone, for the excess is supermodular.
    """
    best = start
    tolerance = tolerance_bps(circle)
    for moved, last in ((1, 2), (2, 1)):
        pair = circle.curve(moved, shifts_ns=(0, 0, 0), beside=(0,))
        kinks_ns = pair.kinks_within(circle.demands[moved].period_ns)
        pair_bps = pair.at(kinks_ns) + max(_least_added(circle, last, beside=other) for other in (0, moved))
        for i in np.argsort(pair_bps, kind="stable"):
            if pair_bps[i] >= best.excess_bps - tolerance:
                break
            shifts = [0, 0, 0]
            shifts[moved] = int(kinks_ns[i])
            curve = circle.curve(last, shifts_ns=shifts, beside=(0, moved))
            if curve.minimum_bps < best.excess_bps - tolerance:
                shifts[last] = curve.best_shift_ns()
                best = Placement(shifts_ns=tuple(shifts), excess_bps=curve.minimum_bps)
    return best


def _least_added(circle: Circle, i_job: int, *, beside: int) -> float:
    """Return the least excess that a job adds to another's."""
    return circle.curve(i_job, shifts_ns=(0, 0, 0), beside=(beside,)).minimum_bps - circle.alone(beside)
