"""How well the newest iterations matched their shape, and what a good match is."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

__all__ = ["Fits"]

N_KEPT: Final = 64
"""Enough for a median and a spread, few enough to follow noise that changes."""
N_REMEMBERED: Final = 512
BEST_PERCENTILES: Final = (75, 90)
"""Of so many, the quarter that fits best tells how iterations look alone, for minutes after another job has joined."""
ALONE_DROP: Final = 0.05
ALONE_SPREADS: Final = 3.0
"""Fits of a job alone fall short of its best by less: of normal ones, all but one in seven, and most medians of few."""
FIRST_FIT: Final = 0.8
"""Taken as usual before the first iteration: less than steady jobs have, more than noisy ones."""
GOOD_FRAC: Final = 0.5
"""A match at least this part of the usual one is good, however noisy the traffic."""
GOOD_DROP: Final = 0.15
"""A match that falls short of the usual one by less is good, however steady the traffic."""
GOOD_SPREADS: Final = 5.0
"""A match within so many standard deviations is good: chance goes further once in a million iterations."""
MAD_TO_SIGMA: Final = 1.4826


class Fits:
    """Correlations of the newest iterations with their shape.

    Attributes
    ----------
    usual
        Their median.
    least_good
        The least correlation of a good match.
    """

    def __init__(self) -> None:
        self._fits: deque[float] = deque(maxlen=N_KEPT)
        self._remembered: deque[float] = deque(maxlen=N_REMEMBERED)
        self.usual = FIRST_FIT
        self.least_good = GOOD_FRAC * FIRST_FIT

    def add(self, fit: float) -> None:
        """Take the correlation of the next iteration."""
        self._fits.append(fit)
        self._remembered.append(fit)
        fits = np.array(self._fits)
        self.usual = float(np.median(fits))
        spread = MAD_TO_SIGMA * float(np.median(np.abs(fits - self.usual)))
        self.least_good = max(GOOD_FRAC * self.usual, self.usual - max(GOOD_DROP, GOOD_SPREADS * spread))

    def are_alone(self, n_newest: int) -> bool:
        """Return whether the newest iterations fit about as well as the best do: no other traffic lies on them."""
        newest = list(self._fits)[-n_newest:]
        best, still_better = np.percentile(self._remembered, BEST_PERCENTILES)
        drop = max(ALONE_DROP, ALONE_SPREADS * (still_better - best))
        return bool(np.median(newest) >= best - drop)
