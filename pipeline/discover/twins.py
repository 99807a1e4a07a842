"""`twins`: jobs of one period that do not drift from one another, so that one may be taken for the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["coherence", "twins"]

MIN_COHERENCE: Final = 0.9
"""Of jobs less coherent no port was told falsely in 700, of those more coherent one in nine."""
SAME_FRAC: Final = 0.02
"""Periods that differ by more drift apart within any recording that can be judged."""
MOST_TIMES: Final = 3
"""A job of a longer period has so many lines beside those of a shorter one that it is told from it."""


def twins(
    lines: NDArray[np.complex128], *, places: Sequence[NDArray[np.int64]], periods_s: Sequence[float | None]
) -> list[frozenset[int]]:
    """Return for each job the others that what it does cannot be told from, whatever their shapes.

    Parameters
    ----------
    lines
        Spectrum of each job, shape (n_jobs, n_freqs).
    places
        Frequencies at and beside each job's lines, in order.
    periods_s
        Their periods, where they are known.

    Notes
    -----
    Two jobs of one period have lines at the same places. Their coherence at a line is |sum conj(a) b|^2 over
    sum |a|^2 sum |b|^2, the sums over the frequencies beside it [1]_: 1 if one stays where it is in the other's beat,
    at any lag and with bursts of any shape, and less the further it drifts. The mean over a job's lines counts each by
    its energy.

    References
    ----------
    .. [1] G. C. Carter, "Coherence and time delay estimation", Proceedings of the IEEE 75 (1987).
    """
    are_twins = np.zeros((len(places), len(places)), dtype=np.bool_)
    for i, at in enumerate(places):
        others = _of_period(i, periods_s)
        are_twins[i, others] = coherence(lines[i, at], lines[np.ix_(others, at)], at=at) >= MIN_COHERENCE
    # Of a clean job and one blurred by it, only one may be seen to do all that the other does.
    are_twins |= are_twins.T
    return [frozenset(np.flatnonzero(of_job).tolist()) for of_job in are_twins]


def _of_period(i: int, periods_s: Sequence[float | None]) -> NDArray[np.int64]:
    """Return the other jobs that have lines wherever one has: those of its period, or a few times it."""
    each_s = np.array([np.nan if period_s is None else period_s for period_s in periods_s])
    ratio = each_s / each_s[i]
    times = np.clip(np.round(ratio), 1, MOST_TIMES)
    # What is not known compares as not far off.
    is_near = ~(np.abs(ratio / times - 1) > SAME_FRAC)
    is_near[i] = False
    return np.flatnonzero(is_near)


def coherence(
    own: NDArray[np.complexfloating], others: NDArray[np.complexfloating], *, at: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the coherence of one's lines with each of the others', shape (n_others,)."""
    starts = np.flatnonzero(np.diff(at, prepend=-2) > 1)
    if not starts.size:
        return np.zeros(len(others))
    cross = np.add.reduceat(np.conj(own) * others, starts, axis=1)
    energy = np.add.reduceat(np.abs(others) ** 2, starts, axis=1)
    fits = (np.abs(cross) ** 2 / np.maximum(energy, np.finfo(np.float64).tiny)).sum(axis=1)
    mean: NDArray[np.float64] = fits / max(float(np.sum(np.abs(own) ** 2)), np.finfo(np.float64).tiny)
    return mean
