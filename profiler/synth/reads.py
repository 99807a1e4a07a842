"""`Reads`: what a poller saw of a counter, and what befalls reads on their way: lost, late, twice, stale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.signals import RateSeries
from profiler.units import NS_PER_S

__all__ = ["T0_NS", "Reads", "duplicated", "late", "lost", "stale"]

T0_NS: Final = 1_800_000_000 * NS_PER_S
"""Time 0 of all generated traffic, UTC epoch ns."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reads:
    """Reads of a cumulative counter, in the order in which they arrived.

    ``t_ns`` (UTC epoch ns) and ``value`` (bytes) have shape (n_reads,); ``value`` is int64, or uint64 where it needs
    all 64 bits. ``total_bytes`` are the bytes that truly passed between the states of the counter that the first and
    the last read saw, whatever wraps and resets hid.
    """

    t_ns: NDArray[np.int64]
    value: NDArray[np.int64] | NDArray[np.uint64]
    total_bytes: int

    def __post_init__(self) -> None:
        for array in (self.t_ns, self.value):
            array.setflags(write=False)

    def to_series(self, *, width_bits: int = 64) -> RateSeries:
        """Return the rate that these reads give when the counter is taken to wrap at ``2 ** width_bits``."""
        return RateSeries.from_counter(self.t_ns, self.value, width_bits=width_bits)


def lost(rng: np.random.Generator, reads: Reads, *, lost_frac: float) -> Reads:
    """Lose this fraction of the reads, never the first or the last."""
    kept = rng.random(reads.t_ns.size) >= lost_frac
    kept[[0, -1]] = True
    return replace(reads, t_ns=reads.t_ns[kept], value=reads.value[kept])


def duplicated(rng: np.random.Generator, reads: Reads, *, n_reads: int) -> Reads:
    """Deliver some reads twice."""
    again = rng.choice(reads.t_ns.size, size=n_reads, replace=False)
    order = np.sort(np.concatenate([np.arange(reads.t_ns.size), again]))
    return replace(reads, t_ns=reads.t_ns[order], value=reads.value[order])


def late(rng: np.random.Generator, reads: Reads, *, n_reads: int) -> Reads:
    """Deliver some reads after the one that follows them; of two neighbours at most one is late."""
    n_pairs = reads.t_ns.size // 2
    first = 2 * rng.choice(n_pairs, size=min(n_reads, n_pairs), replace=False)
    order = np.arange(reads.t_ns.size)
    order[first], order[first + 1] = first + 1, first
    return replace(reads, t_ns=reads.t_ns[order], value=reads.value[order])


def stale(rng: np.random.Generator, reads: Reads, *, stale_frac: float) -> Reads:
    """Let this fraction of the reads see the counter as the read before saw it, never the first or the last."""
    fresh = rng.random(reads.t_ns.size) >= stale_frac
    fresh[[0, -1]] = True
    seen = np.maximum.accumulate(np.where(fresh, np.arange(fresh.size), 0))
    return replace(reads, value=reads.value[seen])
