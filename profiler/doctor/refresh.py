"""`measure_refresh`: how often devices copy their counters, found by reading these for a moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.collectors import Source
from profiler.record import SYSTEM_CLOCK, Clock, Sampler, opened
from profiler.signals import RateSeries
from profiler.units import format_duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.collectors import Probe
    from profiler.record import Chunk

__all__ = ["Refresh", "measure_refresh", "refresh_of"]

WATCH_FRAC: Final = 0.1
"""Part of a recording's time that is worth spending on this."""
LONGEST_S: Final = 2.0
SHORTEST_S: Final = 0.2
"""A shorter look sees too few copies to tell them from traffic."""
LOOK_EVERY_S: Final = 0.001
READS_A_COPY: Final = 4.0
"""Reads in the time between two copies that tell each copy from the next, and its time to a quarter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """How often devices copy their counters, by their names, where it is known; and what follows for a recording."""

    refresh_s: Mapping[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def measure_refresh(
    sources: Sequence[Source | Probe],
    *,
    interval_s: float,
    duration_s: float | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> Refresh:
    """Read the ports among some sources for a tenth of the time that they are to be recorded for, at most 2 s.

    Parameters
    ----------
    sources
        What is to be recorded; probes are not read.
    interval_s, duration_s
        How often, and for how long: None is until stopped.
    clock
        Clocks to go by.

    Returns
    -------
    Refresh
        Empty where a tenth of the time is too short for a look, or nothing moved.
    """
    ports = [source for source in sources if isinstance(source, Source)]
    watch_s = LONGEST_S if duration_s is None else min(LONGEST_S, WATCH_FRAC * duration_s)
    if not ports or watch_s < SHORTEST_S:
        return Refresh()
    with opened(ports, host="") as found:
        sampler = Sampler(found.counters, interval_s=LOOK_EVERY_S, clock=clock, chunk_s=watch_s + 1)
        chunks = list(sampler.chunks(stop=lambda: False, duration_s=watch_s))
    known = {port.name: refresh_of(port, chunks) for port in ports}
    refresh_s = {name: every_s for name, every_s in known.items() if every_s is not None}
    return Refresh(refresh_s=refresh_s, remarks=tuple(_remarks(refresh_s, interval_s=interval_s)))


def refresh_of(port: Source, chunks: Sequence[Chunk]) -> float | None:
    """Return how often a port's counters are copied, in s; None where it is with each read, or nothing moved."""
    found = [
        _refresh_s(chunk.t_ns[i], chunk.value[i])
        for chunk in chunks
        for i, counter in enumerate(chunk.counters)
        if counter.source == port and counter.series.metric == "bytes"
    ]
    known_s = [every_s for every_s in found if every_s is not None]
    return float(np.median(known_s)) if known_s else None


def _refresh_s(t_ns: NDArray[np.int64], value: NDArray[np.int64]) -> float | None:
    return RateSeries.from_counter(t_ns, value).refresh_s if value[-1] > value[0] else None


def _remarks(refresh_s: Mapping[str, float], *, interval_s: float) -> Iterator[str]:
    for name, every_s in refresh_s.items():
        if interval_s * READS_A_COPY < every_s:
            serves_ms = every_s / READS_A_COPY * 1e3
            yield (
                f"{name}: its device copies its counters each {format_duration(every_s)} only; what is shorter is not"
                f" seen, and --interval {serves_ms:.3g}ms serves as well"
            )
