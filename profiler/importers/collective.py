"""Importers of collectives: traces of the PyTorch profiler, flight recorders' dumps, records of NCCL Inspector.

What they read is collectives, one by one (`Importer.events`); in a lake it becomes bytes in bins, of layer
``collective``: message bytes, spread evenly over each collective's duration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from profiler.importers.captures.rates import NEVER, samples_of
from profiler.importers.coverage import Coverage
from profiler.importers.importer import EventReader, Importer, Options
from profiler.importers.traces.flight_recorder import is_flight_recorder, read_flight_recorder
from profiler.importers.traces.inspector import is_inspector, read_inspector
from profiler.importers.traces.kineto import is_kineto, read_kineto
from profiler.store import Series
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["FLIGHT_RECORDER", "KINETO", "NCCL_INSPECTOR"]

MAX_BINS: Final = 50_000_000
"""Bins of one series in which something moves: 14 h of milliseconds; more is a wrong clock, or needs wider bins."""

_NOTHING: Final = (
    "no collective of it has both a size and a duration; offbeat profile on the file itself finds its period"
)


def _importer(name: str, *, reads: str, is_it: Callable[[bytes], bool], read_events: EventReader) -> Importer:
    def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
        return is_it(head)

    def _read(source: Input, sink: Sink, options: Options) -> Coverage:
        coverage = Coverage()
        for events in read_events(source, options, coverage=coverage):
            _write(events, sink, bin_ns=options.bin_ns, source=source.name, coverage=coverage)
        return coverage

    return Importer(
        name=name,
        version=3,
        reads=reads,
        recognises=_recognises,
        read=_read,
        parameters=_parameters,
        events=read_events,
    )


def _write(events: CollectiveEvents, sink: Sink, *, bin_ns: int, source: str, coverage: Coverage) -> None:
    """Store the collectives whose size and duration are known."""
    coverage.n_rows += events.n_events
    coverage.saw(events.start_ns)
    known = _known(events, coverage)
    if not known.any():
        if events.n_events:
            coverage.skip(f"{events.label}: bytes over time", _NOTHING)
        return
    first_bin = int(events.start_ns[known][0]) // bin_ns
    begins_ns = (events.start_ns[known] - first_bin * bin_ns).astype(np.float64)
    ends_ns = begins_ns + np.maximum(events.duration_ns[known], 1.0)
    runs = _busy_runs(begins_ns, ends_ns, bin_ns=bin_ns)
    n_bins = int(np.diff(runs).sum())
    if n_bins > MAX_BINS:
        coverage.leave_out("too long a time for its bins", int(np.count_nonzero(known)))
        seconds = n_bins * bin_ns / NS_PER_S
        coverage.problems.append(f"{source}: {events.label}: {seconds:g} s in bins of {bin_ns} ns; give a wider --bin")
        return
    series = Series(
        host=events.host,
        device=events.device,
        port=events.port,
        direction=events.direction,
        kind="delta",
        layer="collective",
        raw_name="message bytes",
        width_bits=None,
        source=source,
    )
    sink.add_series(series)
    i_bin = _bins_of(runs)
    total = _total_bytes((i_bin + 1).astype(np.float64) * bin_ns, begins_ns, ends_ns, size_bytes=events.bytes[known])
    moved_bytes: NDArray[np.int64] = np.diff(np.concatenate(([0], np.rint(total).astype(np.int64))))
    coverage.n_samples += _write_bins(sink, series, i_bin + first_bin, moved_bytes, bin_ns=bin_ns)


def _write_bins(
    sink: Sink, series: Series, i_bin: NDArray[np.int64], moved_bytes: NDArray[np.int64], *, bin_ns: int
) -> int:
    """Store the bytes of bins, and that there was silence between them, as a capture's; return how many samples."""
    zeros = np.zeros_like(i_bin)
    samples = samples_of(np.column_stack((zeros, i_bin, moved_bytes, zeros)), np.array([NEVER]), bin_ns=bin_ns)
    sink.write_samples(
        series.series_id, samples.t_ns, samples.n_bytes, window_ns=samples.window_ns, flags=samples.flags
    )
    return samples.t_ns.size


def _busy_runs(begins_ns: NDArray[np.float64], ends_ns: NDArray[np.float64], *, bin_ns: int) -> NDArray[np.int64]:
    """Return the first and the next to last bin of each stretch in which something moved, shape (n_runs, 2), in order.

    ``begins_ns`` are in order.
    """
    first = (begins_ns // bin_ns).astype(np.int64)
    stop = np.maximum.accumulate(np.ceil(ends_ns / bin_ns).astype(np.int64))
    is_new = np.append(True, first[1:] > stop[:-1])
    is_last = np.append(is_new[1:], True)
    return np.column_stack((first[is_new], stop[is_last]))


def _bins_of(runs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return every bin of some stretches, shape (n_bins,)."""
    lengths = runs[:, 1] - runs[:, 0]
    starts = np.cumsum(lengths) - lengths
    bins: NDArray[np.int64] = np.arange(lengths.sum()) + np.repeat(runs[:, 0] - starts, lengths)
    return bins


def _known(events: CollectiveEvents, coverage: Coverage) -> NDArray[np.bool_]:
    """Return which collectives have a size and a duration, shape (n_events,); the coverage counts the others."""
    has_size, has_duration = ~np.isnan(events.bytes), ~np.isnan(events.duration_ns)
    coverage.leave_out("no size", int(np.count_nonzero(~has_size & has_duration)))
    coverage.leave_out("no duration", int(np.count_nonzero(has_size & ~has_duration)))
    coverage.leave_out("no size and no duration", int(np.count_nonzero(~has_size & ~has_duration)))
    known: NDArray[np.bool_] = has_size & has_duration
    return known


def _total_bytes(
    edges_ns: NDArray[np.float64],
    begins_ns: NDArray[np.float64],
    ends_ns: NDArray[np.float64],
    *,
    size_bytes: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the bytes moved until each edge, shape (n_edges,), if each message moves evenly; they never decrease."""
    rates = size_bytes / (ends_ns - begins_ns)
    times_ns = np.concatenate((begins_ns, ends_ns))
    order = np.argsort(times_ns, kind="stable")
    rate = np.cumsum(np.concatenate((rates, -rates))[order])
    moved = np.concatenate(([0.0], np.cumsum(rate[:-1] * np.diff(times_ns[order]))))
    total: NDArray[np.float64] = np.maximum.accumulate(np.interp(edges_ns, times_ns[order], moved))
    total = np.minimum(total, size_bytes.sum())
    total[-1] = size_bytes.sum()
    return total


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host, "bin_s": options.bin_s}


KINETO: Final = _importer("kineto", reads="traces of the PyTorch profiler", is_it=is_kineto, read_events=read_kineto)
FLIGHT_RECORDER: Final = _importer(
    "flight_recorder",
    reads="dumps of the NCCL flight recorder (pickle, JSON)",
    is_it=is_flight_recorder,
    read_events=read_flight_recorder,
)
NCCL_INSPECTOR: Final = _importer(
    "nccl_inspector", reads="records of NCCL Inspector", is_it=is_inspector, read_events=read_inspector
)
