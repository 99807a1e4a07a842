"""Importer of packet captures: pcap and pcapng, plain or compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from profiler.importers.contents import is_packed, kind_of
from profiler.importers.importer import Importer, Options

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.importers.captures.window import ByteWindow
    from profiler.importers.coverage import Coverage
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["CAPTURE", "capture_parameters"]

_VERSION: Final = 3


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    # LLVM, which runs the kernel, is nothing that tables need.
    from profiler.importers.captures.reader import CaptureReader

    reader = CaptureReader(source.name, sink, host=options.host, bin_ns=options.bin_ns, by=options.series_by)
    return reader.read_window(_window(source))


def _window(source: Input) -> ByteWindow:
    """Return the bytes of a capture: mapped where they stand in a file as they are, else as a stream."""
    from profiler.importers.captures.window import ByteWindow, MappedWindow

    if not is_packed(source.path, name=source.name):
        try:
            return MappedWindow(source.path, advance=source.advance)
        except (OSError, ValueError):  # of a file that cannot be mapped, such as one of /proc or an empty one
            pass
    return ByteWindow(source.pieces())


def _write_packets(source: Input, folder: Path) -> None:
    from profiler.importers.captures.packet_files import missing_file
    from profiler.importers.captures.packet_rows import write_packets

    digest = _digest(source.path)
    path = missing_file(folder, source.stem, digest=digest)
    if path is not None:
        write_packets(_window(source), path, digest=digest)


def _digest(path: Path) -> str:
    from profiler.importers.captures.digests import capture_digest

    return capture_digest(path)


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return kind_of(head) in ("pcap", "pcapng")


def capture_parameters(options: Options) -> dict[str, Any]:
    """Return what decides which rows packets become."""
    return {"version": _VERSION, "host": options.host, "bin_s": options.bin_s, "series_by": options.series_by}


CAPTURE: Final = Importer(
    name="capture",
    version=_VERSION,
    reads="packet captures (pcap, pcapng)",
    recognises=_recognises,
    read=_read,
    parameters=capture_parameters,
    digest=_digest,
    write_packets=_write_packets,
)
