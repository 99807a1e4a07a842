"""How often a counter without a clock that was found tells the reading before once more amid traffic.

Two signs tell repeats from pauses of the traffic. Where few reads repeat, those beside a repeat are whole, while a
pause takes away from the reads at its ends. Where most do, what a read tells grows with the reads that repeated before
it, while a burst after a pause is as large as it is, however long the pause was. Neither sees a counter whose copies
come at two intervals only that are far apart, and both may mistake bursts shorter than a read that come every three to
six reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.signals.stale import silences

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MIN_FRAC", "repeated_frac"]

LONGEST_RUN: Final = 2
"""More reads in a row between whole ones are a pause, which a job of four reads an iteration makes too."""
WHOLE: Final = 0.5
"""Reads beside a pause see a part of its window each: both at least this part of those further off by chance alone."""
MIN_REPEATS: Final = 20
MIN_WHOLE_FRAC: Final = 0.5
"""Where fewer silences than this stand between whole reads, they are the traffic's: a third do in the worst case of a
job that four reads an iteration show."""
MIN_FRAC: Final = 0.1
"""Of fewer, short pauses of a steady job are as good an explanation, and rates are mostly right."""

ALIKE: Final = 0.5
"""Silences are compared that differ by at most this part of the shorter: two bursts of an iteration may be as unequal
as the pauses before them, and those are not near each other."""
MIN_PAIRS: Final = 20
MIN_SIGMAS: Final = 3.0
"""By so many standard deviations of a fair coin must the longer silence of two be the one before more bytes."""
MIN_AGREEING_FRAC: Final = 0.65
"""And in this part of the pairs: of bursts of many sizes the small ones are seen whole more often, 0.6 at worst."""
MIN_GROWTH: Final = 0.4
"""Bytes grow as the length of the silence to the power of 1 if it was repeats, of 0 if it was a pause; to that of 0.5
where copies come every other read or so, whose intervals whole reads tell poorly."""
PAUSE: Final = 4
"""Among repeats, silences of more than so many times the median are pauses: exponential intervals have 6 in 100."""


def repeated_frac(moved_bytes: NDArray[np.float64]) -> float:
    """Return the part of the reads amid traffic that repeat the one before; 0 where pauses explain them as well.

    Parameters
    ----------
    moved_bytes
        By how much the counter moved from each read to the next, shape (n_reads - 1,).
    """
    moved = np.trim_zeros(moved_bytes)
    found = _all_amid(moved) if _grows_with_silence(moved) else _between_whole_reads(moved)
    return found if found >= MIN_FRAC else 0.0


def _grows_with_silence(moved: NDArray[np.float64]) -> bool:
    """Return whether reads tell the more, the longer the silence before them.

    Neighbours are compared that stand between silences: a burst of the traffic that does was not cut by a read.
    """
    seen = np.flatnonzero(moved > 0)
    before = np.diff(seen)[:-1]
    after = np.diff(seen)[1:]
    told = moved[seen[1:-1]]
    is_alone = (before > 1) & (after > 1)
    shorter = np.minimum(before[:-1], before[1:])
    apart = np.abs(np.diff(before))
    chosen = is_alone[:-1] & is_alone[1:] & (apart > 0) & (apart <= ALIKE * shorter)
    n_pairs = int(np.count_nonzero(chosen))
    if n_pairs < MIN_PAIRS:
        return False
    lengths, sizes = np.diff(np.log(before))[chosen], np.diff(np.log(told))[chosen]
    growth = sizes / lengths
    least = max(MIN_AGREEING_FRAC, 0.5 + 0.5 * MIN_SIGMAS / np.sqrt(n_pairs))
    return bool(np.mean(growth > 0) >= least and np.median(growth) >= MIN_GROWTH)


def _all_amid(moved: NDArray[np.float64]) -> float:
    """Return the part of the reads that repeat, where all silences do but the longest."""
    firsts, ends = silences(moved == 0)
    n_reads = ends - firsts
    is_pause = n_reads > PAUSE * np.median(n_reads)
    return float(n_reads[~is_pause].sum()) / (moved.size - int(n_reads[is_pause].sum()))


def _between_whole_reads(moved: NDArray[np.float64]) -> float:
    """Return the part of the reads that repeat between whole ones; 0 where most silences are the traffic's."""
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
    return float((ends - firsts)[is_whole].sum()) / n_amid
