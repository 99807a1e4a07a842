"""Counters read and watched at once: the sampler in this process, the numerics in another."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Final, TypeAlias

from profiler.live.counter import LiveCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    import numpy as np
    from numpy.typing import NDArray

    from profiler.live.state import LiveProfile
    from profiler.phases import TrafficProfile
    from profiler.record import Chunk, Sampler
    from profiler.store import Series

    # Series, times, values and flags of some ticks, one entry a counter.
    Readings: TypeAlias = list[tuple[Series, NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]]

__all__ = ["LiveWatch", "profile_live"]

NICENESS: Final = 10
"""The watching process gives way to the sampler, which must not miss its ticks."""


class LiveWatch:
    """Several counters watched together, each by a `LiveCounter`, in the order in which they were first read."""

    def __init__(self) -> None:
        self._counters: dict[Series, LiveCounter] = {}

    def add(self, readings: Readings) -> None:
        """Take the newest readings of some counters."""
        for series, t_ns, value, flags in readings:
            if series not in self._counters:
                self._counters[series] = LiveCounter(series)
            self._counters[series].add(t_ns, value, flags=flags)

    def look(self) -> None:
        """Run the detections that are due."""
        for counter in self._counters.values():
            counter.look()

    def states(self) -> list[LiveProfile]:
        """Return what is known of each counter now."""
        return [counter.state() for counter in self._counters.values()]

    def answers(self) -> list[TrafficProfile]:
        """Return the profile of each counter."""
        return [counter.answer() for counter in self._counters.values()]


def profile_live(
    sampler: Sampler,
    *,
    stop: Callable[[], bool],
    duration_s: float | None = None,
    show: Callable[[float, list[LiveProfile]], None] | None = None,
) -> list[TrafficProfile]:
    """Read counters for a while and return the profile of each.

    Parameters
    ----------
    sampler
        Reads the counters.
    stop
        Asked often; once true, what was read so far is profiled.
    duration_s
        Seconds to read; None reads until stopped, in memory that does not grow.
    show
        Called several times a second with the seconds read so far and the newest states. They are made in a process
        of their own, so that the sampler does not miss ticks for them; None makes none before the end.
    """
    chunks = sampler.chunks(stop=stop, duration_s=duration_s)
    if show is not None:
        return _watched(sampler, chunks, show)
    watch = LiveWatch()
    for chunk in chunks:
        watch.add(_readings(chunk))
    return watch.answers()


def _watched(
    sampler: Sampler, chunks: Iterable[Chunk], show: Callable[[float, list[LiveProfile]], None]
) -> list[TrafficProfile]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_settle_in) as pool:
        newest: list[LiveProfile] = []
        backlog: Readings = []
        pending: Future[list[LiveProfile]] | None = None
        for chunk in chunks:
            backlog += _readings(chunk)
            if pending is not None and pending.done():
                newest, pending = pending.result(), None
            if pending is None:
                pending, backlog = pool.submit(_advance, backlog), []
            show(sampler.elapsed_s, newest)
        return pool.submit(_finish, backlog).result()


def _readings(chunk: Chunk) -> Readings:
    return [
        (counter.series, chunk.t_ns[i], chunk.value[i], chunk.flags[i])
        for i, counter in enumerate(chunk.counters)
        if counter.series.metric == "bytes"
    ]


_watch: Final = LiveWatch()
"""What the watching process has seen; the sampling process leaves its own empty."""


def _settle_in() -> None:
    """Give way to the sampler, and let Ctrl-C end the sampling process alone; it then ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)


def _advance(readings: Readings) -> list[LiveProfile]:
    _watch.add(readings)
    _watch.look()
    return _watch.states()


def _finish(readings: Readings) -> list[TrafficProfile]:
    _watch.add(readings)
    return _watch.answers()
