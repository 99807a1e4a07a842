"""`Refresh`: when a counter is copied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Refresh"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refresh:
    """When a counter is copied: about every ``interval_s``, first at ``phase_s`` after ``t0_ns``.

    The clock may wander against that of the polls, so it is kept as knots: tick number ``knots_ticks[i]`` (not
    whole in general) stands at ``knots_s[i]`` seconds after ``t0_ns``; both increase, float64, shape (n_knots,).
    Between knots the clock is even, and beyond them it keeps ``interval_s``. It ``is_moot`` where a job that sends a
    burst at each tick would look the same.
    """

    t0_ns: int
    interval_s: float
    knots_s: NDArray[np.float64]
    knots_ticks: NDArray[np.float64]
    is_moot: bool = False

    @property
    def phase_s(self) -> float:
        """Time of a tick after ``t0_ns``, from 0 up to the interval."""
        return float(self.times_s(np.ceil(self.ticks(np.zeros(1))))[0]) % self.interval_s

    def ticks(self, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ticks up to times in seconds after ``t0_ns``; whole at a tick."""
        return _extended(t_s, self.knots_s, self.knots_ticks, slope=1 / self.interval_s)

    def times_s(self, ticks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the times of ticks, in seconds after ``t0_ns``."""
        return _extended(ticks, self.knots_ticks, self.knots_s, slope=self.interval_s)


def _extended(
    x: NDArray[np.float64], knots_x: NDArray[np.float64], knots_y: NDArray[np.float64], *, slope: float
) -> NDArray[np.float64]:
    """Interpolate between knots, and go on evenly beyond them."""
    inside: NDArray[np.float64] = np.interp(x, knots_x, knots_y)
    before, after = np.minimum(x - knots_x[0], 0.0), np.maximum(x - knots_x[-1], 0.0)
    extended: NDArray[np.float64] = inside + slope * (before + after)
    return extended
