"""Cumulative traffic on a uniform grid: what moved between any two times, at the cost of a look-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.signals import UniformRate

__all__ = ["Traffic"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traffic:
    """Bits moved, and seconds of which the rate is known, from the first edge to each edge of a grid.

    Both float64, shape (n_bins + 1,); edge ``i`` is ``i * dt_s`` seconds after the first. ``is_known`` tells whether
    all of it is.
    """

    dt_s: float
    bits: NDArray[np.float64]
    known_s: NDArray[np.float64]
    is_known: bool

    @classmethod
    def of(cls, rate: UniformRate) -> Self:
        """Add up a rate; what is not known of it counts neither as bits nor as time."""
        bits = np.concatenate(([0.0], np.cumsum(rate.rate_bps * rate.dt_s)))
        known_s = np.concatenate(([0.0], np.cumsum(rate.known * rate.dt_s)))
        return cls(dt_s=rate.dt_s, bits=bits, known_s=known_s, is_known=bool(rate.known.all()))

    @property
    def n_bins(self) -> int:
        """Number of bins between edges."""
        return self.bits.size - 1

    def bits_at(self, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bits moved by some times, any shape; those outside the grid count as at its ends."""
        return self._at(self.bits, t_s)

    def known_at(self, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the known seconds by some times, any shape."""
        if self.is_known:
            return np.asarray(np.clip(t_s, 0.0, self.n_bins * self.dt_s))
        return self._at(self.known_s, t_s)

    def _at(self, total: NDArray[np.float64], t_s: NDArray[np.float64]) -> NDArray[np.float64]:
        # np.interp searches for each time; on a uniform grid the place is known.
        place = np.clip(t_s / self.dt_s, 0.0, self.n_bins)
        before = np.minimum(place.astype(np.int64), self.n_bins - 1)
        low = total[before]
        value: NDArray[np.float64] = low + (place - before) * (total[before + 1] - low)
        return value
