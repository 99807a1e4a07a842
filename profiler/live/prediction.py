"""When the next iteration begins: the loop that is locked to the starts of those before."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["Prediction"]

REACH_FRAC: Final = 0.35
"""An iteration is expected within this part of a period of its prediction; a later one is late."""
PHASE_GAIN: Final = 0.7
"""Part of a start's deviation that the next prediction follows: most, for a compute phase's jitter accumulates."""
PERIOD_GAIN: Final = 0.05
"""Part of it that the period follows: drift over some twenty iterations, and no more than jitter allows."""


class Prediction:
    """An alpha-beta filter [1]_ on the starts of iterations; places are counted in bins.

    Parameters
    ----------
    n_bins
        Bins of a period.
    expected
        Where an iteration is expected to begin.

    Attributes
    ----------
    expected
        Where the next iteration is expected to begin.
    last
        Where the newest one began; None before the first.
    length
        The present length of an iteration.
    reach
        How far from its prediction an iteration may begin and not be late.
    n_regular
        Iterations that came when they were expected.

    References
    ----------
    .. [1] T. R. Benedict, G. W. Bordner, "Synthesis of an optimal set of radar track-while-scan smoothing equations",
       IRE Trans. Automatic Control 7 (1962).
    """

    def __init__(self, *, n_bins: int, expected: float) -> None:
        self.expected = self._even = expected
        self.last: float | None = None
        self.length = float(n_bins)
        self.reach = REACH_FRAC * n_bins
        self.n_regular = 0
        self._n_bins = n_bins

    @property
    def moved(self) -> float:
        """How far the starts have moved from an even beat of the period."""
        return self.expected - self._even

    def overdue(self, at: float) -> float:
        """Return the periods gone by since the next iteration should have begun."""
        return (at - self.expected) / self.length

    def following(self, at: float) -> float:
        """Return where the first iteration after a place is expected to begin."""
        return self.expected + max(0, math.ceil(self.overdue(at))) * self.length

    def take(self, start: float) -> bool:
        """Take where the next iteration began, and return whether it was expected there."""
        off = start - self.expected
        if self.last is not None and abs(off) <= self.reach + 1:
            self.n_regular += 1
            self.length += PERIOD_GAIN * off
            self.expected += PHASE_GAIN * off + self.length
            self._even += self._n_bins
            self.last = start
            return True
        # After a gap the even beat is taken up where the job does: a pause is no drift.
        moved = 0.0 if self.last is None else self.moved
        self.expected = start + self.length
        self._even = self.expected - moved
        self.last = start
        return False

    def coast(self, expected: float, *, length: float) -> None:
        """Go on with an even beat through iterations that could not be seen one by one."""
        moved = self.moved
        self.expected, self.last, self.length = expected, expected - length, length
        self._even = expected - moved
