"""`at_ticks`: which poll tells where a counter stood at each of its ticks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.refresh.clock import Refresh

__all__ = ["TickReads", "at_ticks"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TickReads:
    """The ticks that polls saw; arrays of shape (n_ticks,).

    Parameters
    ----------
    t_ns
        Time of each tick, strictly increasing.
    i_poll
        The poll that read what was copied then.
    n_polls
        How many did.
    n_passed
        Ticks since the one before, 1 where polls saw every tick.
    """

    t_ns: NDArray[np.int64]
    i_poll: NDArray[np.int64]
    n_polls: NDArray[np.int64]
    n_passed: NDArray[np.int64]


def at_ticks(t_ns: NDArray[np.int64], refresh: Refresh) -> TickReads:
    """Return the ticks that polls saw, and by which poll; the first and the last poll are always among them.

    Parameters
    ----------
    t_ns
        Times of the polls, increasing, at least one, shape (n_polls,).
    refresh
        The counter's clock.
    """
    ticks = refresh.ticks((t_ns - refresh.t0_ns) / NS_PER_S)
    whole = np.floor(ticks)
    firsts = np.flatnonzero(np.append(True, np.diff(whole) > 0))
    n_polls = np.diff(np.append(firsts, t_ns.size))
    # Of several polls between two ticks the middlemost is surely on the right side of both.
    i_poll = _middlemost(np.abs(ticks - whole - 0.5), firsts)
    i_poll[0], i_poll[-1] = 0, t_ns.size - 1
    seen = whole[firsts]
    times_s = refresh.times_s(seen)
    return TickReads(
        t_ns=refresh.t0_ns + np.round(times_s * NS_PER_S).astype(np.int64),
        i_poll=i_poll,
        n_polls=n_polls,
        n_passed=np.diff(seen, prepend=seen[0] - 1).astype(np.int64),
    )


def _middlemost(off: NDArray[np.float64], firsts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first place of the least of each run; runs begin at ``firsts``."""
    least = np.minimum.reduceat(off, firsts)
    i_run = np.repeat(np.arange(firsts.size), np.diff(np.append(firsts, off.size)))
    places = np.flatnonzero(off == least[i_run])
    chosen = np.empty(firsts.size, dtype=np.int64)
    chosen[i_run[places[::-1]]] = places[::-1]
    return chosen
