"""What an importer is: a row of the table `profiler.importers.registry.IMPORTERS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from profiler.errors import UsageError
from profiler.store import file_digest
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.collectives import CollectiveEvents
    from profiler.importers.coverage import Coverage
    from profiler.importers.inputs import Input
    from profiler.importers.mapping import Mapping
    from profiler.importers.sink import Sink

__all__ = ["EventReader", "Importer", "Options"]


SHORTEST_BIN_S: Final = 1e-6
LONGEST_BIN_S: Final = 2.0
"""The window of a sample is an int32 of nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the caller may tell an importer.

    Parameters
    ----------
    host
        Host of counters whose file names none; of a capture, where it was taken. None: the file's name, or nothing;
        a table that then contradicts another one of that name is refused.
    mapping
        How the columns of a table are to be understood; None: as named in `mapping.plain_mapping`.
    bin_s
        Width of the bins in which a capture's bytes are counted, 1 us to 2 s.
    series_by
        What one series of a capture is: all traffic of a pair of addresses in one direction, or one flow.
    time_from
        What tells when a file without times was taken: its ``name``, its time of modification, ``mtime``, or
        ``auto``: the name, and the modification, or of a stream the arrival, where it names no time.
    packets
        Folder for a Parquet file of each capture with a row a packet; None: for none.
    """

    host: str | None = None
    mapping: Mapping | None = None
    bin_s: float = 1e-3
    series_by: Literal["pair", "flow"] = "pair"
    time_from: Literal["auto", "name", "mtime"] = "auto"
    packets: Path | None = None

    def __post_init__(self) -> None:
        if not SHORTEST_BIN_S <= self.bin_s <= LONGEST_BIN_S:
            raise UsageError(f"bin of {self.bin_s} s: expected {SHORTEST_BIN_S} s to {LONGEST_BIN_S} s")

    @property
    def names_host(self) -> bool:
        """Whether the host of every counter is told, here or in the table."""
        return self.host is not None or (self.mapping is not None and self.mapping.names_host)

    @property
    def bin_ns(self) -> int:
        """Width of the bins in whole nanoseconds."""
        return round(self.bin_s * NS_PER_S)


class EventReader(Protocol):
    """Reads an input whose rows are collectives."""

    def __call__(self, source: Input, options: Options, /, *, coverage: Coverage) -> list[CollectiveEvents]:
        """Return the collectives, and tell the coverage what became of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One format.

    Parameters
    ----------
    version
        Goes up when the same input would give other rows, so that it can be ingested anew.
    recognises
        Tells from an input and its first bytes, decompressed, whether it is of the format.
    read
        Reads an input into a sink. What is wrong with it after the first sound row goes into the coverage.
    parameters
        The options that change what this importer reads, for the key of a recording.
    is_instant
        Whether its files hold one instant, and often no time: the same content at another time is another input.
    events
        Reads an input whose rows are collectives, and tells the coverage what became of the others; None where rows are
        something else.
    digest
        Tells the content of an input that is a file.
    write_packets
        Writes a row a packet to a file in a folder, unless one has them; None where an input has no packets.
    """

    name: str
    version: int
    reads: str
    recognises: Callable[[Input, bytes, Options], bool]
    read: Callable[[Input, Sink, Options], Coverage]
    parameters: Callable[[Options], dict[str, Any]]
    is_instant: bool = False
    events: EventReader | None = None
    digest: Callable[[Path], str] = file_digest
    write_packets: Callable[[Input, Path], object] | None = None
