"""A clock a little faster than the polls: none is stale, but now and then one sees two ticks at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.refresh.beat import has_place
from profiler.refresh.lines import Events, clocks_near

if TYPE_CHECKING:
    from profiler.refresh.clock import Refresh

__all__ = ["fast_refresh"]

MIN_DOUBLE: Final = 12
"""Fewer double polls than this show no clock."""
LEVEL: Final = 0.15
"""Polls that differ by less than this part see the same rate."""
MIN_LEVEL: Final = 3
"""Of the two polls before one and the two after, those that must see it once or twice over: a steady stream."""
MIN_ONCE: Final = 2
"""Of the same, those that must see it once."""
MIN_STEADY_FRAC: Final = 0.5
"""Of the polls that see something, the least part in a steady stream: where most bursts are shorter, what looks like
one is their place among the polls."""
DOUBLE: Final = (1.8, 2.2)
"""A poll in a stream that sees so many times its level is double."""
SINGLE: Final = (0.75, 1.25)
"""A poll in a stream that sees so many times its level is a usual one; other polls are neither."""
MAX_ODD: Final = 0.25
"""Most such others for one double poll: bursts of a job are of any height, and begin anywhere within a poll."""
MAX_MEDIAN_OFF: Final = 0.05
"""How far the median of what double polls see over the level may be from 2."""
USUAL_GAP: Final = 1.5
"""A poll after a longer gap, over the typical one, sees more for that."""
MAX_DOUBLE_FRAC: Final = 0.45
"""With more of them among busy polls, single ones would be the telling ones."""
MAX_OFF: Final = 0.3
"""How far the beat of clock and polls may be from how often double polls come, over the latter."""
MIN_AGREEMENT: Final = 0.8
"""Of polls that are double or that the clock says to be, the least part that are both."""

N_RUNS: Final = 64
RUN_POLLS: Final = 2048
"""Recordings of more polls than in so many runs of this length are looked at there first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stream:
    """What polls see; arrays of shape (n_polls - 1,).

    Parameters
    ----------
    level
        Bytes that the polls beside each one see of one tick.
    busy
        Whether they see a steady stream.
    is_double
        Whether the poll then sees twice as much.
    """

    level: NDArray[np.float64]
    busy: NDArray[np.bool_]
    is_double: NDArray[np.bool_]


def fast_refresh(t_s: NDArray[np.float64], moved_bytes: NDArray[np.float64]) -> Refresh | None:
    """Return the clock of a counter copied at 0.7 to 0.998 times the gap between polls, else None.

    Parameters
    ----------
    t_s
        Times of the polls in seconds, increasing, shape (n_polls,).
    moved_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).

    Notes
    -----
    In a steady stream, and within a long burst, a poll sees one tick or two, never a part of one, and those that see
    two come by the beat of the two clocks. A burst of a job of two polls' length looks alike for a while, since
    what the first and the last poll see of it adds up; but nothing is steady about it.
    """
    gaps_s = np.diff(t_s)
    gap_s = float(np.median(gaps_s))
    is_usual = gaps_s < USUAL_GAP * gap_s
    part = _part(moved_bytes.size)
    if part is not None and _stream(moved_bytes[part], is_usual=is_usual[part]) is None:
        return None
    stream = _stream(moved_bytes, is_usual=is_usual)
    if stream is None:
        return None
    events = Events(mid_s=0.5 * (t_s[1:] + t_s[:-1]), happened=stream.is_double, phase=0.5)
    polls_hz = 1 / gap_s
    beat_hz = polls_hz * np.count_nonzero(stream.is_double) / np.count_nonzero(stream.busy)
    low_hz, high_hz = polls_hz + (1 - MAX_OFF) * beat_hz, polls_hz + (1 + MAX_OFF) * beat_hz
    clocks = clocks_near(events, low_hz=low_hz, high_hz=high_hz)
    clock = next((clock for clock in clocks if _tells(clock, t_s, stream.is_double, busy=stream.busy)), None)
    everywhere = np.ones(moved_bytes.size, dtype=bool)
    return None if clock is None or has_place(clock, t_s, seen_bytes=stream.level, counted=everywhere) else clock


def _part(n_gaps: int) -> NDArray[np.int64] | None:
    """Return which gaps between polls, in runs all over a long recording, tell whether to look at all of them."""
    if n_gaps <= N_RUNS * RUN_POLLS:
        return None
    firsts = np.linspace(0, n_gaps - RUN_POLLS, N_RUNS).astype(np.int64)
    return (firsts[:, None] + np.arange(RUN_POLLS)).ravel()


def _stream(moved_bytes: NDArray[np.float64], *, is_usual: NDArray[np.bool_]) -> _Stream | None:
    """Return the polls amid steady streams, None if they are few, or other than single or double."""
    if moved_bytes.size < 2 * MIN_DOUBLE:
        return None
    level, steady = _levels(moved_bytes)
    busy = steady & is_usual
    ratio = moved_bytes[busy] / level[busy]
    is_double = (ratio >= DOUBLE[0]) & (ratio <= DOUBLE[1])
    n_double, n_busy = int(np.count_nonzero(is_double)), ratio.size
    if (
        n_busy < MIN_STEADY_FRAC * np.count_nonzero(moved_bytes)
        or not MIN_DOUBLE <= n_double <= MAX_DOUBLE_FRAC * n_busy
    ):
        return None
    n_odd = n_busy - n_double - np.count_nonzero((ratio >= SINGLE[0]) & (ratio <= SINGLE[1]))
    if n_odd > MAX_ODD * n_double or abs(float(np.median(ratio[is_double])) / 2 - 1) > MAX_MEDIAN_OFF:
        return None
    happened = busy.copy()
    happened[busy] = is_double
    return _Stream(level=level, busy=busy, is_double=happened)


@njit(cache=True, nogil=True)
def _levels(moved_bytes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return what polls beside each one see of one tick, and whether they see a steady stream."""
    level, steady = np.zeros(moved_bytes.size), np.zeros(moved_bytes.size, dtype=np.bool_)
    for i in range(2, moved_bytes.size - 2):
        a, b, c, d = moved_bytes[i - 2], moved_bytes[i - 1], moved_bytes[i + 1], moved_bytes[i + 2]
        # At most two of four neighbours are double: the second least sees one tick, unless one is partly silent.
        one_tick = min(max(min(a, b), min(c, d)), max(a, b), max(c, d))
        n_once, n_level = 0, 0
        for seen in (a, b, c, d):
            is_once = abs(seen - one_tick) <= LEVEL * one_tick
            n_once += is_once
            n_level += is_once or abs(seen - 2 * one_tick) <= 2 * LEVEL * one_tick
        level[i] = one_tick
        steady[i] = one_tick > 0 and n_once >= MIN_ONCE and n_level >= MIN_LEVEL
    return level, steady


def _tells(clock: Refresh, t_s: NDArray[np.float64], is_double: NDArray[np.bool_], *, busy: NDArray[np.bool_]) -> bool:
    """Return whether a clock says which of the busy polls are double."""
    said = (np.diff(np.floor(clock.ticks(t_s))) > 1) & busy
    n_both = np.count_nonzero(said & is_double)
    n_either = int(np.count_nonzero(said | is_double))
    return bool(n_both >= MIN_AGREEMENT * n_either)
