"""`read_counters`: one file's series in memory, without a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.errors import BadInput
from profiler.importers.hosts import HostGuard, shared_stems, with_host
from profiler.importers.importer import Options
from profiler.importers.inputs import Input, inputs_of
from profiler.importers.mapping_file import read_mapping
from profiler.importers.registry import importer_of
from profiler.importers.sink import Counters, MemorySink

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_counters"]


def read_counters(
    path: str | Path,
    *,
    format: str | None = None,
    mapping: str | Path | None = None,
    host: str | None = None,
    bin_s: float = 1e-3,
) -> tuple[Counters, list[str]]:
    """Read the series of a file, of all files of a folder or archive, or of standard input (``-``).

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
    options = Options(host=host, mapping=None if mapping is None else read_mapping(mapping), bin_s=bin_s)
    sink = MemorySink()
    problems: list[str] = []
    shared = shared_stems([path])
    n_read = 0
    try:
        for source in inputs_of(path):
            n_read += _take(with_host(source, shared=shared), sink, options, format=format, problems=problems)
    except BadInput as error:
        problems.append(str(error))
    if not n_read:
        nothing = f"{path}: holds no file that an importer reads; name a file, or give --format or --mapping"
        raise BadInput("\n".join(problems) or nothing)
    return sink.counters(), problems


def _take(source: Input, sink: MemorySink, options: Options, *, format: str | None, problems: list[str]) -> bool:
    """Read an input to a sink if an importer is for it and it is sound at least in part; return whether it was."""
    part = MemorySink()
    try:
        importer = importer_of(source, options, forced=format)
        if importer is None:
            return False
        coverage = importer.read(source, part, options)
        if not options.names_host:
            guard = HostGuard(source, sink.held)
            part.copy_to(guard)
            guard.check()
    except BadInput as error:
        problems.append(str(error))
        return False
    problems += coverage.problems
    part.copy_to(sink)
    return True
