"""Counters whose traffic changes while they are watched, made of stretches of known traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from profiler.live import LiveCounter, LiveEvent
from profiler.store import Series
from profiler.synth import Burst, training_job

__all__ = ["GPT", "ONE_BURST", "SERIES", "Stream", "job", "joined", "played", "silence"]

T0_NS = 1_800_000_000 * 10**9
SERIES = Series(host="h1", device="eth0", direction="transmit", layer="netdev")
ONE_BURST = (Burst(0.3, 0.4, 400e6),)
GPT = (Burst(0.05, 0.25, 400e6), Burst(0.55, 0.2, 360e6))
"""Two bursts an iteration, nearly equal and nearly half a period apart: half the period looks almost as good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Cumulative bytes read at a steady pace; ``joints_ns`` are the times at which one stretch follows another."""

    t_ns: NDArray[np.int64]
    value: NDArray[np.int64]
    joints_ns: list[int]


def job(
    period_s: float,
    *,
    duration_s: float,
    bursts: Sequence[Burst] = ONE_BURST,
    jitter_frac: float = 0.0,
    dt_s: float = 0.004,
    seed: int = 1,
) -> NDArray[np.float64]:
    """Return the bytes of each sample of a training job."""
    made = training_job(
        np.random.default_rng(seed),
        period_s=period_s,
        bursts=bursts,
        duration_s=duration_s,
        dt_s=dt_s,
        jitter_frac=jitter_frac,
    )
    return made.series.delta_bytes.copy()


def silence(duration_s: float, *, dt_s: float = 0.004) -> NDArray[np.float64]:
    """Return samples without a byte."""
    return np.zeros(round(duration_s / dt_s))


def joined(*stretches: NDArray[np.float64], dt_s: float = 0.004) -> Stream:
    """Return a counter that counts these bytes, one stretch after the other."""
    delta_bytes = np.concatenate(stretches)
    t_ns = T0_NS + np.round(np.arange(delta_bytes.size + 1) * dt_s * 1e9).astype(np.int64)
    ends = np.cumsum([stretch.size for stretch in stretches])
    value = np.concatenate(([0], np.cumsum(np.round(delta_bytes)))).astype(np.int64)
    return Stream(t_ns=t_ns, value=value, joints_ns=[int(t_ns[end]) for end in ends[:-1]])


def played(
    stream: Stream, *, counter: LiveCounter | None = None, chunk_s: float = 0.25, dt_s: float = 0.004
) -> tuple[LiveCounter, list[LiveEvent]]:
    """Return a counter that watched a stream, chunk by chunk, and all that it told."""
    watching = LiveCounter(SERIES) if counter is None else counter
    n_chunk = max(1, round(chunk_s / dt_s))
    events: list[LiveEvent] = []
    for first, end in pairwise([*range(0, stream.t_ns.size, n_chunk), stream.t_ns.size]):
        events += watching.add(stream.t_ns[first:end], stream.value[first:end])
        events += watching.look()
    return watching, events
