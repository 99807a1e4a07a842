"""Where importers put what they read: the lake's writer, or memory; both fit `Sink`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from profiler.importers.hosts import Held
from profiler.store.ordering import Ordered, in_order
from profiler.store.series import Series
from profiler.store.writer import LakeWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

__all__ = ["Counters", "MemorySink", "Rows", "Sink", "write_mixed"]

Counters = list[tuple[Series, NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]]
"""Series with times (ns, increasing), values and flags; bytes of a delta's ``value[i]`` came after ``t_ns[i - 1]``."""


class Sink(Protocol):
    """What an importer needs of the place that it writes to."""

    def add_series(self, series: Series) -> object:
        """Announce a series before its first sample; doing so again is harmless."""

    def write_samples(
        self,
        series_id: int,
        t_ns: NDArray[np.int64],
        value: NDArray[np.int64],
        *,
        window_ns: NDArray[np.int32] | int = 0,
        flags: NDArray[np.uint16] | int = 0,
        epoch: NDArray[np.int32] | int = 0,
    ) -> object:
        """Take samples of one series; arrays have shape (n_samples,)."""

    def write_flows(self, flows: pa.Table) -> object:
        """Take rows of table ``flows``."""

    def replace_flows(self, flows: Iterable[pa.Table]) -> object:
        """Take rows of table ``flows`` in place of all before, of a capture that goes on."""


def write_mixed(sink: Sink, series_ids: NDArray[np.uint64], *, samples: Rows) -> None:
    """Write samples of many series, those of one after those of another; a lake takes them all at once.

    Parameters
    ----------
    sink
        Knows the series.
    series_ids
        Of each sample, shape (n_samples,).
    samples
        What it is of.
    """
    t_ns, value, window_ns, flags, epoch = samples
    if isinstance(sink, LakeWriter):
        sink.write_mixed(series_ids, t_ns, value=value, window_ns=window_ns, flags=flags, epoch=epoch)
        return
    edges = (np.flatnonzero(series_ids[1:] != series_ids[:-1]) + 1).tolist()
    for start, stop in zip([0, *edges], [*edges, series_ids.size], strict=True):
        if stop > start:
            rows, number = slice(start, stop), int(series_ids[start])
            sink.write_samples(
                number, t_ns[rows], value[rows], window_ns=window_ns[rows], flags=flags[rows], epoch=epoch
            )


class Rows(NamedTuple):
    """Columns of samples, shape (n_samples,), and the epoch of all of them."""

    t_ns: NDArray[np.int64]
    value: NDArray[np.int64]
    window_ns: NDArray[np.int32]
    flags: NDArray[np.uint16]
    epoch: int


class MemorySink:
    """A sink that keeps all it is given, for one file that is wanted without a lake."""

    def __init__(self) -> None:
        self._series: dict[int, Series] = {}
        self._samples: dict[int, list[_Part]] = {}
        self.flows: list[pa.Table] = []

    def add_series(self, series: Series) -> None:
        """Announce a series; see `Sink`."""
        self._series[series.series_id] = series
        self._samples.setdefault(series.series_id, [])

    def write_samples(
        self,
        series_id: int,
        t_ns: NDArray[np.int64],
        value: NDArray[np.int64],
        *,
        window_ns: NDArray[np.int32] | int = 0,  # noqa: ARG002 - as in Sink
        flags: NDArray[np.uint16] | int = 0,
        epoch: NDArray[np.int32] | int = 0,
    ) -> None:
        """Keep samples; see `Sink`."""
        self._samples[series_id].append(
            _Part(
                t_ns=t_ns,
                value=value,
                flags=np.broadcast_to(np.asarray(flags, dtype=np.uint16), t_ns.shape),
                epoch=np.broadcast_to(np.asarray(epoch, dtype=np.int32), t_ns.shape),
            )
        )

    def write_flows(self, flows: pa.Table) -> None:
        """Keep flows; see `Sink`."""
        self.flows.append(flows)

    def replace_flows(self, flows: Iterable[pa.Table]) -> None:
        """Keep flows in place of those kept before."""
        self.flows = list(flows)

    def held(self, series_id: int) -> Held | None:
        """Return what is kept of a series; None if it was not announced."""
        if series_id not in self._series:
            return None
        rows = self._ordered(series_id)
        return Held(rows.t_ns, rows.value, self._series[series_id].source)

    def copy_to(self, sink: Sink) -> None:
        """Give another sink all that this one keeps."""
        for series_id, series in self._series.items():
            sink.add_series(series)
            for part in self._samples[series_id]:
                sink.write_samples(series_id, part.t_ns, part.value, flags=part.flags, epoch=part.epoch)
        for flows in self.flows:
            sink.write_flows(flows)

    def counters(self) -> Counters:
        """Return every series with its samples, one a time and in order of it; series as they were announced."""
        found = ((series, self._ordered(key)) for key, series in self._series.items())
        return [(series, rows.t_ns, rows.value, rows.flags) for series, rows in found]

    def _ordered(self, series_id: int) -> Ordered:
        columns = [np.concatenate(column) for column in zip(_NOTHING, *self._samples[series_id], strict=True)]
        rows = _Part._make(columns)
        return in_order(rows.t_ns, rows.value, kind=self._series[series_id].kind, flags=rows.flags, epoch=rows.epoch)


class _Part(NamedTuple):
    t_ns: NDArray[np.int64]
    value: NDArray[np.int64]
    flags: NDArray[np.uint16]
    epoch: NDArray[np.int32]


_NOTHING: Final = _Part._make(np.empty(0, dtype=dtype) for dtype in (np.int64, np.int64, np.uint16, np.int32))
