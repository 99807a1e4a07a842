"""`follow`: a capture that is still being written, into a lake while it grows."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from profiler.errors import BadInput, LakeError
from profiler.importers.capture import CAPTURE, capture_parameters
from profiler.importers.contents import kind_of
from profiler.importers.importer import Options
from profiler.importers.inputs import STDIN
from profiler.importers.piped import pieces_of_pipe
from profiler.importers.repeats import CAPTURES, find_repeat, report_repeat, settle
from profiler.importers.report import InputReport
from profiler.importers.sink import MemorySink
from profiler.importers.unpacking import COMPRESSIONS, unpacked
from profiler.store import Lake, Recording, recording_id

__all__ = ["follow"]

_PIECE_BYTES: Final = 1 << 20
_IDLE_S: Final = 0.2
"""How long to wait for more bytes of a file before asking whether to stop."""
_SEAL_EVERY_S: Final = 5.0
"""How long samples may wait for others before they can be queried, as in a recording."""


def follow(
    path: str | Path,
    *,
    lake: Lake | str | Path,
    stop: Callable[[], bool],
    options: Options = Options(),  # noqa: B008 - frozen
    now_ns: Callable[[], int] = time.time_ns,
) -> InputReport:
    """Read a capture into a lake while it is written, until told to stop or, of a pipe, its end.

    Its bins are in the lake some seconds after their packets, with its flows so far; while it does not grow, all but
    the last 10 ms. The same file ingested later takes its place if it has grown, else it is there already. One that
    the lake has packets of is not followed.

    Parameters
    ----------
    path
        A file, or ``-`` for standard input.
    lake
        Where it goes; made if missing or empty.
    stop
        Returns whether to stop.
    options
        What the reader is told.
    now_ns
        The time, UTC epoch ns: packets of the future are not waited for.

    Returns
    -------
    report
        What became of it.
    """
    name = str(path)
    opened = lake if isinstance(lake, Lake) else Lake.open(lake, create=True)
    try:
        with _opened(name) as stream:
            return _follow(stream, name, opened, stop=stop, options=options, now_ns=now_ns)
    except (BadInput, LakeError) as error:
        return InputReport(source=name, status="failed", format=CAPTURES, message=str(error))


def _follow(
    stream: BinaryIO, name: str, lake: Lake, *, stop: Callable[[], bool], options: Options, now_ns: Callable[[], int]
) -> InputReport:
    # LLVM, which runs the kernel, is nothing that other inputs need.
    from profiler.importers.captures.reader import CaptureReader
    from profiler.importers.captures.window import ByteWindow

    recording = _recording(stream, name, options, started_ns=now_ns())
    pieces = _decoded(_pieces(stream, stop), name)
    first = next(filter(None, pieces), b"")
    _check_is_new(lake, recording, first, options=options)
    with lake.writer(recording, seal_every_s=_SEAL_EVERY_S) as writer:
        reader = CaptureReader(name, writer, host=options.host, bin_ns=options.bin_ns, by=options.series_by)
        writer.before_seal(reader.tell_flows)
        window = ByteWindow(_at_once(chain([first], pieces)))
        coverage = reader.follow(window, now_ns=now_ns, after_write=writer.seal_when_due)
        for problem in coverage.problems:
            writer.warn(problem)
        repeat = settle(lake, writer, coverage=coverage)
    if repeat is not None:
        return report_repeat(name, repeat)
    return InputReport(
        source=name,
        status="partial" if coverage.problems else "read",
        format=CAPTURES,
        message="\n".join(coverage.problems),
        coverage=coverage,
    )


def _check_is_new(lake: Lake, recording: Recording, first: bytes, *, options: Options) -> None:
    """Refuse a capture that the lake has packets of, as far as its first bytes tell.

    Raises
    ------
    BadInput
        If it has: they would count twice until the end.
    """
    from profiler.importers.captures.reader import CaptureReader

    sink = MemorySink()
    try:
        reader = CaptureReader(recording.source, sink, host=options.host, bin_ns=options.bin_ns, by=options.series_by)
        coverage = reader.read(iter([first]))
    except BadInput:  # told when it is read
        return
    repeat = find_repeat(lake, recording, read=sink, coverage=coverage)
    if repeat is not None:
        raise BadInput(
            f"{recording.source}: the lake has packets of it, of {', '.join(repeat.sources)}; ingest it without "
            "--follow once it is written, which replaces them, or follow it into another lake"
        )


def _recording(stream: BinaryIO, name: str, options: Options, *, started_ns: int) -> Recording:
    """Return a recording whose key is where and when it began: what it will hold is not known."""
    status = os.fstat(stream.fileno())
    begun = f"{name}|{status.st_dev}|{status.st_ino}|{started_ns}"
    parameters = {"followed": True, **capture_parameters(options)}
    digest = hashlib.sha256(begun.encode("utf-8", "surrogateescape")).hexdigest()
    key = recording_id(digest, parser=CAPTURES, parser_version=CAPTURE.version, parameters=parameters)
    return Recording(recording_id=key, source=name, format=CAPTURES, parameters=parameters)


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == STDIN:
        yield sys.stdin.buffer
        return
    try:
        with Path(name).open("rb", buffering=0) as stream:
            yield stream
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror or error}; check the path and its permissions") from error


def _pieces(stream: BinaryIO, stop: Callable[[], bool]) -> Iterator[bytes]:
    """Return what yields bytes as they come, and none where there are none yet; a pipe ends, a file does not."""
    return _pieces_of_file(stream, stop) if stream.seekable() else pieces_of_pipe(stream.fileno(), stop)


def _pieces_of_file(stream: BinaryIO, stop: Callable[[], bool]) -> Iterator[bytes]:
    """Yield bytes up to where they end when told to stop.

    Raises
    ------
    BadInput
        If the file has become shorter than what was read of it.
    """
    number, n_read = stream.fileno(), 0
    while True:
        piece = os.read(number, _PIECE_BYTES)
        n_read += len(piece)
        if not piece:
            if stop():
                return
            if os.fstat(number).st_size < n_read:
                raise BadInput(f"byte {n_read}: the file was cut to less than that; follow the new one")
            time.sleep(_IDLE_S)
        yield piece


def _at_once(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield nothing after each piece, so that it is not kept until there are more: some come in drops."""
    for piece in pieces:
        yield piece
        yield b""


def _decoded(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield pieces as they are, or unpacked, by what the first of them is."""
    first = next(filter(None, pieces), b"")
    kind = kind_of(first)
    whole = chain([first], pieces)
    return unpacked(whole, kind=kind, name=name) if kind in COMPRESSIONS else whole
