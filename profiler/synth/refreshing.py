"""Counters that a switch refreshes at an interval of its own, while they are polled about twice as often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.rates import rate_series
from profiler.store import Series
from profiler.synth.counter import Counter
from profiler.synth.polls import draw_holes, repeating_polls, without

if TYPE_CHECKING:
    from profiler.signals import RateSeries
    from profiler.synth.reads import Reads
    from profiler.synth.traffic import Traffic

__all__ = ["MOST_TICKS", "at_own_ticks", "read_refreshed"]

POLLS_PER_REFRESH: Final = 0.57
"""Mean gap between polls over the counter's refresh interval, as in the Zhejiang Lab traces."""
MOST_TICKS: Final = 5_400
"""Refreshes of a recording whose polls are fewer than 10^4."""
SWITCH_PORT: Final = Series(host="synth", device="port", direction="receive", layer="netdev")


def read_refreshed(rng: np.random.Generator, traffic: Traffic, *, duration_s: float, refresh_s: float) -> Reads:
    """Read traffic from a counter refreshed every ``refresh_s`` at a random phase, with holes in every other recording.

    Parameters
    ----------
    rng
        Source of randomness.
    traffic
        What the counter counts.
    duration_s
        Length of the recording in seconds.
    refresh_s
        The counter's own interval in seconds; polls come every 0.57 of it in the mean, and their gaps repeat.
    """
    polls_s = repeating_polls(rng, duration_s=duration_s, dt_s=POLLS_PER_REFRESH * refresh_s)
    gaps_s = draw_holes(rng, duration_s=duration_s, dt_s=refresh_s)
    if rng.random() < 0.5:
        polls_s = without(polls_s, gaps_s)
    return Counter(refresh_s=refresh_s, phase_s=rng.uniform(0, refresh_s)).read(traffic, polls_s)


def at_own_ticks(reads: Reads) -> RateSeries:
    """Return the series of a counter of unknown clock: at its own ticks if these are found, else at the reads."""
    return rate_series(SWITCH_PORT, t_ns=reads.t_ns, value=np.asarray(reads.value, dtype=np.int64))
