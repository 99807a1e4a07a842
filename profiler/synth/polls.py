"""When a counter is read: regularly, with jitter, at random, with gaps that repeat, with holes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "draw_holes",
    "draw_repeating_holes",
    "exponential_polls",
    "jittered_polls",
    "regular_polls",
    "repeating_polls",
    "without",
]

LEAST_GAP: Final = 0.02
"""Shortest gap between random polls over the mean one: reading takes a time of its own."""
GAPS: Final = (0.877, 0.993, 1.109, 1.446)
GAP_SHARES: Final = (0.2, 0.5, 0.2, 0.1)
"""Gaps of a telemetry poller over the mean one, and how often each comes: 0.50, 0.566, 0.632 and 0.824 s, as in the
Zhejiang Lab traces."""
REPEAT_POLLS: Final = (26, 53, 105)
"""Polls after which a long gap comes again: 15, 30 and 60 s there."""

SHORTEST_HOLE: Final = 10.0
"""In typical gaps; where fewer polls are missing a series still knows its windows."""
LONGEST_HOLE: Final = 0.125
HOLE_EVERY_S: Final = (8.0, 120.0)
"""How often a busy collector misses polls, as long as it rotates its files or walks its other switches."""
HOLE_LENGTH_S: Final = (5.0, 60.0)
COLLECTOR_DT_S: Final = 0.1
"""Polls at which holes are that long; where polls are faster, holes are shorter in proportion."""
MOST_MISSED: Final = 0.6
"""Part of the time that repeating holes take, at most."""
FEWEST_HOLES: Final = 4.0
"""Repeating holes of a recording, at least."""


def regular_polls(*, duration_s: float, dt_s: float) -> NDArray[np.float64]:
    """Return polls every ``dt_s`` from 0 to ``duration_s``."""
    return np.arange(round(duration_s / dt_s) + 1, dtype=np.float64) * dt_s


def jittered_polls(
    rng: np.random.Generator, *, duration_s: float, dt_s: float, jitter_frac: float
) -> NDArray[np.float64]:
    """Return regular polls, each of which wakes late by up to ``jitter_frac`` (below 1) of ``dt_s``."""
    polls_s = regular_polls(duration_s=duration_s, dt_s=dt_s)
    return polls_s + dt_s * jitter_frac * rng.random(polls_s.size)


def exponential_polls(rng: np.random.Generator, *, duration_s: float, dt_s: float) -> NDArray[np.float64]:
    """Return polls at random, ``dt_s`` apart in the mean."""
    n_polls = round(duration_s / dt_s) + 1
    gaps_s = dt_s * (LEAST_GAP + (1 - LEAST_GAP) * rng.exponential(size=n_polls))
    return _until(np.cumsum(gaps_s) - gaps_s[0], duration_s=duration_s)


def repeating_polls(rng: np.random.Generator, *, duration_s: float, dt_s: float) -> NDArray[np.float64]:
    """Return polls as a busy telemetry system makes them: a few typical gaps, and longer ones that come again.

    A gap of 2 to 4 ``dt_s`` follows every 26th, 53rd or 105th poll, which draws false lines into a spectrum.
    """
    n_polls = round(duration_s / dt_s) + 1
    gaps_s = dt_s * rng.choice(GAPS, size=n_polls, p=GAP_SHARES) * rng.uniform(0.99, 1.01, n_polls)
    every = int(rng.choice(REPEAT_POLLS))
    gaps_s[rng.integers(every) :: every] = dt_s * rng.uniform(2, 4)
    return _until(np.cumsum(gaps_s) - gaps_s[0], duration_s=duration_s)


def without(polls_s: NDArray[np.float64], holes_s: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """Return the polls outside [start, end) of every hole."""
    kept = np.ones(polls_s.size, dtype=bool)
    for start_s, end_s in holes_s:
        kept &= (polls_s < start_s) | (polls_s >= end_s)
    return polls_s[kept]


def draw_holes(rng: np.random.Generator, *, duration_s: float, dt_s: float) -> list[tuple[float, float]]:
    """Draw one to four holes of a recording, [start, end) in seconds; each of ten polls to an eighth of it."""
    n_holes = int(rng.integers(1, 5))
    shortest_s = SHORTEST_HOLE * dt_s
    lengths_s = np.exp(rng.uniform(np.log(shortest_s), np.log(max(shortest_s, LONGEST_HOLE * duration_s)), n_holes))
    starts_s = rng.uniform(0, duration_s - lengths_s)
    return [(float(start_s), float(start_s + length_s)) for start_s, length_s in zip(starts_s, lengths_s, strict=True)]


def draw_repeating_holes(rng: np.random.Generator, *, duration_s: float, dt_s: float) -> list[tuple[float, float]]:
    """Draw holes of one length that come again and again, [start, end) in seconds.

    They take 5 to 60 s and come every 8 to 120 s, or as many polls as that is at ten polls a second where polls are
    faster.
    """
    scale = min(1.0, dt_s / COLLECTOR_DT_S)
    low_s, high_s = (scale * every_s for every_s in HOLE_EVERY_S)
    every_s = float(np.exp(rng.uniform(np.log(low_s), np.log(max(low_s, min(high_s, duration_s / FEWEST_HOLES))))))
    longest_s = min(scale * HOLE_LENGTH_S[1], MOST_MISSED * every_s)
    length_s = rng.uniform(min(scale * HOLE_LENGTH_S[0], longest_s), longest_s)
    starts_s = np.arange(rng.uniform(0, every_s), duration_s, every_s)
    return [(float(start_s), float(start_s + length_s)) for start_s in starts_s]


def _until(polls_s: NDArray[np.float64], *, duration_s: float) -> NDArray[np.float64]:
    return polls_s[polls_s <= duration_s]
