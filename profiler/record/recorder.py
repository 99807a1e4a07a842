"""One recording: counters on a clock, into the lake."""

from __future__ import annotations

import time
import uuid
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from profiler.collectors.base import Source
from profiler.collectors.blind import shared_ports, shared_probes
from profiler.errors import SourceBroken
from profiler.record.cost import bare_reads_s
from profiler.record.opening import opened
from profiler.record.sampler import Sampler
from profiler.record.summary import RecordSummary
from profiler.store.recording import Recording, recording_id
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from profiler.collectors.base import Probe
    from profiler.record.clock import Clock
    from profiler.record.readings import Chunk
    from profiler.record.timing import Timing
    from profiler.store.lake import Lake
    from profiler.store.writer import LakeWriter

__all__ = ["SEAL_EVERY_S", "record"]

SEAL_EVERY_S: Final = 5.0
"""How long samples wait in memory before they are on disk, and seen by readers."""

_LEAST_STEP_NS: Final = 1_000_000
"""Two looks at both clocks differ by less, even where a process is put off between them."""

_PARSER_VERSION: Final = 1


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
        Told of progress, each time that samples are handed over.

    Raises
    ------
    UsageError
        If the interval is too short.
    SourceBroken
        If no counter can be read, or none any more; samples read before stay in the lake.
    LakeError
        If the lake cannot be written; samples sealed before stay in it.
    """
    with opened(sources, host=host) as found:
        sampler = Sampler(
            found.counters,
            interval_s=timing.interval_s,
            clock=timing.clock,
            chunk_s=timing.hand_over_s,
            dither=timing.dither(),
        )
        sampler.broken += found.broken
        reads_s = bare_reads_s(found.counters)
        ports = _ports(sources)
        probes = [source for source in sources if not isinstance(source, Source)]
        recording = _recording(ports, probes, host=host, timing=timing, sampler=sampler)
        with lake.writer(recording, seal_every_s=SEAL_EVERY_S) as writer:
            _prepare(writer, sampler)
            start_s, start_cpu_s = time.monotonic(), time.process_time()
            warnings = [str(error) for error in found.broken]
            losses = (loss for probe in probes for loss in probe.lost)
            for warning in chain(_write(writer, sampler, timing=timing, stop=stop, show=show), losses):
                writer.warn(warning)
                warnings.append(warning)
    duration_s, cpu_s = time.monotonic() - start_s, time.process_time() - start_cpu_s
    return RecordSummary(
        recording_id=recording.recording_id,
        host=host,
        sources=tuple(port.name for port in ports),
        interval_s=timing.interval_s,
        duration_s=duration_s,
        n_samples=writer.n_rows,
        n_ticks=sampler.n_ticks,
        n_missed=sampler.n_missed,
        cpu_frac=cpu_s / duration_s,
        kernel_cpu_frac=None if reads_s is None else reads_s * sampler.n_ticks / duration_s,
        refresh_s=dict(timing.refresh_s),
        files=tuple(
            str(path.relative_to(lake.root)) for path in lake.files("samples", recording_id=recording.recording_id)
        ),
        failed=_failed(ports, sampler),
        warnings=tuple(warnings),
        remarks=found.remarks,
    )


def _ports(sources: Sequence[Source | Probe]) -> list[Source]:
    """Return what is read, each once, of probes what they read of."""
    named = ([one] if isinstance(one, Source) else [counter.source for counter in one.counters()] for one in sources)
    return list(dict.fromkeys(port for ports in named for port in ports))


def _recording(
    sources: Sequence[Source], probes: Sequence[Probe], *, host: str, timing: Timing, sampler: Sampler
) -> Recording:
    ports = [source for source in sources if source.collector == "nic"]
    parameters: dict[str, Any] = {
        "host": host,
        "interval_s": timing.interval_s,
        "is_dithered": timing.is_dithered,
        "refresh_s": dict(timing.refresh_s),
        "speed_bps": _speeds_bps(sources),
        "counted_too_by": {
            **{port.name: shared for port in ports if (shared := shared_ports(port))},
            **shared_probes(probes),
        },
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


def _speeds_bps(sources: Sequence[Source]) -> dict[str, float | None]:
    """Return the speeds of links by name; statistics of a driver are of an interface whose kernel's source knows it."""
    known = {source.name: source.speed_bps for source in sources if source.speed_bps is not None}
    return {source.name: known.get(source.name) for source in sources}


def _prepare(writer: LakeWriter, sampler: Sampler) -> None:
    """Have all over that is slow the first time, such as imports, before the clock starts."""
    for error in sampler.broken:
        writer.warn(str(error))
    for counter in sampler.counters:
        writer.add_series(counter.series)
    writer.seal()


def _write(
    writer: LakeWriter,
    sampler: Sampler,
    *,
    timing: Timing,
    stop: Callable[[], bool],
    show: Callable[[Sampler], None],
) -> Iterator[str]:
    """Write what is read, until it is over; yield what went wrong on the way."""
    n_told = len(sampler.broken)
    for chunk in sampler.chunks(stop=stop, duration_s=timing.duration_s):
        _write_chunk(writer, chunk)
        show(sampler)
    yield from [*map(str, sampler.broken[n_told:]), *sampler.returned, *_clock_steps(sampler, timing.clock)]
    if not sampler.counters:
        raise SourceBroken(_last_words(writer, sampler))


def _clock_steps(sampler: Sampler, clock: Clock) -> Iterator[str]:
    """Yield what became of the wall clock; slewing it moves the monotonic clock alike, setting it does not."""
    wall_ns, monotonic_ns = clock.anchor()
    step_ns = (wall_ns - sampler.anchor_wall_ns) - (monotonic_ns - sampler.anchor_monotonic_ns)
    if abs(step_ns) > _LEAST_STEP_NS:
        yield (
            f"the wall clock was set by {step_ns / NS_PER_S:+.3f} s meanwhile: times are those of the clock as it was"
            " at the start; other hosts' may differ by as much"
        )


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
