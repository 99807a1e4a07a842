"""`Turns`: the time from now to a horizon that is not a whole number of common circles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.compat.demand import superpose
from pipeline.compat.kernel import add_curves
from pipeline.compat.timeline import Circle, Window, excess_at

if TYPE_CHECKING:
    from pipeline.compat.board import Board
    from pipeline.compat.demand import Demand
    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.levels import Excess

__all__ = ["Turns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The time from 0 to ``length_ns``: as many common circles as it holds, and the rest of one.

    What a `Window` of that length says too, at the cost of one circle.
    """

    demands: Sequence[Demand]
    excess: Excess
    length_ns: int
    circle_ns: int

    @property
    def circle(self) -> Circle:
        """The whole circles."""
        return Circle(demands=self.demands, excess=self.excess)

    @property
    def rest(self) -> Window | None:
        """The part of a circle that is left, if any: it begins as a circle does."""
        rest_ns = self.length_ns % self.circle_ns
        return Window(demands=self.demands, excess=self.excess, length_ns=rest_ns) if rest_ns else None

    @property
    def rest_frac(self) -> float:
        """Share of the rest in the whole time."""
        return self.length_ns % self.circle_ns / self.length_ns

    def mean(self, *, circle_bps: float, rest_bps: float) -> float:
        """Return the mean of what is so much in each circle and in the rest."""
        return (1 - self.rest_frac) * circle_bps + self.rest_frac * rest_bps

    def curve(self, i_job: int, *, shifts_ns: Sequence[int], beside: Sequence[int]) -> ShiftCurve:
        """Return the mean excess against the shift of one job beside the given others."""
        circle = self.circle.curve(i_job, shifts_ns=shifts_ns, beside=beside)
        if self.rest is None:
            return circle
        rest = self.rest.curve(i_job, shifts_ns=shifts_ns, beside=beside)
        weights = [1 - self.rest_frac, self.rest_frac]
        return add_curves([circle, rest], weights=weights, period_ns=self.demands[i_job].period_ns)

    def alone(self, i_job: int) -> float:
        """Return the mean excess of one job without the others, begun at time 0."""
        rest_bps = self.rest.alone(i_job) if self.rest else 0.0
        return self.mean(circle_bps=self.circle.alone(i_job), rest_bps=rest_bps)

    def at(self, shifts_ns: Sequence[int]) -> float:
        """Return the mean excess of all demands at given shifts."""
        rest_bps = excess_at(self.rest, shifts_ns) if self.rest else 0.0
        return self.mean(circle_bps=excess_at(self.circle, shifts_ns), rest_bps=rest_bps)

    def best_begin_ns(self, shifts_ns: Sequence[int]) -> int:
        """Return by how much to begin all demands later, so that the rest of a circle costs least.

        Notes
        -----
        What begins later by a circle is the same, and whole circles cost the same whenever they begin. So the rest is a
        stretch of the circle that slides over it: its excess is least where one of its ends lies on an edge.
        """
        circle_ns, rest_ns = self.circle_ns, self.length_ns % self.circle_ns
        total = superpose(self.demands, shifts_ns=shifts_ns, length_ns=circle_ns)
        begins_ns = np.concatenate([[0], total.edges_ns, (total.edges_ns - rest_ns) % circle_ns])
        edges_ns = np.append(total.edges_ns, circle_ns)
        until = np.concatenate([[0.0], np.cumsum(self.excess(total.rate_bps) * np.diff(edges_ns))])
        ends_ns = begins_ns + rest_ns
        whole = ends_ns // circle_ns * until[-1]
        costs = whole + np.interp(ends_ns % circle_ns, edges_ns, until) - np.interp(begins_ns, edges_ns, until)
        return int(-begins_ns[int(costs.argmin())] % circle_ns)

    def board(self) -> Board:
        """Return the demands as compiled loops take them: over the whole of the time."""
        return Window(demands=self.demands, excess=self.excess, length_ns=self.length_ns).board()
