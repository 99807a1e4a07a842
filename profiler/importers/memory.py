"""`read_counters`, `read_traffic`: one file's series in memory, without a lake."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from profiler.errors import BadInput
from profiler.importers.coverage import Coverage
from profiler.importers.hosts import HostGuard, shared_stems, with_host
from profiler.importers.importer import Options
from profiler.importers.inputs import Input, Unread
from profiler.importers.mapping_file import read_mapping
from profiler.importers.paths import inputs_of
from profiler.importers.registry import importer_of
from profiler.importers.sink import Counters, MemorySink
from profiler.importers.snapshots import SnapshotGuard

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.collectives import CollectiveEvents
    from profiler.importers.importer import Importer

__all__ = ["Traffic", "read_counters", "read_traffic"]


class Traffic(NamedTuple):
    """What was read of one path: counters, collectives, and what was wrong with the rest."""

    counters: Counters
    events: list[CollectiveEvents]
    problems: list[str]


def read_counters(
    path: str | Path,
    *,
    format: str | None = None,
    mapping: str | Path | None = None,
    host: str | None = None,
    bin_s: float = 1e-3,
    time_from: Literal["auto", "name", "mtime"] = "auto",
) -> tuple[Counters, list[str]]:
    """Read the series of a file, of all files of a folder or archive, or of standard input (``-``).

    Parameters
    ----------
    path
        What to read.
    format
        Importer to take, whatever the content.
    mapping, host, bin_s, time_from
        See `profiler.importers.Options`.

    Returns
    -------
    counters
        Each series with its times (UTC epoch ns, strictly increasing) and values, int64, and its flags
        (`profiler.schema.Flag`), uint16; shape (n_samples,). A ``counter`` is cumulative; of a ``delta``, ``value[i]``
        came after ``t_ns[i - 1]`` and up to ``t_ns[i]``, so ``RateSeries.from_deltas(t_ns, value[1:])`` is its rate.
    problems
        What was wrong with an input that could not be read, or only in part.

    Raises
    ------
    UsageError
        If the format or the mapping is not known.
    BadInput
        If nothing could be read.
    """
    told = None if mapping is None else read_mapping(mapping)
    options = Options(host=host, mapping=told, bin_s=bin_s, time_from=time_from)
    sink, problems = _read_all(path, options, format=format, read=_read_samples)
    return sink.counters(), problems


def read_traffic(path: str | Path, *, mapping: str | Path | None = None, host: str | None = None) -> Traffic:
    """Read the series of a path as `read_counters` does, but collectives one by one, not in bins.

    Raises
    ------
    UsageError
        If the mapping is not known.
    BadInput
        If nothing could be read.
    """
    events: list[CollectiveEvents] = []

    def _read_events(importer: Importer, source: Input, part: MemorySink, options: Options) -> Coverage:
        if importer.events is None:
            return _read_samples(importer, source, part, options)
        coverage = Coverage()
        events.extend(importer.events(source, options, coverage=coverage))
        return coverage

    options = Options(host=host, mapping=None if mapping is None else read_mapping(mapping))
    sink, problems = _read_all(path, options, format=None, read=_read_events)
    return Traffic(sink.counters(), events, problems)


_Read = Callable[["Importer", Input, MemorySink, Options], Coverage]


def _read_samples(importer: Importer, source: Input, part: MemorySink, options: Options) -> Coverage:
    return importer.read(source, part, options)


def _read_all(path: str | Path, options: Options, *, format: str | None, read: _Read) -> tuple[MemorySink, list[str]]:
    """Read everything that a path stands for; a `BadInput` if that is nothing."""
    sink = MemorySink()
    problems: list[str] = []
    shared = shared_stems([path])
    n_read = 0
    try:
        for source in inputs_of(path):
            if isinstance(source, Unread):
                problems += [f"{source.name}: {source.why}"] if source.is_fault else []
                continue
            told = with_host(source, shared=shared)
            n_read += _take(told, sink, options, importer_name=format, read=read, problems=problems)
    except BadInput as error:
        problems.append(str(error))
    if not n_read:
        nothing = f"{path}: holds no file that an importer reads; name one of its files, or give a mapping of tables"
        raise BadInput("\n".join(problems) or nothing)
    return sink, problems


def _take(
    source: Input, sink: MemorySink, options: Options, *, importer_name: str | None, read: _Read, problems: list[str]
) -> bool:
    """Read an input to a sink if an importer is for it and it is sound at least in part; return whether it was."""
    part = MemorySink()
    try:
        importer = importer_of(source, options, forced=importer_name)
        if importer is None:
            return False
        coverage = read(importer, source, part, options)
        if not options.names_host:
            guard = HostGuard(source, sink.held)
            part.copy_to(guard)
            guard.check()
        if importer.is_instant and options.time_from == "auto":
            part.copy_to(SnapshotGuard(source, MemorySink(), sink.held))
    except BadInput as error:
        problems.append(str(error))
        return False
    problems += coverage.problems
    part.copy_to(sink)
    return True
