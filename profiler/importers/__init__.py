"""Importers: dumps of counters and packets to samples; one file a format.

`IMPORTERS` lists them; `ingest` fills a lake, `read_counters` reads one file into memory. Every importer writes to a
`Sink`, which is either.
"""

from profiler.importers.importer import Importer, Options
from profiler.importers.memory import read_counters
from profiler.importers.registry import IMPORTERS, importer_of
from profiler.importers.sink import Sink

__all__ = ["IMPORTERS", "Importer", "Options", "Sink", "importer_of", "read_counters"]
