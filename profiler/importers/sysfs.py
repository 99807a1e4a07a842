"""Importer of saved trees of ``/sys``: the counters of RDMA ports and interfaces at one instant.

The collectors read them, as they read a host's own, so that a saved tree and a recording give the same series.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from profiler.collectors import COLLECTORS
from profiler.collectors.base import Collector, Source, open_counters
from profiler.errors import BadInput, NotHere, SourceBroken
from profiler.importers.coverage import Coverage, Skipped
from profiler.importers.feed import Readings
from profiler.importers.importer import Importer, Options
from profiler.importers.instants import Instants, host_of
from profiler.importers.lines import lines_of
from profiler.importers.trees import tree_root
from profiler.importers.ttar import is_ttar, unpacked_ttar

if TYPE_CHECKING:
    from profiler.importers.inputs import Input, Unread
    from profiler.importers.sink import Sink

__all__ = ["SYSFS"]


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return source.is_tree or is_ttar(head)


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage, readings, instants = Coverage(), Readings(sink), Instants(source, options)
    host = host_of(source, options)
    with _tree(source, coverage) as folder:
        for collector in COLLECTORS.values():
            for port in _ports(collector, tree_root(folder), coverage):
                _take(port, collector, readings, host=host, coverage=coverage, instants=instants)
        coverage.problems[:] = [_placed(problem, folder, name=source.name) for problem in coverage.problems]
    readings.close(coverage)
    instants.tell(coverage)
    if not coverage.n_samples:
        said = [*coverage.problems, *(f"{item.what}: {item.why}" for item in coverage.skipped)]
        raise BadInput("\n".join([f"{source.name}: no counter of an RDMA port or an interface that is up", *said]))
    return coverage


@contextmanager
def _tree(source: Input, coverage: Coverage) -> Iterator[Path]:
    if source.is_tree:
        yield source.path
        return
    unread: list[Unread] = []
    with unpacked_ttar(lines_of(source, coverage.problems), name=source.name, unread=unread) as folder:
        coverage.problems += [f"{item.name}: {item.why}" for item in unread if item.is_fault]
        coverage.skipped += [Skipped(item.name, item.why) for item in unread if not item.is_fault]
        yield folder


def _placed(problem: str, folder: Path, *, name: str) -> str:
    """Return a problem with the names of files in an archive, not those in the folder that it was unpacked to."""
    return problem if Path(name) == folder else problem.replace(f"{folder}/", f"{name}!")


def _ports(collector: Collector, root: Path, coverage: Coverage) -> list[Source]:
    try:
        return collector.find(root)
    except SourceBroken as error:
        coverage.problems.append(str(error))
        return []


def _take(
    port: Source, collector: Collector, readings: Readings, *, host: str, coverage: Coverage, instants: Instants
) -> None:
    if not port.is_up:
        coverage.skip(port.name, "its link is down")
        n_files = len(_counter_files(port, collector))
        coverage.n_read += n_files
        coverage.leave_out("link is down", n_files)
        return
    _tell_others(port, collector, coverage)
    try:
        counters, broken = open_counters(port, collector, host=host)
    except NotHere:
        coverage.skip(port.name, f"it has no {collector.name} counters")
        return
    coverage.problems += map(str, broken)
    coverage.n_read += len(broken)
    coverage.leave_out("cannot be read", len(broken))
    for counter in counters:
        coverage.n_read += 1
        try:
            value = counter.read() * counter.spec.scale
        except (NotHere, SourceBroken) as error:
            coverage.problems.append(str(error))
            coverage.leave_out("cannot be read", 1)
        else:
            t_ns = instants.t_ns(None, of=f"{port.name} {counter.series.raw_name} {collector.name}")
            coverage.n_rows += 1
            coverage.saw_at(t_ns)
            readings.add(counter.series, t_ns=t_ns, value=value)
        finally:
            counter.close()


def _tell_others(port: Source, collector: Collector, coverage: Coverage) -> None:
    """Count the counters of a port that no series is made of."""
    known = {port.folder / spec.file for spec in collector.counters}
    others = [file.name for file in _counter_files(port, collector) if file not in known]
    if others:
        coverage.n_read += len(others)
        coverage.leave_out("no traffic", len(others))
        coverage.skip(f"counters of {port.name} ({len(others)})", f"no traffic of a port, such as {others[0]}")


def _counter_files(port: Source, collector: Collector) -> list[Path]:
    folders = sorted({(port.folder / spec.file).parent for spec in collector.counters})
    return [file for folder in folders for file in sorted(folder.glob("*")) if file.is_file()]


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host, "time_from": options.time_from}


SYSFS: Final = Importer(
    name="sysfs",
    version=2,
    reads="saved trees of /sys",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
    is_instant=True,
)
