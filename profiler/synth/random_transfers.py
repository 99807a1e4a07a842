"""Traffic without a period that is made of transfers at random: Poisson, telegraph, heavy tails, one event."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.errors import UsageError
from profiler.synth.counter import Counter
from profiler.synth.labelled import Labelled, label
from profiler.synth.plan import log_uniform
from profiler.synth.polls import regular_polls
from profiler.synth.refreshing import at_own_ticks, read_refreshed
from profiler.synth.steady_loads import RATE_BPS
from profiler.synth.traffic import Traffic

__all__ = [
    "heavy_tailed",
    "poisson_transfers",
    "poll_artefacts",
    "random_bursts",
    "single_event",
    "telegraph",
    "three_lengths",
]

TAIL_INDEX: Final = (1.1, 1.8)
"""Pareto index of flow sizes: finite mean, infinite variance, which makes traffic self-similar [1]_.

.. [1] Crovella, Bestavros, "Self-similarity in World Wide Web traffic", IEEE/ACM Trans. Networking 5(6), 1997.
"""
MEAN_EVENTS: Final = (30.0, 300.0)
"""Transfers of a recording, where their number is drawn."""
GAP_SPREAD: Final = (0.25, 0.9)
"""Standard deviation of the intervals between bursts at random over their mean, as it may be asked for."""
LEAST_APERIODIC_SPREAD: Final = 0.4
"""Where intervals vary by less, their mean says something of the next one: neither a period nor silence is at fault."""
MIDDLE_STEPS: Final = (3, 4, 5)
MIDDLE_BEYOND: Final = (0.15, 0.35)
"""The middle of three lengths over the shortest, in halves, and how far beyond: were all three whole halves, starts
would keep a clock of that pace."""
LONGEST_RATIO: Final = (3.2, 5.5)
"""The longest of three lengths over the shortest; intervals then vary by 0.4 of their mean or more."""


def poisson_transfers(
    rng: np.random.Generator, *, duration_s: float, dt_s: float, mean_gap_s: float = 0.5, rate_bps: float = RATE_BPS
) -> Labelled:
    """Make transfers that begin at random: a Poisson process with exponential lengths."""
    n_transfers = max(1, rng.poisson(duration_s / mean_gap_s))
    starts_s = np.sort(rng.uniform(0, duration_s, n_transfers))
    up_s = np.stack([starts_s, starts_s + rng.exponential(0.4 * mean_gap_s, n_transfers)], axis=1)
    return _read(_bursts(up_s, rate_bps), duration_s=duration_s, dt_s=dt_s)


def telegraph(
    rng: np.random.Generator, *, duration_s: float, dt_s: float, mean_hold_s: float = 0.2, rate_bps: float = RATE_BPS
) -> Labelled:
    """Make a random telegraph signal: on and off for exponential times."""
    n_holds = max(4, int(4 * duration_s / mean_hold_s))
    edges_s = np.cumsum(rng.exponential(mean_hold_s, n_holds))
    up_s = edges_s[: n_holds // 2 * 2].reshape(-1, 2)
    return _read(_bursts(up_s, rate_bps).within(duration_s), duration_s=duration_s, dt_s=dt_s)


def random_bursts(
    rng: np.random.Generator,
    *,
    duration_s: float,
    dt_s: float,
    rate_bps: float = RATE_BPS,
    spread_frac: float | None = None,
) -> Labelled:
    """Make equal bursts at random with a least gap between them.

    Parameters
    ----------
    rng
        Source of randomness.
    duration_s, dt_s
        Length of the recording and the sampling interval, in seconds.
    rate_bps
        Rate of a burst in bit/s.
    spread_frac
        Standard deviation of the intervals over their mean, 0.25 to 0.9; drawn from 0.4 to 0.9 if None. The truth says
        ``aperiodic`` for each; but below 0.4 such bursts may as well be a job that wanders badly, and a detector that
        gives their mean interval is not to be blamed.

    Raises
    ------
    UsageError
        If the spread is out of its range.
    """
    traffic = _random_bursts(rng, duration_s=duration_s, rate_bps=rate_bps, spread_frac=spread_frac)
    return _read(traffic, duration_s=duration_s, dt_s=dt_s)


def three_lengths(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make bursts that recur after one of three fixed lengths, in random order: equal bursts, but no one period.

    Batches of three sizes, drawn at random, beat like this. The lengths have no common part that starts could keep
    time with, and intervals vary by four tenths of their mean or more.
    """
    n_bursts = round(log_uniform(rng, MEAN_EVENTS))
    middle = rng.choice(MIDDLE_STEPS) / 2 + rng.uniform(*MIDDLE_BEYOND)
    lengths = np.array([1.0, middle, rng.uniform(*LONGEST_RATIO)])
    order = rng.integers(lengths.size, size=2 * n_bursts)
    shortest_s = duration_s / n_bursts / lengths.mean()
    starts_s = shortest_s * np.cumsum(lengths[order])
    width_s = shortest_s * rng.uniform(0.2, 0.8)
    up_s = np.stack([starts_s, starts_s + width_s], axis=1)
    return _read(_bursts(up_s, rate_bps).within(duration_s), duration_s=duration_s, dt_s=dt_s)


