"""When to look for a new repetition, and at what: traffic since the old beat was left."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.live.repeat import repeat_bins
from profiler.live.shape import FLAT_FRAC, Shape

if TYPE_CHECKING:
    from profiler.live.bins import Bins

__all__ = ["N_PERIODS_KEPT", "Lookout"]

N_PERIODS_KEPT: Final = 40
"""What is older is not looked at: four iterations of ten times the old period."""
GROWTH: Final = 0.06
MOST_BETWEEN: Final = 4.0
"""Another look is worth its cost once the traffic has grown by such a part, or by so many periods."""
CLEAN_LIKENESS: Final = 0.9
JITTER_COST: Final = 5.0
"""Jitter of 1 % of the period shifts the edges of bursts that cover two fifths of it, and costs this many per cent."""
MIN_LIKENESS: Final = 0.55
"""Less is chance."""


class Lookout:
    """Looks for a repetition in traffic that has left its beat; places are counted in bins."""

    def __init__(self, bins: Bins, *, n_bins: int) -> None:
        self.first = 0.0
        """Where the traffic that is looked at begins."""
        self._bins = bins
        self._n_bins = n_bins
        self._looked_at = 0.0

    def begin(self, place: float) -> None:
        """Look at nothing that lies before a place."""
        self.first = place

    def look(self, *, at: int, shape: Shape, usual_fit: float, jitter_frac: float) -> float | None:
        """Return the length in bins of what repeats up to a place, or None.

        Parameters
        ----------
        at
            The newest place.
        shape
            The job's typical iteration.
        usual_fit, jitter_frac
            How well the job's iterations fit their shape, and how much their lengths vary: of noisy iterations less
            likeness is asked.
        """
        n_new, n_seen = at - self._looked_at, max(0.0, self._looked_at - self.first)
        if n_new < min(GROWTH * n_seen, MOST_BETWEEN * self._n_bins):
            return None
        self._looked_at = float(at)
        first = max(math.floor(self.first), at - N_PERIODS_KEPT * self._n_bins + 1)
        return self.between(first, at, shape=shape, usual_fit=usual_fit, jitter_frac=jitter_frac)

    def between(self, first: int, at: int, *, shape: Shape, usual_fit: float, jitter_frac: float) -> float | None:
        """Return the length in bins of what repeats between two places, up to the second, or None; see `look`."""
        rate_bps = self._bins.between(first, at)
        if np.isnan(rate_bps).any():
            return None
        likeness = usual_fit**2 * (CLEAN_LIKENESS - JITTER_COST * jitter_frac)
        return repeat_bins(
            rate_bps,
            old_bps=shape.rate_bps,
            least_likeness=max(MIN_LIKENESS, likeness),
            least_variance=FLAT_FRAC * shape.variance,
        )
