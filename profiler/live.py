"""The same steps on a rolling window: profiles of counters while they are being read."""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.phases import TrafficProfile, profile
from profiler.rates import rate_series
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiler.record import Chunk, Sampler
    from profiler.signals import RateSeries
    from profiler.store import Series

__all__ = ["RollingWindow", "profile_live"]

WINDOW_S: Final = 120.0
"""Time looked back on: long enough for a hundred iterations of a second, and bounded in memory."""
EVERY_S: Final = 2.0


class RollingWindow:
    """The last readings of some counters.

    Parameters
    ----------
    window_s
        Seconds of readings to keep; what is older is forgotten.
    """

    def __init__(self, *, window_s: float = WINDOW_S) -> None:
        self._window_ns = round(window_s * NS_PER_S)
        self._chunks: list[Chunk] = []

    def add(self, chunk: Chunk) -> None:
        """Take the next readings, and forget those that are too old."""
        self._chunks.append(chunk)
        oldest_ns = chunk.t_ns.max() - self._window_ns
        while self._chunks[0].t_ns.max() < oldest_ns:
            self._chunks.pop(0)

    def rates(self) -> list[RateSeries]:
        """Return the rate of every counter of bytes that was read."""
        readings: dict[Series, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
        for chunk in self._chunks:
            for i, counter in enumerate(chunk.counters):
                if counter.series.metric == "bytes":
                    readings.setdefault(counter.series, []).append((chunk.t_ns[i], chunk.value[i], chunk.flags[i]))
        return [
            rate_series(
                series,
                t_ns=np.concatenate([t_ns for t_ns, _, _ in parts]),
                value=np.concatenate([value for _, value, _ in parts]),
                flags=np.concatenate([flags for _, _, flags in parts]),
            )
            for series, parts in readings.items()
        ]


def profile_live(
    sampler: Sampler,
    *,
    stop: Callable[[], bool],
    duration_s: float | None = None,
    show: Callable[[float, list[TrafficProfile]], None] | None = None,
) -> list[TrafficProfile]:
    """Read counters for a while and return the profile of each.

    Parameters
    ----------
    sampler
        Reads the counters.
    stop
        Asked often; once true, what was read so far is profiled.
    duration_s
        Seconds to read; None reads until stopped.
    show
        Called several times a second with the seconds read so far and the newest profiles. They are made in a process
        of their own, so that the sampler does not miss ticks for them; None makes none before the end.
    """
    window = RollingWindow()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_leave_signals) if show else nullcontext() as pool:
        newest: list[TrafficProfile] = []
        pending: Future[list[TrafficProfile]] | None = None
        due_s = EVERY_S
        for chunk in sampler.chunks(stop=stop, duration_s=duration_s):
            window.add(chunk)
            if show is None or pool is None:
                continue
            if pending is not None and pending.done():
                newest, pending = ([] if pending.exception() else pending.result()), None
            if pending is None and sampler.elapsed_s >= due_s:
                pending = pool.submit(_profiles, window.rates())
                due_s = sampler.elapsed_s + EVERY_S
            show(sampler.elapsed_s, newest)
    return _profiles(window.rates())


def _leave_signals() -> None:
    """Let Ctrl-C end the watching process alone; it then ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _profiles(rates: list[RateSeries]) -> list[TrafficProfile]:
    return [profile(rate) for rate in rates]
