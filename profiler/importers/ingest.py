"""`ingest`: inputs into a lake, each once, whatever becomes of the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput, LakeError
from profiler.importers.clocks import note_clock, note_clocks
from profiler.importers.contents import kind_of
from profiler.importers.hosts import HostGuard, KnownSeries, shared_stems, with_host
from profiler.importers.importer import Options
from profiler.importers.inputs import Input, Unread
from profiler.importers.paths import inputs_of
from profiler.importers.recorder import merge_recording, recordings_of, series_of
from profiler.importers.registry import importer_of, remedy_of
from profiler.importers.repeats import CAPTURES, find_compacted, report_compacted, report_repeat, settle
from profiler.importers.report import IngestReport, InputReport, InputStatus
from profiler.importers.snapshots import SnapshotGuard, held_near, is_named_by_time
from profiler.importers.trees import tree_digest
from profiler.store import Lake, Recording, recording_id
from profiler.store.manifest import MERGED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from profiler.importers.coverage import Coverage
    from profiler.importers.importer import Importer
    from profiler.importers.sink import Sink
    from profiler.store.manifest import Counting

__all__ = ["ingest"]

_CHANGED: Final = "was written to while it was read; ingest it again once its writer is done"


def ingest(
    *paths: str | Path,
    lake: Lake | str | Path,
    host: str | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
    format: str | None = None,
    advance: Callable[[int], object] = int,
    tell: Callable[[InputReport], object] = id,
) -> IngestReport:
    """Read inputs into a lake.

    Parameters
    ----------
    paths
        Files, folders (walked), archives, lakes, or ``-`` for standard input.
    lake
        Where their samples go; a folder is made a lake if it is missing or empty. An input that it holds already is
        left alone.
    host
        Host of counters whose file names none; short for that of the options.
    options
        What the importers are told.
    format
        Importer to take, whatever the content.
    advance
        Called with the number of bytes that each step has read.
    tell
        Called with what became of each input, as soon as that is known.

    Returns
    -------
    report
        What became of each input. One that fails does not keep the others from being read.

    Raises
    ------
    UsageError
        If the format is not known.
    LakeError
        If the folder is not a lake and cannot be made one.
    """
    known = KnownSeries(lake if isinstance(lake, Lake) else Lake.open(lake, create=True))
    told = options if host is None else replace(options, host=host)
    shared = shared_stems(paths)
    reports: list[InputReport] = []
    for path in paths:
        inputs = inputs_of(path, advance=advance)
        for report in _ingest_path(path, known, options=told, format=format, inputs=inputs, shared=shared):
            reports.append(report)
            tell(report)
    note_clocks([report.coverage for report in reports])
    return IngestReport(inputs=tuple(reports))


def _ingest_path(
    path: str | Path,
    known: KnownSeries,
    *,
    inputs: Iterable[Input | Unread],
    options: Options,
    format: str | None,
    shared: frozenset[str],
) -> Iterator[InputReport]:
    """Yield what became of each input of a path, and that there was none, if there was none."""
    statuses: set[InputStatus] = set()
    try:
        for source in inputs:
            for report in _reports(source, known, options=options, format=format, shared=shared):
                statuses.add(report.status)
                yield report
    except (BadInput, LakeError) as error:
        statuses.add("failed")
        yield InputReport(source=str(path), status="failed", message=str(error))
    if statuses <= {"skipped"}:
        message = f"{path}: nothing in it that an importer reads; name a file, or give --mapping"
        yield InputReport(source=str(path), status="failed", message=message)


def _reports(
    source: Input | Unread, known: KnownSeries, *, options: Options, format: str | None, shared: frozenset[str]
) -> Iterator[InputReport]:
    if isinstance(source, Unread):
        yield _report_unread(source)
    elif source.is_lake and source.path.samefile(known.lake.root):
        yield InputReport(source=source.name, status="skipped", message="the lake that is being filled")
    elif source.is_lake:
        yield from _merge(source, known.lake)
    else:
        yield _ingest_input(with_host(source, shared=shared), known, options=options, format=format)


def _ingest_input(source: Input, known: KnownSeries, *, options: Options, format: str | None) -> InputReport:
    try:
        before = _stamp(source.path)
        importer = importer_of(source, options, forced=format)
        if importer is None:
            return _report_passed(source)
        recording = _recording(source, importer, options)
    except BadInput as error:
        return InputReport(source=source.name, status="failed", message=str(error))

    def read(sink: Sink) -> Coverage:
        held = None if options.names_host else known.of_host(source.default_host)
        if held is not None:
            guard = HostGuard(source, held)
            importer.read(replace(source, advance=int), guard, options)
            guard.check()
        is_doubtful = importer.is_instant and options.time_from == "auto"
        target = SnapshotGuard(source, sink, held_near(known.lake, source)) if is_doubtful else sink
        coverage = importer.read(source, target, options)
        note_clock(coverage, modified_s=source.modified_s)
        if _stamp(source.path) != before:
            coverage.problems.append(f"{source.name}: {_CHANGED}")
        return coverage

    # Of half a capture nobody could tell which packets are there.
    counts: Counting = "once whole" if importer.name == CAPTURES else "at once"
    report = _store(source.name, known.lake, recording=recording, read=read, counts=counts)
    return _with_packets(report, source, importer, folder=options.packets)


def _stamp(path: Path) -> tuple[int, int, int]:
    """Return what changes with a file: which one it is, its size, when it was modified.

    Raises
    ------
    BadInput
        If it is gone.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error} while it was read; ingest it again") from error
    return found.st_ino, found.st_size, found.st_mtime_ns


