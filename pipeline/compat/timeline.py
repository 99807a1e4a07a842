"""Timelines: the stretch of time over which the shifts of several jobs are judged.

`Circle` judges for ever: all periods divide a common one. `Window` judges the next so many seconds with the real
periods, whatever their ratio. Both answer one question: the mean excess against the shift of one job, the others
standing still.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pipeline.compat.board import board_of
from pipeline.compat.demand import superpose
from pipeline.compat.kernel import excess_of, shift_curve, window_curve

if TYPE_CHECKING:
    from pipeline.compat.board import Board
    from pipeline.compat.demand import Demand
    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.levels import Excess

__all__ = ["Circle", "Timeline", "Window", "excess_at"]


class Timeline(Protocol):
    """Where the shifts of some demands are judged."""

    @property
    def demands(self) -> Sequence[Demand]:
        """The demands, in the order of their shifts."""

    def curve(self, i_job: int, *, shifts_ns: Sequence[int], beside: Sequence[int]) -> ShiftCurve:
        """Return the mean excess against the shift of one job beside the given others."""

    def alone(self, i_job: int) -> float:
        """Return the mean excess of one job without the others."""

    def board(self) -> Board:
        """Return the demands as compiled loops take them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """All of time: for demands whose least common period is short enough to lay out."""

    demands: Sequence[Demand]
    excess: Excess

    def curve(self, i_job: int, *, shifts_ns: Sequence[int], beside: Sequence[int]) -> ShiftCurve:
        """Return the mean excess against the shift of one job beside the given others."""
        others = [self.demands[i] for i in beside]
        length_ns = math.lcm(*(demand.period_ns for demand in others))
        fixed = superpose(others, shifts_ns=[shifts_ns[i] for i in beside], length_ns=length_ns)
        return shift_curve(fixed, self.demands[i_job], excess=self.excess)

    def alone(self, i_job: int) -> float:
        """Return the mean excess of one job without the others."""
        return excess_of(self.demands[i_job], excess=self.excess)

    def board(self) -> Board:
        """Return the demands on their common circle, which must be short enough to lay out."""
        return board_of(self.demands, excess=self.excess, window_ns=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time from 0 to ``length_ns``, with periods of any ratio."""

    demands: Sequence[Demand]
    excess: Excess
    length_ns: int

    def curve(self, i_job: int, *, shifts_ns: Sequence[int], beside: Sequence[int]) -> ShiftCurve:
        """Return the mean excess against the shift of one job beside the given others."""
        others = [self.demands[i] for i in beside]
        fixed = superpose(others, shifts_ns=[shifts_ns[i] for i in beside], length_ns=self.length_ns)
        return window_curve(fixed, self.demands[i_job], excess=self.excess)

    def alone(self, i_job: int) -> float:
        """Return the mean excess of one job without the others, begun at the window's start."""
        only = superpose([self.demands[i_job]], shifts_ns=[0], length_ns=self.length_ns)
        return excess_of(only, excess=self.excess)

    def board(self) -> Board:
        """Return the demands over the window."""
        return board_of(self.demands, excess=self.excess, window_ns=self.length_ns)


def excess_at(timeline: Timeline, shifts_ns: Sequence[int]) -> float:
    """Return the mean excess of all demands at given shifts, one a demand."""
    n_jobs = len(timeline.demands)
    if n_jobs == 1:
        return timeline.alone(0)
    curve = timeline.curve(0, shifts_ns=shifts_ns, beside=range(1, n_jobs))
    return float(curve.at(shifts_ns[0]))
