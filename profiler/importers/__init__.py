"""Importers: dumps of counters and packets to samples; one file a format.

`IMPORTERS` lists them; `ingest` fills a lake, `read_counters` reads one file into memory. Every importer writes to a
`Sink`, which is either.
"""

from profiler.importers.coverage import Coverage, Skipped
from profiler.importers.follow import follow
from profiler.importers.importer import Importer, Options
from profiler.importers.ingest import ingest
from profiler.importers.mapping_file import read_mapping
from profiler.importers.memory import Traffic, read_counters, read_traffic
from profiler.importers.paths import total_bytes
from profiler.importers.registry import IMPORTERS, importer_of
from profiler.importers.report import IngestReport, InputReport
from profiler.importers.sink import Sink

__all__ = [
    "IMPORTERS",
    "Coverage",
    "Importer",
    "IngestReport",
    "InputReport",
    "Options",
    "Sink",
    "Skipped",
    "Traffic",
    "follow",
    "importer_of",
    "ingest",
    "read_counters",
    "read_mapping",
    "read_traffic",
    "total_bytes",
]
