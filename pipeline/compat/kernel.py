"""The exact kernel: mean excess as a function of one job's shift, piecewise linear with every kink known.

For a moving demand b against a fixed one a, the mean excess E(s) of ``f(a(t) + b(t - s))`` changes its slope only
where an edge of b meets an edge of a. With ``f`` convex the change at such a meeting is ``-[f(a- + b-) - f(a- + b+) -
f(a+ + b-) + f(a+ + b+)] / lcm(Ta, Tb)``, and each pair of edges meets once in every ``g = gcd(Ta, Tb)`` of shift and
once in every ``lcm`` of time. The mean of E over all shifts is the mean excess of the two with independent phases,
which fixes the offset. So the cost depends on the edges, never on the lcm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pipeline.compat.board import cost_of, kinks_for, steps_of
from pipeline.compat.kinks import FLAT_FRAC, fill_kinks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess

__all__ = ["Plateau", "ShiftCurve", "add_curves", "excess_of", "shift_curve", "window_curve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """A stretch of shifts over which the excess is the same; ``width_ns`` 0 is a single point."""

    start_ns: int
    width_ns: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShiftCurve:
    """Mean excess against the shift of one job: linear between kinks, periodic in ``period_ns``.

    Parameters
    ----------
    period_ns
        Shifts that differ by this are the same.
    kinks_ns
        Shifts at which the slope changes, or at which an edge that rises meets one that falls; strictly increasing in
        [0, period_ns); int64, shape (n_kinks,).
    excess_bps
        Mean excess at each kink; float64, shape (n_kinks,).
    scale_bps
        Size of the rates that were added, against which rounding is judged.
    """

    period_ns: int
    kinks_ns: NDArray[np.int64]
    excess_bps: NDArray[np.float64]
    scale_bps: float

    @property
    def minimum_bps(self) -> float:
        """Least mean excess over all shifts."""
        return float(self.excess_bps.min())

    @property
    def mean_bps(self) -> float:
        """Mean over all shifts: the excess of independent phases."""
        widths_ns = np.diff(self.kinks_ns, append=self.kinks_ns[0] + self.period_ns)
        return float((self.excess_bps + np.roll(self.excess_bps, -1)) @ widths_ns) / 2 / self.period_ns

    def at(self, shift_ns: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """Return the mean excess at each shift."""
        value: NDArray[np.float64] = np.interp(
            np.asarray(shift_ns) % self.period_ns, self.kinks_ns, self.excess_bps, period=self.period_ns
        )
        return value

    def mean_over(self, start_ns: int, *, width_ns: int) -> float:
        """Return the mean over the shifts from ``start_ns`` to ``start_ns + width_ns``."""
        if width_ns == 0:
            return float(self.at(start_ns))
        whole, rest_ns = divmod(width_ns, self.period_ns)
        inner_ns = start_ns + np.sort((self.kinks_ns - start_ns) % self.period_ns)
        times_ns = np.concatenate([[start_ns], inner_ns[inner_ns < start_ns + rest_ns], [start_ns + rest_ns]])
        rest = float(np.trapezoid(self.at(times_ns), times_ns))
        return (whole * self.period_ns * self.mean_bps + rest) / width_ns

    def kinks_within(self, length_ns: int) -> NDArray[np.int64]:
        """Return every kink in [0, length_ns), a multiple of the curve's period."""
        starts_ns = np.arange(0, length_ns, self.period_ns, dtype=np.int64)
        return (starts_ns[:, None] + self.kinks_ns[None, :]).ravel()

    def plateaus(self, *, within_bps: float = 0.0) -> list[Plateau]:
        """Return every stretch of shifts whose excess is at most ``within_bps`` above the minimum, widest first.

        Equally wide ones come in the order of their start. If all shifts are alike there is one, as wide as the period.
        """
        limit_bps = self.minimum_bps + within_bps + FLAT_FRAC * self.scale_bps
        inside = self.excess_bps <= limit_bps
        if inside.all():
            return [Plateau(start_ns=0, width_ns=self.period_ns)]
        firsts = np.flatnonzero(inside & ~np.roll(inside, 1))
        plateaus = [self._grown(int(first), inside=inside, limit_bps=limit_bps) for first in firsts]
        return sorted(plateaus, key=lambda plateau: (-plateau.width_ns, plateau.start_ns))

    def best_shift_ns(self) -> int:
        """Return the middle of the widest plateau of minima; 0 if every shift is as good as any other."""
        plateau = self.plateaus()[0]
        if plateau.width_ns == self.period_ns:
            return 0
        return (plateau.start_ns + plateau.width_ns // 2) % self.period_ns

    def edge_shift_ns(self) -> int:
        """Return the start of the widest plateau of minima, where edges meet; 0 if all shifts are alike."""
        return self.plateaus()[0].start_ns

    def slack_ns(self, shift_ns: int, *, within_bps: float) -> int:
        """Return how far the shift may move either way with an excess of at most ``within_bps`` above the minimum."""
        for plateau in self.plateaus(within_bps=within_bps):
            into_ns = (shift_ns - plateau.start_ns) % self.period_ns
            if plateau.width_ns == self.period_ns:
                return self.period_ns // 2
            if into_ns <= plateau.width_ns:
                return min(into_ns, plateau.width_ns - into_ns)
        return 0

    def _grown(self, first: int, *, inside: NDArray[np.bool_], limit_bps: float) -> Plateau:
        """Return the run of kinks from ``first`` on, grown on both sides to where the excess crosses the limit."""
        n = inside.size
        outside = np.flatnonzero(~np.roll(inside, -first))[0]
        last = (first + int(outside) - 1) % n
        start_ns = int(self.kinks_ns[first]) - self._reach_ns(first, towards=-1, limit_bps=limit_bps)
        end_ns = int(self.kinks_ns[last]) + self._reach_ns(last, towards=1, limit_bps=limit_bps)
        return Plateau(start_ns=start_ns % self.period_ns, width_ns=(end_ns - start_ns) % self.period_ns)

    def _reach_ns(self, kink: int, *, towards: Literal[-1, 1], limit_bps: float) -> int:
        """Return how far from a kink, towards its neighbour, the excess stays within the limit."""
        neighbour = (kink + towards) % self.kinks_ns.size
        gap_ns = towards * int(self.kinks_ns[neighbour] - self.kinks_ns[kink]) % self.period_ns
        rise_bps = self.excess_bps[neighbour] - self.excess_bps[kink]
        return int(gap_ns * (limit_bps - self.excess_bps[kink]) / rise_bps)


def shift_curve(fixed: Demand, moving: Demand, *, excess: Excess) -> ShiftCurve:
    """Return the mean excess of two demands against the shift of the second.

    Parameters
    ----------
    fixed, moving
        Two periodic demands; their periods may have any ratio.
    excess
        What a rate costs: the excess over the capacity left by everything else.

    Returns
    -------
    ShiftCurve
        Periodic in the greatest common divisor of the two periods.

    Notes
    -----
    O(n_fixed n_moving log) time and memory in the numbers of edges.
    """
    common_ns = math.gcd(fixed.period_ns, moving.period_ns)
    lcm_ns = fixed.period_ns / common_ns * moving.period_ns
    return _curve(fixed, moving, excess=excess, repeats=(common_ns, lcm_ns, False))


def window_curve(fixed: Demand, moving: Demand, *, excess: Excess) -> ShiftCurve:
    """Return the mean excess over the window [0, fixed.period_ns) against the shift of a periodic demand.

    Unlike in `shift_curve`, ``fixed`` does not repeat: what happens outside the window costs nothing.
    """
    return _curve(fixed, moving, excess=excess, repeats=(moving.period_ns, float(fixed.period_ns), True))


def excess_of(demand: Demand, *, excess: Excess) -> float:
    """Return the mean excess of one demand over its period."""
    return float(demand.widths_ns @ excess(demand.rate_bps)) / demand.period_ns


def add_curves(curves: Sequence[ShiftCurve], *, weights: Sequence[float], period_ns: int) -> ShiftCurve:
    """Return the weighted sum of curves over the shift of one job, whose period is a multiple of each curve's."""
    kinks_ns = np.unique(np.concatenate([curve.kinks_within(period_ns) for curve in curves]))
    total = np.zeros(kinks_ns.size)
    for curve, weight in zip(curves, weights, strict=True):
        total += weight * curve.at(kinks_ns)
    scale_bps = sum(weight * curve.scale_bps for curve, weight in zip(curves, weights, strict=True))
    return ShiftCurve(period_ns=period_ns, kinks_ns=kinks_ns, excess_bps=total, scale_bps=scale_bps)


def _curve(fixed: Demand, moving: Demand, *, excess: Excess, repeats: tuple[int, float, bool]) -> ShiftCurve:
    kinks = kinks_for(fixed.edges_ns.size + 1, moving.edges_ns.size)
    n = fill_kinks(steps_of(fixed), steps_of(moving), repeats, cost_of(excess), kinks)
    return ShiftCurve(
        period_ns=repeats[0],
        kinks_ns=kinks.shift_ns[:n].copy(),
        excess_bps=kinks.excess_bps[:n].copy(),
        scale_bps=fixed.peak_bps + moving.peak_bps,
    )
