"""Samples of one series on their way from a table to a sink: in order, each with its window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.store.ordering import in_order

if TYPE_CHECKING:
    from profiler.importers.sink import Sink
    from profiler.store.series import Series

__all__ = ["LONGEST_WINDOW_NS", "Feed", "Readings"]

LONGEST_WINDOW_NS: Final = (1 << 31) - 1
"""The longest window that table ``samples`` can hold; a longer one is 0: since the sample before."""

BLOCK_READINGS: Final = 4096
"""Readings of one series that wait to be written together."""


class Feed:
    """Takes the rows of one series block by block; the last row waits, since the next block may repeat it."""

    def __init__(self, series: Series, sink: Sink) -> None:
        sink.add_series(series)
        self.n_late = 0
        self.n_dropped = 0
        self.n_written = 0
        self._sink = sink
        self._series_id = series.series_id
        self._kind = series.kind
        self._waiting = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        self._last_ns: int | None = None

    def write(self, t_ns: NDArray[np.int64], value: NDArray[np.int64]) -> None:
        """Take rows, shape (n_rows,)."""
        if not t_ns.size:
            return
        rows = in_order(
            np.concatenate((self._waiting[0], t_ns)), np.concatenate((self._waiting[1], value)), kind=self._kind
        )
        self.n_late += rows.n_late
        self.n_dropped += rows.n_dropped
        self._store(rows.t_ns[:-1], rows.value[:-1])
        self._waiting = (rows.t_ns[-1:], rows.value[-1:])

    def close(self) -> None:
        """Store the row that waits."""
        self._store(*self._waiting)

    def _store(self, t_ns: NDArray[np.int64], value: NDArray[np.int64]) -> None:
        if not t_ns.size:
            return
        window_ns: NDArray[np.int32] | int = 0
        if self._kind == "delta":
            widths_ns = np.diff(t_ns, prepend=t_ns[0] if self._last_ns is None else self._last_ns)
            known = (widths_ns > 0) & (widths_ns <= LONGEST_WINDOW_NS)
            window_ns = np.where(known, widths_ns, 0).astype(np.int32)
        self._last_ns = int(t_ns[-1])
        self.n_written += t_ns.size
        self._sink.write_samples(self._series_id, t_ns, value, window_ns=window_ns)


class Readings:
    """Takes single readings of many series and writes them to a sink, a block of each at a time."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._feeds: dict[int, Feed] = {}
        self._waiting: dict[int, tuple[list[int], list[int]]] = {}

    def add(self, series: Series, *, t_ns: int, value: int) -> None:
        """Take one reading, in the canonical unit of its series."""
        key = series.series_id
        if key not in self._feeds:
            self._feeds[key] = Feed(series, self._sink)
            self._waiting[key] = ([], [])
        times_ns, values = self._waiting[key]
        times_ns.append(t_ns)
        values.append(value)
        if len(values) >= BLOCK_READINGS:
            self._flush(key)

    def close(self) -> int:
        """Write what waits; return how many samples were written in all."""
        for key, feed in self._feeds.items():
            self._flush(key)
            feed.close()
        return sum(feed.n_written for feed in self._feeds.values())

    def _flush(self, key: int) -> None:
        t_ns, values = (np.array(column, dtype=np.int64) for column in self._waiting[key])
        self._waiting[key] = ([], [])
        self._feeds[key].write(t_ns, values)
