"""What a series may have done in the bins that are not known, from what it does elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.autocorrelation import autocorrelations
from profiler.period.clock import clocked_starts
from profiler.period.folding import Fold
from profiler.period.prepare import MIN_BINS
from profiler.period.repetition import is_repetition, strongest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.period.prepare import Prepared

__all__ = ["filled_by_fold"]

MIN_UNKNOWN_FRAC: Final = 2e-3
"""Fewer bins than this change no spectrum."""
MIN_PARTS: Final = 6
MAX_PARTS: Final = 48


def filled_by_fold(prepared: Prepared) -> NDArray[np.float64] | None:
    """Return a series with its unknown bins as its own repetition would have them, shape (n_bins,).

    None where hardly a bin is unknown, or nothing repeats. Holes that come again and again, filled with what is around
    them, would make lines of their own between those of a job; the autocorrelation leaves holes out.
    """
    unknown = prepared.weight == 0
    if np.mean(unknown) < MIN_UNKNOWN_FRAC:
        return None
    repetition = strongest(autocorrelations(prepared, min_bins=MIN_BINS))
    if repetition is None or not is_repetition(repetition):
        return None
    times_s = (np.arange(prepared.n_bins, dtype=np.float64) + 0.5) * prepared.dt_s
    n_parts = int(np.clip(repetition.period_s / prepared.dt_s, MIN_PARTS, MAX_PARTS))
    starts_s = clocked_starts(prepared, repetition.period_s)
    fold = Fold.of(starts_s, times_s, period_s=repetition.period_s, n_parts=n_parts)
    return np.where(unknown, fold.spread(fold.means(prepared.x, prepared.weight)), prepared.x)
