"""Iterations unlike the others: those that took far longer (stalls), or moved far more bytes (checkpoints)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.medians import median, robust_spread
from profiler.phases.phase import Outlier
from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.phases.traffic import Traffic

__all__ = ["find_outliers"]

OUTLIER_SPREADS: Final = 6.0
"""What lies within this many spreads of the typical iteration may be jitter."""
OUTLIER_FRAC: Final = 0.3
"""What differs by less than this fraction of the typical iteration is not worth a name."""
MAX_OUTLIERS: Final = 100
"""A longer list is no list of exceptions."""


def find_outliers(
    traffic: Traffic, starts_s: NDArray[np.float64], *, t0_ns: int, are_onsets: bool
) -> tuple[Outlier, ...]:
    """Return the iterations that took far longer or moved far more than the median one.

    Parameters
    ----------
    traffic
        The series' own traffic.
    starts_s
        Start of each iteration, shape (n_starts,), in seconds after the traffic begins.
    t0_ns
        When the traffic begins, UTC epoch ns.
    are_onsets
        Whether these are the onsets of bursts; if not, a long one may only be one whose start was not found.
    """
    lengths_s = np.diff(starts_s)
    if not lengths_s.size:
        return ()
    moved_bytes = np.diff(traffic.bits_at(starts_s)) / BITS_PER_BYTE
    long = _far_above(lengths_s) & are_onsets
    # An iteration whose start was missed is twice as long and moves twice as much: by the time it took it is no more.
    large = _far_above(moved_bytes) & _far_above(moved_bytes / lengths_s)
    return tuple(
        Outlier(
            t_ns=t0_ns + round(float(starts_s[i]) * NS_PER_S),
            duration_s=float(lengths_s[i]),
            moved_bytes=float(moved_bytes[i]),
            kind="large" if large[i] else "long",
        )
        for i in np.flatnonzero(long | large)[:MAX_OUTLIERS]
    )


def _far_above(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    typical = median(values)
    return values > typical + max(OUTLIER_SPREADS * robust_spread(values), OUTLIER_FRAC * typical)
