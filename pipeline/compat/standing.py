"""`curves_at`: what each of several jobs would change by moving, all others standing still."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.demand import Demand, superpose
from pipeline.compat.kernel import shift_curve, window_curve
from pipeline.compat.timeline import Circle, Window

if TYPE_CHECKING:
    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.timeline import Timeline

__all__ = ["curves_at"]

FEW_JOBS: Final = 8
"""Up to so many jobs the others of each are added up anew, without the rounding of taking one out of all."""


def curves_at(timeline: Timeline, shifts_ns: Sequence[int]) -> Iterator[ShiftCurve]:
    """Yield the mean excess against the shift of each job, one after the other.

    Parameters
    ----------
    timeline, shifts_ns
        Two jobs or more at their shifts, where these are judged.

    Notes
    -----
    Of many jobs all are added up once, and each is taken out again: O(n) instead of O(n²) edges.
    """
    n_jobs = len(shifts_ns)
    if n_jobs <= FEW_JOBS or not isinstance(timeline, Circle | Window):
        for i_job in range(n_jobs):
            beside = [j for j in range(n_jobs) if j != i_job]
            yield timeline.curve(i_job, shifts_ns=shifts_ns, beside=beside)
        return
    curve_of = window_curve if isinstance(timeline, Window) else shift_curve
    demands = timeline.demands
    length_ns = _length_ns(timeline)
    total = superpose(demands, shifts_ns=shifts_ns, length_ns=length_ns)
    for demand, shift_ns in zip(demands, shifts_ns, strict=True):
        left_bps = np.maximum(0.0, total.rate_bps - demand.at(total.edges_ns - shift_ns))
        rest = Demand(period_ns=length_ns, edges_ns=total.edges_ns, rate_bps=left_bps)
        yield curve_of(rest, demand, excess=timeline.excess)


def _length_ns(timeline: Circle | Window) -> int:
    if isinstance(timeline, Window):
        return timeline.length_ns
    return math.lcm(*(demand.period_ns for demand in timeline.demands))