def heavy_tailed(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make flows that begin at random and whose sizes have a heavy tail; several may be under way."""
    n_flows = round(4 * log_uniform(rng, MEAN_EVENTS))
    sizes = 1 + rng.pareto(rng.uniform(*TAIL_INDEX), n_flows)
    lengths_s = np.minimum(sizes * rng.uniform(0.3, 2.0) * duration_s / (10 * n_flows), duration_s)
    starts_s = rng.uniform(-0.2 * duration_s, duration_s, n_flows)
    flow_bps = rate_bps * rng.uniform(0.2, 1.0, n_flows)
    up_s = np.stack([starts_s, starts_s + lengths_s], axis=1)
    traffic = Traffic(edges_s=up_s, rate_bps=flow_bps).within(duration_s)
    return _read(traffic, duration_s=duration_s, dt_s=dt_s)


def single_event(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make one transfer, such as the copy of a data set, on a port that else says little."""
    length_s = duration_s * log_uniform(rng, (0.01, 0.5))
    start_s = rng.uniform(0, duration_s - length_s)
    event = _bursts(np.array([[start_s, start_s + length_s]]), rate_bps)
    n_samples = round(duration_s / dt_s)
    chatter = Traffic.of_levels(rate_bps * 1e-3 * rng.exponential(size=n_samples), dt_s=dt_s)
    reads = Counter().read(event.plus(chatter), regular_polls(duration_s=duration_s, dt_s=dt_s))
    return label(reads.to_series(), reads=reads, status="aperiodic", bursts_s=[event.edges_s])


def poll_artefacts(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make bursts at random on a counter refreshed every ``dt_s`` and polled faster: what repeats is the reading."""
    bursts = _random_bursts(rng, duration_s=duration_s, rate_bps=rate_bps)
    chatter = Traffic.steady(rate_bps * log_uniform(rng, (1e-3, 1.0)), duration_s=duration_s)
    reads = read_refreshed(rng, bursts.plus(chatter), duration_s=duration_s, refresh_s=dt_s)
    return label(at_own_ticks(reads), reads=reads, status="aperiodic", bursts_s=[bursts.edges_s])


def _random_bursts(
    rng: np.random.Generator, *, duration_s: float, rate_bps: float, spread_frac: float | None = None
) -> Traffic:
    """Draw bursts whose intervals are a least one and an exponential rest, which is all that varies."""
    low, high = GAP_SPREAD
    if spread_frac is not None and not low <= spread_frac <= high:
        raise UsageError(f"random_bursts: spread_frac {spread_frac} must be {low} to {high}")
    n_bursts = round(log_uniform(rng, MEAN_EVENTS))
    free = rng.uniform(LEAST_APERIODIC_SPREAD, high) if spread_frac is None else spread_frac
    mean_s = duration_s / n_bursts
    gaps_s = mean_s * (1 - free + free * rng.exponential(size=2 * n_bursts))
    starts_s = np.cumsum(gaps_s)
    width_s = mean_s * (1 - free) * rng.uniform(0.4, 0.95)
    return _bursts(np.stack([starts_s, starts_s + width_s], axis=1), rate_bps).within(duration_s)


def _bursts(up_s: NDArray[np.float64], rate_bps: float) -> Traffic:
    return Traffic(edges_s=up_s, rate_bps=np.full(len(up_s), rate_bps))


def _read(traffic: Traffic, *, duration_s: float, dt_s: float) -> Labelled:
    reads = Counter().read(traffic, regular_polls(duration_s=duration_s, dt_s=dt_s))
    return label(reads.to_series(), reads=reads, status="aperiodic", bursts_s=[traffic.edges_s])
