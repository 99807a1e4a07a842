"""A clock several times slower than the polls: the times at which the value moves show it one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.refresh.clock import Refresh

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["slow_refresh"]

SLOW: Final = 3.0
"""Least interval, in typical gaps between polls; below it a change does not tell its tick."""
SHORT_SPACING_FRAC: Final = 0.1
"""This part of the spacings of changes is taken to be single intervals, where traffic moves at all."""
SAME: Final = 1.5
"""Spacings up to this many of the shortest are one interval."""
MIN_SINGLE: Final = 8
"""Fewer single intervals show no clock."""
FEW_TICKS: Final = 4
"""Over more ticks than this the error of the interval may hide whether a spacing is whole."""
TOLERANCE: Final = 0.1
"""A spacing is whole if it is within this part of an interval, and a gap between polls, of a whole number of them."""
MAX_TOLERANCE: Final = 0.25
"""Beyond this, half of any spacings would be whole by chance."""
MIN_WHOLE_FRAC: Final = 0.9
"""Of a clock's spacings, the part that must be whole."""
EQUAL_SPREAD: Final = 0.1
"""Steps of which nearly all differ by less, over their median, are equal: a stream, or bursts shorter than a poll."""
NEARLY_ALL: Final = (0.025, 0.5, 0.975)
MIN_PAUSED_FRAC: Final = 0.03
"""Where fewer steps than this come after whole intervals without one, traffic never paused."""
STEADY_SPREAD: Final = 0.02
"""A clock's ticks stay within this part of an interval, and half a gap between polls; bursts of a job drift off."""
EDGE_FRAC: Final = 0.01


def slow_refresh(
    t_s: NDArray[np.float64], delta_bytes: NDArray[np.float64], *, changes: NDArray[np.int64]
) -> Refresh | None:
    """Return the clock of a counter whose changes are seen one by one, else None.

    Parameters
    ----------
    t_s
        Times of the polls in seconds, increasing, shape (n_polls,).
    delta_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).
    changes
        Where it did, shape (n_changes,).

    Notes
    -----
    The clock need not be even: every tick that was seen is a knot of its own, known to the gap between two polls.
    Equal steps without a pause by a clock that is not even are bursts of a job, each shorter than a poll: no clock.
    """
    gap_s = float(np.median(np.diff(t_s)))
    sharp = changes[t_s[changes + 1] - t_s[changes] < SLOW * gap_s]
    seen_s = 0.5 * (t_s[sharp] + t_s[sharp + 1])
    interval_s, n_ticks = _interval(np.diff(seen_s), gap_s=gap_s)
    if n_ticks is None:
        return None
    ticks = np.concatenate(([0.0], np.cumsum(n_ticks)))
    even_s = _fitted(ticks, seen_s)
    if np.std(seen_s - even_s) <= STEADY_SPREAD * interval_s + 0.5 * gap_s:
        # A tick lies between the poll that saw it and the one before, however the clock wanders.
        margin_s = EDGE_FRAC * (t_s[sharp + 1] - t_s[sharp])
        seen_s = np.clip(even_s, t_s[sharp] + margin_s, t_s[sharp + 1] - margin_s)
    elif _are_equal(delta_bytes[changes]) and np.mean(n_ticks > 1) < MIN_PAUSED_FRAC:
        return None
    return Refresh(t0_ns=0, interval_s=interval_s, knots_s=seen_s, knots_ticks=ticks)


def _fitted(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the straight line nearest to y; least squares without the matrices of `np.polyfit`."""
    off = x - x.mean()
    fitted: NDArray[np.float64] = off * (float(off @ y) / float(off @ off))
    fitted += y.mean()
    return fitted


def _interval(spacings_s: NDArray[np.float64], *, gap_s: float) -> tuple[float, NDArray[np.float64] | None]:
    """Return the interval of which spacings are whole multiples, and the multiples; None if there is no such."""
    if spacings_s.size < MIN_SINGLE:
        return 0.0, None
    single_s = spacings_s[spacings_s <= SAME * np.quantile(spacings_s, SHORT_SPACING_FRAC)]
    interval_s = float(single_s.mean())
    if single_s.size < MIN_SINGLE or interval_s < SLOW * gap_s:
        return 0.0, None
    for longest in (FEW_TICKS, FEW_TICKS**2, FEW_TICKS**4, np.inf):
        n_ticks = np.round(spacings_s / interval_s)
        near = (n_ticks >= 1) & (n_ticks <= longest)
        interval_s = float(spacings_s[near].sum() / n_ticks[near].sum())
    n_ticks = np.round(spacings_s / interval_s)
    few = spacings_s <= (FEW_TICKS + 0.5) * interval_s
    off = np.abs(spacings_s[few] / interval_s - n_ticks[few])
    whole = (off <= min(MAX_TOLERANCE, TOLERANCE + gap_s / interval_s)) & (n_ticks[few] >= 1)
    is_clock = np.count_nonzero(few) >= MIN_SINGLE and whole.mean() >= MIN_WHOLE_FRAC and n_ticks.min() >= 1
    return interval_s, n_ticks if is_clock else None


def _are_equal(steps_bytes: NDArray[np.float64]) -> bool:
    low, median, high = np.quantile(np.abs(steps_bytes), NEARLY_ALL)
    return bool(high - low < EQUAL_SPREAD * median)
