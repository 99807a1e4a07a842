"""One recording: counters on a clock, into the lake."""

from __future__ import annotations

import random
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from profiler.collectors.base import Source
from profiler.errors import SourceBroken
from profiler.record.clock import SYSTEM_CLOCK, Clock
from profiler.record.opening import opened
from profiler.record.sampler import Sampler
from profiler.record.summary import RecordSummary
from profiler.store.recording import Recording, recording_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from profiler.collectors.base import Probe
    from profiler.record.readings import Chunk
    from profiler.store.lake import Lake
    from profiler.store.writer import LakeWriter

__all__ = ["SEAL_EVERY_S", "Timing", "record"]

SEAL_EVERY_S: Final = 5.0
"""How long samples wait in memory before they are on disk, and seen by readers."""

_PARSER_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How often to read, for how long (None: until stopped), whether at random places, and by which clocks."""

    interval_s: float
    duration_s: float | None = None
    is_dithered: bool = False
    clock: Clock = SYSTEM_CLOCK

    def dither(self) -> Callable[[], float]:
        """Return what puts a tick off by a part of an interval."""
        return random.Random().random if self.is_dithered else lambda: 0.0  # noqa: S311 - no secret


def record(
    lake: Lake,
    sources: Sequence[Source | Probe],
    *,
    host: str,
    timing: Timing,
    stop: Callable[[], bool],
    show: Callable[[Sampler], None] = lambda _sampler: None,
) -> RecordSummary:
    """Read the counters of sources at a steady pace into the lake, until told to stop or the time is over.

    Parameters
    ----------
    lake
        Where samples go.
    sources
        What is read: ports, see `profiler.collectors.find_sources`, and probes, which are closed at the end.
    host
        Name of this host in the lake.
    timing
        How often, and for how long.
    stop
        Asked at least each 50 ms whether to end.
    show
        Told of progress, four times a second.

    Raises
    ------
    UsageError
        If the interval is too short.
    SourceBroken
        If no counter can be read, or none any more; samples read before stay in the lake.
    LakeError
        If the lake cannot be written; samples sealed before stay in it.
    """
    start_s, start_cpu_s = time.monotonic(), time.process_time()
    with opened(sources, host=host) as found:
        sampler = Sampler(found.counters, interval_s=timing.interval_s, clock=timing.clock, dither=timing.dither())
        sampler.broken += found.broken
        ports = _ports(sources)
        recording = _recording(ports, host=host, timing=timing, sampler=sampler)
        with lake.writer(recording, seal_every_s=SEAL_EVERY_S) as writer:
            _write(writer, sampler, timing=timing, stop=stop, show=show)
    return RecordSummary(
        recording_id=recording.recording_id,
        host=host,
        sources=tuple(port.name for port in ports),
        interval_s=timing.interval_s,
        duration_s=time.monotonic() - start_s,
        n_samples=writer.n_rows,
        n_ticks=sampler.n_ticks,
        n_missed=sampler.n_missed,
        cpu_frac=(time.process_time() - start_cpu_s) / (time.monotonic() - start_s),
        files=tuple(
            str(path.relative_to(lake.root)) for path in lake.files("samples", recording_id=recording.recording_id)
        ),
        failed=_failed(ports, sampler),
        warnings=tuple(str(error) for error in sampler.broken),
    )


def _ports(sources: Sequence[Source | Probe]) -> list[Source]:
    """Return what is read, each once, of probes what they read of."""
    named = ([one] if isinstance(one, Source) else [counter.source for counter in one.counters()] for one in sources)
    return list(dict.fromkeys(port for ports in named for port in ports))


def _recording(sources: Sequence[Source], *, host: str, timing: Timing, sampler: Sampler) -> Recording:
    parameters: dict[str, Any] = {
        "host": host,
        "interval_s": timing.interval_s,
        "is_dithered": timing.is_dithered,
        "speed_bps": {source.name: source.speed_bps for source in sources},
    }
    return Recording(
        # Each run is an input of its own.
        recording_id=recording_id(uuid.uuid4().hex, parser="record", parser_version=_PARSER_VERSION),
        source=", ".join(str(source.folder) for source in sources),
        format="+".join(sorted({source.collector for source in sources})),
        parameters=parameters,
        anchor_wall_ns=sampler.anchor_wall_ns,
        anchor_monotonic_ns=sampler.anchor_monotonic_ns,
    )


def _write(
    writer: LakeWriter,
    sampler: Sampler,
    *,
    timing: Timing,
    stop: Callable[[], bool],
    show: Callable[[Sampler], None],
) -> None:
    for error in sampler.broken:
        writer.warn(str(error))
    for counter in sampler.counters:
        writer.add_series(counter.series)
    writer.seal()  # what is slow the first time, such as imports, is over before the clock starts
    n_told = len(sampler.broken)
    for chunk in sampler.chunks(stop=stop, duration_s=timing.duration_s):
        _write_chunk(writer, chunk)
        show(sampler)
    for error in sampler.broken[n_told:]:
        writer.warn(str(error))
    if not sampler.counters:
        raise SourceBroken(_last_words(writer, sampler))


def _write_chunk(writer: LakeWriter, chunk: Chunk) -> None:
    for i_counter, counter in enumerate(chunk.counters):
        writer.write_samples(
            counter.series.series_id,
            chunk.t_ns[i_counter],
            chunk.value[i_counter],
            window_ns=chunk.window_ns[i_counter],
            flags=chunk.flags[i_counter],
        )


def _last_words(writer: LakeWriter, sampler: Sampler) -> str:
    cause = sampler.broken[-1] if sampler.broken else "no source was named"
    if not writer.n_rows:
        return f"no counter can be read; nothing was recorded: {cause}"
    return f"no counter can be read any more; the {writer.n_rows} samples read before are kept: {cause}"


def _failed(sources: Sequence[Source], sampler: Sampler) -> tuple[str, ...]:
    alive = {counter.source.name for counter in sampler.counters}
    return tuple(source.name for source in sources if source.name not in alive)
