"""How well the newest iterations matched their shape, and what a good match is."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

__all__ = ["Fits"]

N_KEPT: Final = 64
FIRST_FIT: Final = 0.8
"""Taken as usual before the first iteration."""
GOOD_FRAC: Final = 0.5
"""A match at least this part of the usual one is good, however noisy the traffic."""
GOOD_DROP: Final = 0.15
"""A match that falls short of the usual one by less is good, however steady the traffic."""
GOOD_SPREADS: Final = 5.0
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
        self.usual = FIRST_FIT
        self.least_good = GOOD_FRAC * FIRST_FIT

    def add(self, fit: float) -> None:
        """Take the correlation of the next iteration."""
        self._fits.append(fit)
        fits = np.array(self._fits)
        self.usual = float(np.median(fits))
        spread = MAD_TO_SIGMA * float(np.median(np.abs(fits - self.usual)))
        self.least_good = max(GOOD_FRAC * self.usual, self.usual - max(GOOD_DROP, GOOD_SPREADS * spread))
