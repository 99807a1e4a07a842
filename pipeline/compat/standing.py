"""`Standing`: many jobs at their shifts, any of which may be looked at beside the others, and moved."""

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

__all__ = ["Standing", "curves_at"]

FEW_JOBS: Final = 8
"""Up to so many jobs the others of each are added up anew, without the rounding of taking one out of all."""

ROUNDING: Final = 1e-12
"""Of the highest rate: a step below this is left over from a job that was taken out."""


class Standing:
    """Two jobs or more at their shifts, where these are judged.

    Parameters
    ----------
    timeline, shifts_ns
        The jobs, and when each begins.

    Notes
    -----
    Of many jobs all are added up once, and each is taken out again to look at it: O(n) edges instead of O(n²).
    """

    def __init__(self, timeline: Timeline, shifts_ns: Sequence[int]) -> None:
        self._timeline = timeline
        self._shifts_ns = list(shifts_ns)
        self._length_ns = _length_ns(timeline) if len(shifts_ns) > FEW_JOBS else None
        if self._length_ns is not None:
            self._total = superpose(timeline.demands, shifts_ns=shifts_ns, length_ns=self._length_ns)

    @property
    def shifts_ns(self) -> list[int]:
        """The present shift of each job."""
        return list(self._shifts_ns)

    def curve(self, i_job: int) -> ShiftCurve:
        """Return the mean excess against the shift of one job, the others standing still."""
        timeline = self._timeline
        if self._length_ns is None or not isinstance(timeline, Circle | Window):
            beside = [j for j in range(len(self._shifts_ns)) if j != i_job]
            return timeline.curve(i_job, shifts_ns=self._shifts_ns, beside=beside)
        curve_of = window_curve if isinstance(timeline, Window) else shift_curve
        return curve_of(self._without(i_job), timeline.demands[i_job], excess=timeline.excess)

    def move(self, i_job: int, shift_ns: int) -> None:
        """Let a job begin at another time."""
        if self._length_ns is not None:
            both = [self._without(i_job), self._timeline.demands[i_job]]
            self._total = superpose(both, shifts_ns=[0, shift_ns], length_ns=self._length_ns)
        self._shifts_ns[i_job] = shift_ns

    def _without(self, i_job: int) -> Demand:
        own_bps = self._timeline.demands[i_job].at(self._total.edges_ns - self._shifts_ns[i_job])
        left_bps = np.maximum(0.0, self._total.rate_bps - own_bps)
        steps = np.abs(np.diff(left_bps, prepend=math.inf)) > ROUNDING * self._total.peak_bps
        return Demand(period_ns=self._total.period_ns, edges_ns=self._total.edges_ns[steps], rate_bps=left_bps[steps])


def curves_at(timeline: Timeline, shifts_ns: Sequence[int]) -> Iterator[ShiftCurve]:
    """Yield the mean excess against the shift of each of several jobs, one after the other."""
    standing = Standing(timeline, shifts_ns)
    for i_job in range(len(shifts_ns)):
        yield standing.curve(i_job)


def _length_ns(timeline: Timeline) -> int | None:
    """Return the time over which all jobs can be added up; None where that is not one stretch."""
    if isinstance(timeline, Window):
        return timeline.length_ns
    return math.lcm(*(demand.period_ns for demand in timeline.demands)) if isinstance(timeline, Circle) else None
