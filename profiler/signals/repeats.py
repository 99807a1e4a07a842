"""How often a counter without a clock that was found tells the reading before once more amid traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.signals.stale import silences

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["repeated_frac"]

LONGEST_RUN: Final = 2
"""More reads in a row that see nothing are a pause, which a job of four reads an iteration makes too."""
WHOLE: Final = 0.5
"""Reads beside a pause see a part of its window each: both at least this part of those further off by chance alone."""
MIN_REPEATS: Final = 20
MIN_WHOLE_FRAC: Final = 0.5
"""Where fewer silences than this stand between whole reads, they are the traffic's: a third do in the worst case of a
job that four reads an iteration show."""
MIN_FRAC: Final = 0.1
"""Of fewer, short pauses of a steady job are as good an explanation, and rates are mostly right."""


def repeated_frac(moved_bytes: NDArray[np.float64]) -> float:
    """Return the part of the reads amid traffic that repeat the one before; 0 where pauses explain them as well.

    Parameters
    ----------
    moved_bytes
        By how much the counter moved from each read to the next, shape (n_reads - 1,).

    Notes
    -----
    A device that copies its counter more slowly than it is read, at no interval that can be found, shows nothing at
    some reads and a whole copy at those beside them. A pause of the traffic takes away from the reads at its ends.
    """
    moved = np.trim_zeros(moved_bytes)
    firsts, ends = silences(moved == 0)
    n_reads = ends - firsts
    n_amid = moved.size - int(n_reads[n_reads > LONGEST_RUN].sum())
    is_short = (n_reads <= LONGEST_RUN) & (firsts >= 2) & (ends + 1 < moved.size)
    firsts, ends = firsts[is_short], ends[is_short]
    beside = np.stack([moved[firsts - 1], moved[ends]])
    further = np.stack([moved[firsts - 2], moved[ends + 1]])
    is_whole = beside.min(axis=0) >= WHOLE * np.maximum(beside, further).max(axis=0)
    n_repeats = int(np.count_nonzero(is_whole))
    if n_repeats < max(MIN_REPEATS, MIN_WHOLE_FRAC * firsts.size):
        return 0.0
    found = float((ends - firsts)[is_whole].sum()) / n_amid
    return found if found >= MIN_FRAC else 0.0
