"""Traffic without a period that is made of transfers at random: Poisson, telegraph, heavy tails, one event."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

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
]

TAIL_INDEX: Final = (1.1, 1.8)
"""Pareto index of flow sizes: finite mean, infinite variance, which makes traffic self-similar [1]_.

.. [1] Crovella, Bestavros, "Self-similarity in World Wide Web traffic", IEEE/ACM Trans. Networking 5(6), 1997.
"""
MEAN_EVENTS: Final = (30.0, 300.0)
"""Transfers of a recording, where their number is drawn."""


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


def random_bursts(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make equal bursts at random with a least gap between them: intervals that vary by half of their mean or more."""
    traffic = _random_bursts(rng, duration_s=duration_s, rate_bps=rate_bps)
    return _read(traffic, duration_s=duration_s, dt_s=dt_s)


def heavy_tailed(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make flows that begin at random and whose sizes have a heavy tail; several may be under way."""
    n_flows = round(4 * log_uniform(rng, *MEAN_EVENTS))
    sizes = 1 + rng.pareto(rng.uniform(*TAIL_INDEX), n_flows)
    lengths_s = np.minimum(sizes * rng.uniform(0.3, 2.0) * duration_s / (10 * n_flows), duration_s)
    starts_s = rng.uniform(-0.2 * duration_s, duration_s, n_flows)
    flow_bps = rate_bps * rng.uniform(0.2, 1.0, n_flows)
    up_s = np.stack([starts_s, starts_s + lengths_s], axis=1)
    traffic = Traffic(edges_s=up_s, rate_bps=flow_bps).within(duration_s)
    return _read(traffic, duration_s=duration_s, dt_s=dt_s)


def single_event(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make one transfer, such as the copy of a data set, on a port that else says little."""
    length_s = duration_s * log_uniform(rng, 0.01, 0.5)
    start_s = rng.uniform(0, duration_s - length_s)
    event = _bursts(np.array([[start_s, start_s + length_s]]), rate_bps)
    n_samples = round(duration_s / dt_s)
    chatter = Traffic.of_levels(rate_bps * 1e-3 * rng.exponential(size=n_samples), dt_s=dt_s)
    reads = Counter().read(event.plus(chatter), regular_polls(duration_s=duration_s, dt_s=dt_s))
    return label(reads.to_series(), reads=reads, status="aperiodic", bursts_s=[event.edges_s])


def poll_artefacts(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make bursts at random on a counter refreshed every ``dt_s`` and polled faster: what repeats is the reading."""
    bursts = _random_bursts(rng, duration_s=duration_s, rate_bps=rate_bps)
    chatter = Traffic.steady(rate_bps * log_uniform(rng, 1e-3, 1.0), duration_s=duration_s)
    reads = read_refreshed(rng, bursts.plus(chatter), duration_s=duration_s, refresh_s=dt_s)
    return label(at_own_ticks(reads), reads=reads, status="aperiodic", bursts_s=[bursts.edges_s])


def _random_bursts(rng: np.random.Generator, *, duration_s: float, rate_bps: float) -> Traffic:
    n_bursts = round(log_uniform(rng, *MEAN_EVENTS))
    free_s = duration_s / n_bursts / rng.uniform(1.2, 1.9)
    gaps_s = (duration_s / n_bursts - free_s) + free_s * rng.exponential(size=2 * n_bursts)
    starts_s = np.cumsum(gaps_s)
    width_s = (duration_s / n_bursts - free_s) * rng.uniform(0.4, 0.95)
    return _bursts(np.stack([starts_s, starts_s + width_s], axis=1), rate_bps).within(duration_s)


def _bursts(up_s: NDArray[np.float64], rate_bps: float) -> Traffic:
    return Traffic(edges_s=up_s, rate_bps=np.full(len(up_s), rate_bps))


def _read(traffic: Traffic, *, duration_s: float, dt_s: float) -> Labelled:
    reads = Counter().read(traffic, regular_polls(duration_s=duration_s, dt_s=dt_s))
    return label(reads.to_series(), reads=reads, status="aperiodic", bursts_s=[traffic.edges_s])
