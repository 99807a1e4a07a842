"""What an importer is: a row of the table `profiler.importers.registry.IMPORTERS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from profiler.importers.coverage import Coverage
    from profiler.importers.inputs import Input
    from profiler.importers.mapping import Mapping
    from profiler.importers.sink import Sink

__all__ = ["Importer", "Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the caller may tell an importer.

    Parameters
    ----------
    host
        Host of counters whose file names none; of a capture, where it was taken. None: the file's name, or nothing.
    mapping
        How the columns of a table are to be understood; None: as named in `mapping.plain_mapping`.
    bin_ns
        Width of the bins in which a capture's bytes are counted.
    series_by
        What one series of a capture is: all traffic of a pair of addresses in one direction, or one flow.
    """

    host: str | None = None
    mapping: Mapping | None = None
    bin_ns: int = 1_000_000
    series_by: Literal["pair", "flow"] = "pair"


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
    """

    name: str
    version: int
    reads: str
    recognises: Callable[[Input, bytes, Options], bool]
    read: Callable[[Input, Sink, Options], Coverage]
    parameters: Callable[[Options], dict[str, Any]]
