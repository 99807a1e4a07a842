"""Importer of packet captures: pcap and pcapng, plain or compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from profiler.importers.contents import kind_of
from profiler.importers.importer import Importer, Options

if TYPE_CHECKING:
    from profiler.importers.coverage import Coverage
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["CAPTURE"]


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    # numba takes a third of a second to import, which tables do not need.
    from profiler.importers.captures.reader import CaptureReader

    reader = CaptureReader(source.name, sink, host=options.host, bin_ns=options.bin_ns, by=options.series_by)
    return reader.read(source.pieces())


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return kind_of(head) in ("pcap", "pcapng")


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host, "bin_s": options.bin_s, "series_by": options.series_by}


CAPTURE: Final = Importer(
    name="capture",
    version=1,
    reads="packet captures (pcap, pcapng)",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)