def _recording(source: Input, importer: Importer, options: Options) -> Recording:
    parameters = importer.parameters(options)
    if importer.is_instant:
        is_named = is_named_by_time(source, options)
        parameters |= {"name": Path(source.name).name} if is_named else {"modified_s": source.modified_s}
    key = recording_id(
        tree_digest(source.path) if source.is_tree else importer.digest(source.path),
        parser=importer.name,
        parser_version=importer.version,
        parameters=parameters,
    )
    return Recording(recording_id=key, source=source.name, format=importer.name, parameters=parameters)


def _with_packets(report: InputReport, source: Input, importer: Importer, *, folder: Path | None) -> InputReport:
    """Write the packets of a capture to a file of their own, unless there is one, also where the lake held it."""
    if folder is None or importer.write_packets is None or report.status == "failed":
        return report
    try:
        folder.mkdir(parents=True, exist_ok=True)
        importer.write_packets(source, folder)
    except OSError as error:
        message = f"{folder}: {error.strerror or error}; name another folder for packets"
    except BadInput as error:
        message = str(error)
    else:
        return report
    return replace(report, status="partial", message="\n".join(filter(None, (report.message, message))))


def _store(
    name: str, lake: Lake, *, recording: Recording, read: Callable[[Sink], Coverage], counts: Counting = "at once"
) -> InputReport:
    """Read an input into the lake unless it is there."""
    if lake.holds(recording.recording_id):
        return _report_held(name, lake, recording=recording)
    try:
        with lake.writer(recording, counts=counts) as writer:
            coverage = read(writer)
            for problem in coverage.problems:
                writer.warn(problem)
            repeat = settle(lake, writer, coverage=coverage)
    except BadInput as error:
        status: InputStatus = "partial" if writer.n_rows else "failed"
        return InputReport(source=name, status=status, format=recording.format, message=str(error))
    except LakeError as error:
        return InputReport(source=name, status="failed", format=recording.format, message=str(error))
    if repeat is not None:
        return report_repeat(name, repeat)
    return InputReport(
        source=name,
        status="partial" if coverage.problems else "read",
        format=recording.format,
        message="\n".join(coverage.problems),
        coverage=coverage,
    )


def _report_passed(source: Input) -> InputReport:
    """Say of a file that no importer is for what it looks like, and how it could be read."""
    kind = kind_of(source.head())
    found = "is empty" if kind == "empty" else f"looks like {kind}"
    said = "; ".join(filter(None, (f"no importer is for it; it {found}", remedy_of(kind))))
    return InputReport(source=source.name, status="skipped", message=said)


def _report_unread(source: Unread) -> InputReport:
    if source.is_fault:
        return InputReport(source=source.name, status="failed", message=f"{source.name}: {source.why}")
    return InputReport(source=source.name, status="skipped", message=source.why)


def _report_held(name: str, lake: Lake, *, recording: Recording) -> InputReport:
    rows = lake.read("recordings").select(["recording_id", "status", "message"]).to_pylist()
    (row,) = (row for row in rows if row["recording_id"] == recording.recording_id)
    if row["status"] == "partial":
        message = f"{name}: already there, partly: {row['message']}"
        return InputReport(source=name, status="already there, partly", format=recording.format, message=message)
    return InputReport(source=name, status="already there", format=recording.format, message="nothing to do")


def _merge(source: Input, lake: Lake) -> Iterator[InputReport]:
    """Copy every recording of another lake, under the key that it has there."""
    other = Lake.open(source.path)
    series = series_of(other)
    compacted, repeat = find_compacted(lake, other)
    for recording in recordings_of(other):
        name = f"{source.name}: {recording.source}"
        if repeat is not None and (recording.recording_id in compacted or recording.format == MERGED):
            yield report_compacted(name, repeat, format=recording.format)
            continue

        def read(sink: Sink, recording: Recording = recording) -> Coverage:
            return merge_recording(other, recording, sink=sink, series=series)

        counts: Counting = "once whole" if recording.format == CAPTURES else "at once"
        yield _store(name, lake, recording=recording, read=read, counts=counts)
