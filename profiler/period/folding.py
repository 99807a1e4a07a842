"""A series laid over itself period by period, from iteration starts that may wander."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Fold"]

MIN_STARTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """Which part of an iteration each bin of a series lies in; int64, shape (n_bins,), of ``n_parts``."""

    part: NDArray[np.int64]
    n_parts: int

    @classmethod
    def of(cls, starts_s: NDArray[np.float64], times_s: NDArray[np.float64], *, period_s: float, n_parts: int) -> Self:
        """Return the fold of times (s) by iteration starts (s); before the first and after the last by the period."""
        if starts_s.size < MIN_STARTS:
            cycles = times_s / period_s
        else:
            index = np.concatenate(([0.0], np.cumsum(np.maximum(1.0, np.round(np.diff(starts_s) / period_s)))))
            cycles = np.interp(times_s, starts_s, index)
            cycles += (
                np.minimum(times_s - starts_s[0], 0.0) / period_s + np.maximum(times_s - starts_s[-1], 0.0) / period_s
            )
        part = np.minimum((cycles % 1.0 * n_parts).astype(np.int64), n_parts - 1)
        return cls(part=part, n_parts=n_parts)

    def counts(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight that falls into each part, shape (n_parts,)."""
        return np.bincount(self.part, weight, minlength=self.n_parts).astype(np.float64)

    def means(self, values: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted mean of values in each part, 0 where a part has no weight; shape (n_parts,)."""
        sums = np.bincount(self.part, values * weight, minlength=self.n_parts)
        return sums / np.maximum(self.counts(weight), np.finfo(np.float64).tiny)

    def spread(self, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each bin the value of the part that it lies in, shape (n_bins,)."""
        return parts[self.part]
