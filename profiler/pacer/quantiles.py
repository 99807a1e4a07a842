"""`Quantiles`: quantiles of any number of durations, in bounded memory."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["Quantiles"]

LEAST_S: Final = 1e-6
"""Durations below a microsecond count as 0: reading the clock takes as long."""
BINS_A_DOUBLING: Final = 16
"""Bins this many to a factor of two are 4.4 % wide, so that a bin's middle is within 2.2 % of what is in it."""
MAX_DOUBLINGS: Final = 40
"""Durations above some 12 days share the last bin."""


class Quantiles:
    """Counts durations in bins that widen with them.

    Notes
    -----
    Bin 0 holds what is below 1 µs; bin b > 0 holds ``[1 µs * 2**((b-1)/16), 1 µs * 2**(b/16))``; at most 641 bins are
    kept. A quantile is the geometric middle of the bin that holds it, and never more than the greatest duration.

    Examples
    --------
    >>> lateness = Quantiles()
    >>> for late_ms in range(1, 101):
    ...     lateness.add(late_ms / 1e3)
    >>> round(lateness.at(0.5), 3), round(lateness.at(0.9), 3), lateness.max_s
    (0.049, 0.091, 0.1)
    """

    __slots__ = ("_counts", "max_s", "n")

    def __init__(self) -> None:
        self.n = 0
        self.max_s = 0.0
        self._counts: dict[int, int] = {}

    def add(self, duration_s: float) -> None:
        """Count a duration in seconds."""
        i_bin = 0
        if duration_s >= LEAST_S:
            doublings = min(math.log2(duration_s / LEAST_S), MAX_DOUBLINGS)
            i_bin = 1 + math.floor(BINS_A_DOUBLING * doublings)
        self.n += 1
        self.max_s = max(self.max_s, duration_s)
        self._counts[i_bin] = self._counts.get(i_bin, 0) + 1

    def at(self, share: float) -> float | None:
        """Return the duration in seconds that a share, 0 to 1, of them do not exceed; None if there is none."""
        n_below = 0
        for i_bin in sorted(self._counts):
            n_below += self._counts[i_bin]
            if n_below >= share * self.n:
                return 0.0 if i_bin == 0 else min(self.max_s, LEAST_S * 2 ** ((i_bin - 0.5) / BINS_A_DOUBLING))
        return None

    def to_dict(self) -> dict[str, float | int | None]:
        """Return count, quantiles and maximum, JSON-ready."""
        return {"n": self.n, "p50": self.at(0.5), "p90": self.at(0.9), "p99": self.at(0.99), "max": self.max_s}
