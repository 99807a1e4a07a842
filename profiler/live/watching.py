"""Counters read and watched at once: the sampler in this process, the numerics in another."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from profiler.live.watch import LiveWatch, Readings
from profiler.live.watcher import Watcher
from profiler.schema import Flag
from profiler.units import format_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiler.collectors import AnyCounter
    from profiler.live.state import LiveProfile
    from profiler.phases import TrafficProfile
    from profiler.record import Chunk, Sampler

__all__ = ["profile_live"]


def profile_live(
    sampler: Sampler,
    *,
    stop: Callable[[], bool],
    duration_s: float | None = None,
    show: Callable[[float, list[LiveProfile]], None] | None = None,
    warn: Callable[[str], None],
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
    warn
        Called with what went wrong on the way and did not end the watch.
    """
    impossible: Counter[AnyCounter] = Counter()
    chunks = sampler.chunks(stop=stop, duration_s=duration_s)
    if show is None:
        watch = LiveWatch()
        for chunk in chunks:
            watch.add(_readings(chunk))
            impossible.update(_impossible(chunk))
        answers = watch.answers()
    else:
        with Watcher(warn=warn) as watcher:
            for chunk in chunks:
                watcher.add(_readings(chunk))
                impossible.update(_impossible(chunk))
                show(sampler.elapsed_s, watcher.newest)
            answers = watcher.answers()
    for counter, n_readings in impossible.items():
        warn(_doubt(counter, n_readings))
    return answers


def _impossible(chunk: Chunk) -> dict[AnyCounter, int]:
    """Return how many readings of each counter of bytes were impossible, where any was."""
    n_readings = np.count_nonzero(chunk.flags & np.uint16(Flag.IMPOSSIBLE), axis=1).tolist()
    return {
        counter: n
        for counter, n in zip(chunk.counters, n_readings, strict=True)
        if n and counter.series.metric == "bytes"
    }


def _doubt(counter: AnyCounter, n_readings: int) -> str:
    return (
        f"{counter.source.folder / counter.spec.file}: {format_count(n_readings, 'reading')} of {counter.source.name}"
        " left out, of 2^63 bytes and more: no port has carried so many; look at its driver"
    )


def _readings(chunk: Chunk) -> Readings:
    return [
        (counter.series, chunk.t_ns[i], chunk.value[i], chunk.flags[i])
        for i, counter in enumerate(chunk.counters)
        if counter.series.metric == "bytes"
    ]
