"""A counter's own clock: switches and NICs copy counters at an interval of their own, and polls only re-read them.

A poll between two copies sees the same value again, and the one after sees twice the bytes; the beat of the two clocks
looks like a period. So the times at which a value *changes* are searched for a common interval, and the series is
rebuilt at the counter's own ticks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Refresh", "at_ticks", "find_refresh"]

MIN_CHANGES: Final = 100
MIN_STALE_FRAC: Final = 0.15
"""Where fewer polls see an old value, the counter is no slower than they are."""
MAX_STALE_FRAC: Final = 0.9
MIN_COHERENCE: Final = 0.3
MAX_POLL_COHERENCE: Final = 0.1
"""If the polls themselves keep the interval, it is theirs."""
MIN_AGREEMENT: Final = 0.7
"""Polls between two ticks see one value, but for those so near a tick that they may be on either side of it; the least
part of the way from chance (as many as are stale) to all."""
N_SEARCHED: Final = 4000
SHORTEST: Final = 1.2
LONGEST: Final = 6.0
"""Intervals looked for, in typical gaps between polls."""
NEAR_BEST: Final = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """When a counter is copied: every ``interval_s``, at ``t0_ns + phase_s`` and whole intervals later."""

    t0_ns: int
    interval_s: float
    phase_s: float


def find_refresh(t_ns: NDArray[np.int64], value: NDArray[np.int64]) -> Refresh | None:
    """Return a counter's refresh interval and phase, or None if polls see no slower clock than their own.

    Parameters
    ----------
    t_ns
        Times of the polls, increasing, shape (n_polls,).
    value
        What they read, shape (n_polls,).

    Notes
    -----
    A change is seen by the first poll after a tick, so change times modulo the interval gather after the tick, while
    poll times do not gather at all. The interval is the shortest whose changes gather about as well as any
    (mean resultant length), refined to a hundredth of its drift over the recording; the phase is that at which the
    polls between two ticks agree best. An answer that does not make nearly all such polls agree is none.
    """
    t_s = (t_ns - t_ns[0]) / NS_PER_S if t_ns.size else np.zeros(0)
    changed = np.flatnonzero(np.diff(value) != 0) + 1
    stale_frac = 1 - changed.size / max(1, t_ns.size - 1)
    if changed.size < MIN_CHANGES or not MIN_STALE_FRAC <= stale_frac <= MAX_STALE_FRAC:
        return None
    interval_s = _interval(t_s[changed], t_s)
    if interval_s is None:
        return None
    phase_s, agreement = _phase(t_s, value, interval_s=interval_s)
    if agreement < stale_frac + MIN_AGREEMENT * (1 - stale_frac):
        return None
    return Refresh(t0_ns=int(t_ns[0]), interval_s=interval_s, phase_s=phase_s)


def at_ticks(
    t_ns: NDArray[np.int64], value: NDArray[np.int64], *, refresh: Refresh
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the counter at its own ticks: the time of each tick that a poll saw, and where it then stood."""
    since = ((t_ns - refresh.t0_ns) / NS_PER_S - refresh.phase_s) / refresh.interval_s
    ticks = np.floor(since).astype(np.int64)
    # Of several polls between two ticks the middlemost is surely on the right side of both.
    order = np.lexsort((np.abs(since - ticks - 0.5), ticks))
    chosen = np.sort(order[np.append(True, np.diff(ticks[order]) > 0)])
    at_s = ticks[chosen] * refresh.interval_s + refresh.phase_s
    return refresh.t0_ns + np.round(at_s * NS_PER_S).astype(np.int64), value[chosen]


def _ticks(t_s: NDArray[np.float64], interval_s: float, *, phase_s: float) -> NDArray[np.int64]:
    return np.floor((t_s - phase_s) / interval_s).astype(np.int64)


def _gathering(t_s: NDArray[np.float64], intervals_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean resultant length of times modulo each interval: 1 if all agree, about 0 if none do."""
    lengths = [abs(np.exp(2j * np.pi * t_s / interval_s).mean()) for interval_s in intervals_s]
    return np.array(lengths)


def _interval(changes_s: NDArray[np.float64], polls_s: NDArray[np.float64]) -> float | None:
    gap_s = float(np.median(np.diff(polls_s)))
    span_s = changes_s[-1] - changes_s[0]
    part = changes_s[: max(MIN_CHANGES, int(changes_s.size * min(1.0, N_SEARCHED * gap_s / (8 * span_s))))]
    freqs_hz = np.linspace(1 / (LONGEST * gap_s), 1 / (SHORTEST * gap_s), N_SEARCHED)
    gathered = _gathering(part, 1 / freqs_hz)
    good = np.flatnonzero(gathered >= max(MIN_COHERENCE, NEAR_BEST * gathered.max()))
    if not good.size:
        return None
    interval_s = 1 / float(freqs_hz[good[-1]])
    for _ in range(3):
        step = interval_s**2 / (8 * (part[-1] - part[0]))
        near_s = interval_s + step * np.linspace(-4, 4, 81)
        interval_s = float(near_s[int(np.argmax(_gathering(part, near_s)))])
        part = changes_s
    if _gathering(changes_s, np.array([interval_s]))[0] < MIN_COHERENCE:
        return None
    of_polls = _gathering(polls_s, np.array([interval_s]))[0]
    return interval_s if of_polls <= MAX_POLL_COHERENCE else None


def _phase(t_s: NDArray[np.float64], value: NDArray[np.int64], *, interval_s: float) -> tuple[float, float]:
    """Return the phase at which polls between two ticks agree best, and the fraction of them that do."""
    same_value = np.diff(value) == 0
    best = (0.0, 0.0)
    for phase_s in np.linspace(0.0, interval_s, 200, endpoint=False):
        same_tick = np.diff(_ticks(t_s, interval_s, phase_s=phase_s)) == 0
        agreement = float(same_value[same_tick].mean()) if same_tick.any() else 0.0
        best = max(best, (agreement, float(phase_s)))
    return best[1], best[0]
