"""`Traffic`: rates over intervals of continuous time, and the bytes that have passed by any instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from profiler.errors import UsageError
from profiler.units import BITS_PER_BYTE

__all__ = ["Traffic"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traffic:
    """Intervals with a steady rate each; where they overlap their rates add up.

    Parameters
    ----------
    edges_s
        Start and end of each interval in seconds, in any order; float64, shape (n_intervals, 2).
    rate_bps
        Rate of each in bit/s, rounded to whole ones, so that sums of rates are exact; shape (n_intervals,).

    Raises
    ------
    UsageError
        If shapes do not fit, an interval ends before it starts, or a rate is negative or not finite.

    Examples
    --------
    >>> traffic = Traffic(edges_s=np.array([[1.0, 3.0]]), rate_bps=np.array([800.0]))
    >>> traffic.bytes_at(np.array([0.0, 2.0, 9.0]))
    array([  0, 100, 200])
    """

    edges_s: NDArray[np.float64]
    rate_bps: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.edges_s.shape != (self.rate_bps.size, 2):
            raise UsageError(f"Traffic: edges of shape {self.edges_s.shape} for {self.rate_bps.size} rates")
        if not (np.isfinite(self.edges_s).all() and (self.edges_s[:, 1] >= self.edges_s[:, 0]).all()):
            raise UsageError("Traffic: every interval needs finite edges and must not end before it starts")
        if not (np.isfinite(self.rate_bps) & (self.rate_bps >= 0)).all():
            raise UsageError("Traffic: every rate must be finite and not negative")
        object.__setattr__(self, "rate_bps", np.rint(self.rate_bps))
        for array in (self.edges_s, self.rate_bps):
            array.setflags(write=False)

    @classmethod
    def of_levels(cls, rate_bps: NDArray[np.floating], *, dt_s: float) -> Self:
        """Return traffic whose rate is given for every ``dt_s`` from time 0; what is negative counts as zero."""
        grid_s = np.arange(rate_bps.size + 1) * dt_s
        rates = np.maximum(rate_bps, 0.0).astype(np.float64)
        return cls(edges_s=np.stack([grid_s[:-1], grid_s[1:]], axis=1), rate_bps=rates)

    @classmethod
    def steady(cls, rate_bps: float, *, duration_s: float) -> Self:
        """Return one rate from time 0 on."""
        return cls(edges_s=np.array([[0.0, duration_s]]), rate_bps=np.array([rate_bps]))

    def plus(self, other: Traffic) -> Self:
        """Return both on one wire."""
        return type(self)(
            edges_s=np.concatenate([self.edges_s, other.edges_s]),
            rate_bps=np.concatenate([self.rate_bps, other.rate_bps]),
        )

    def within(self, duration_s: float) -> Self:
        """Return the intervals that touch the time from 0 to ``duration_s``, in order of their starts."""
        inside = np.flatnonzero((self.edges_s[:, 1] > 0) & (self.edges_s[:, 0] < duration_s))
        inside = inside[np.argsort(self.edges_s[inside, 0], kind="stable")]
        return type(self)(edges_s=self.edges_s[inside], rate_bps=self.rate_bps[inside])

    def bytes_at(self, t_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the whole bytes that have passed by each instant, shape of ``t_s``.

        Notes
        -----
        The integral of the rate is piecewise linear with a knot at every edge; it is exact while it stays below 2**53
        bits (a petabyte).
        """
        if not self.rate_bps.size:
            return np.zeros(t_s.shape, dtype=np.int64)
        times_s = self.edges_s.T.ravel()
        order = np.argsort(times_s, kind="stable")
        knots_s = times_s[order]
        rate_after = np.cumsum(np.concatenate([self.rate_bps, -self.rate_bps])[order])
        bits = np.concatenate(([0.0], np.cumsum(rate_after[:-1] * np.diff(knots_s))))
        return np.floor(np.interp(t_s, knots_s, bits) / BITS_PER_BYTE).astype(np.int64)
