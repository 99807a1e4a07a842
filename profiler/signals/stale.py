"""Single reads that saw an old value, of a counter without a slow clock of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["silences", "stale_reads"]

LONGEST_RUN: Final = 3
"""So many reads in a row may be stale; longer silences are silences."""
CATCHES_UP: Final = 0.6
"""The read after ``n`` stale ones saw at least ``n`` and this part of what the busier of its neighbours did."""
MIN_CAUGHT_UP: Final = 5
MIN_CAUGHT_UP_FRAC: Final = 0.5
"""Where fewer short silences than this are caught up with, they are not due to the counter."""


def stale_reads(moved_bytes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which reads saw the value of the read before though traffic went on.

    Parameters
    ----------
    moved_bytes
        By how much the counter moved from each read to the next, shape (n_reads - 1,).

    Returns
    -------
    ndarray of bool
        Shape (n_reads,); the first and the last read are never stale.

    Notes
    -----
    The read after a stale one sees the bytes of both windows; after a silence of the traffic it sees no more than
    others. So short silences amid traffic are looked at, and only where most are caught up with are those stale.
    """
    stale = np.zeros(moved_bytes.size + 1, dtype=bool)
    is_zero = moved_bytes == 0
    if np.count_nonzero(is_zero) < MIN_CAUGHT_UP:
        return stale
    firsts, ends = silences(is_zero)
    short = (ends - firsts <= LONGEST_RUN) & (ends + 1 < moved_bytes.size)
    firsts, ends = firsts[short], ends[short]
    beside = np.maximum(moved_bytes[firsts - 1], moved_bytes[np.minimum(ends + 1, moved_bytes.size - 1)])
    caught_up = (beside > 0) & (moved_bytes[ends] >= (ends - firsts + CATCHES_UP) * beside)
    if np.count_nonzero(caught_up) < max(MIN_CAUGHT_UP, MIN_CAUGHT_UP_FRAC * firsts.size):
        return stale
    for n_before in range(LONGEST_RUN):
        reads = firsts[caught_up] + n_before + 1
        stale[reads[reads <= ends[caught_up]]] = True
    return stale


def silences(is_zero: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where runs begin, and where they are over, but for those at the beginning and the end of all."""
    changes = np.flatnonzero(np.diff(is_zero)) + 1
    firsts, ends = changes[is_zero[changes]], changes[~is_zero[changes]]
    if firsts.size and ends.size and ends[0] < firsts[0]:
        ends = ends[1:]
    return firsts[: ends.size], ends
