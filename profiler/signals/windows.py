"""The windows of a series: between reads that saw something new, or the counter's own ticks where those are slower."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from profiler.refresh import at_ticks, refresh_of_moves
from profiler.schema import Flag
from profiler.signals.repeats import MIN_FRAC, repeated_frac
from profiler.signals.stale import stale_reads

__all__ = ["CounterClock", "Windows", "windows_between"]

CounterClock = Literal["unknown", "none"]
"""Whether a counter may be copied by a clock of its own, as those of switches and NICs are, or is counted live."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Windows:
    """Windows of time, none if there are fewer than two edges.

    Parameters
    ----------
    edges_ns
        Their ends, strictly increasing, shape (n_samples + 1,).
    i_read
        The read that tells where the counter stood at each edge, strictly increasing, shape (n_samples + 1,); a slice
        of all where each read is an edge.
    flags
        ``STALE`` where several reads saw the tick that ends a window, ``MISSED`` where no read saw one within it;
        shape (n_samples,).
    refresh_s, refresh_phase_s
        The counter's own clock, None where windows are those between reads: its interval, and when after the first
        read it first ticked.
    is_refresh_moot
        A job that sends a burst at each of its ticks would look the same.
    n_stale
        Reads that saw nothing new.
    repeated_frac
        The part of the reads that did amid traffic, where the counter may have a clock and none was found.
    """

    edges_ns: NDArray[np.int64]
    i_read: NDArray[np.int64] | slice
    flags: NDArray[np.uint16]
    refresh_s: float | None = None
    refresh_phase_s: float | None = None
    is_refresh_moot: bool = False
    n_stale: int = 0
    repeated_frac: float = 0.0


def windows_between(
    t_ns: NDArray[np.int64], moved_bytes: NDArray[np.float64], *, clock: CounterClock = "unknown"
) -> Windows:
    """Return the windows of a series.

    Parameters
    ----------
    t_ns
        Times of reads, strictly increasing, shape (n_reads,).
    moved_bytes
        By how much the counter moved from each read to the next; 0 where it did not, shape (n_reads - 1,).
    clock
        Where the counter has none, no read is stale, and what looks like its beat is the traffic's.
    """
    if t_ns.size < 2:
        return Windows(edges_ns=t_ns[:0], i_read=slice(0, 0), flags=np.zeros(0, dtype=np.uint16))
    if clock == "none":
        return _between_reads(t_ns, np.zeros(t_ns.size, dtype=bool))
    refresh = refresh_of_moves(t_ns, moved_bytes)
    if refresh is None:
        stale = stale_reads(moved_bytes)
        repeated = max(float(stale.mean()), repeated_frac(moved_bytes))
        return replace(_between_reads(t_ns, stale), repeated_frac=repeated if repeated >= MIN_FRAC else 0.0)
    ticks = at_ticks(t_ns, refresh)
    reread = np.where(ticks.n_polls[1:] > 1, Flag.STALE, Flag.NONE)
    missed = np.where(ticks.n_passed[1:] > 1, Flag.MISSED, Flag.NONE)
    return Windows(
        edges_ns=ticks.t_ns,
        i_read=ticks.i_poll,
        flags=(reread | missed).astype(np.uint16),
        refresh_s=refresh.interval_s,
        refresh_phase_s=refresh.phase_s,
        is_refresh_moot=refresh.is_moot,
        n_stale=int(t_ns.size - ticks.t_ns.size),
    )


def _between_reads(t_ns: NDArray[np.int64], stale: NDArray[np.bool_]) -> Windows:
    """Return the windows between reads, those to a stale read and from it made one."""
    if not stale.any():
        flags = np.zeros(t_ns.size - 1, dtype=np.uint16)
        return Windows(edges_ns=t_ns, i_read=slice(None), flags=flags)
    i_read = np.flatnonzero(~stale)
    flags = np.where(np.diff(i_read) > 1, Flag.STALE, Flag.NONE).astype(np.uint16)
    return Windows(
        edges_ns=t_ns[i_read],
        i_read=i_read,
        flags=flags,
        n_stale=t_ns.size - i_read.size,
    )
