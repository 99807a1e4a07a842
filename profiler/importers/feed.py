"""Samples of one series on their way from a table to a sink: in order, each with its window."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.store.ordering import in_order

if TYPE_CHECKING:
    from profiler.importers.coverage import Coverage
    from profiler.importers.sink import Sink
    from profiler.store.series import Series

__all__ = ["LONGEST_WINDOW_NS", "Feed", "Readings", "tell_feeds"]

LONGEST_WINDOW_NS: Final = (1 << 31) - 1
"""The longest window that table ``samples`` can hold; a longer one is 0: since the sample before."""

BLOCK_READINGS: Final = 4096
"""Readings of one series that wait to be written together."""


class Feed:
    """Takes the rows of one series block by block; the last row waits, since the next block may repeat it."""

    def __init__(self, series: Series, sink: Sink) -> None:
        sink.add_series(series)
        self.n_taken = 0
        self.n_late = 0
        self.n_dropped = 0
        self.n_cut = 0
        self.n_doubtful = 0
        self.n_written = 0
        self._sink = sink
        self._series_id = series.series_id
        self._kind = series.kind
        self._waiting = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        self._last_ns: int | None = None
        self._last_value: int | None = None

    def write(self, t_ns: NDArray[np.int64], value: NDArray[np.int64]) -> None:
        """Take rows, shape (n_rows,)."""
        if not t_ns.size:
            return
        self.n_taken += t_ns.size
        rows = in_order(
            np.concatenate((self._waiting[0], t_ns)), np.concatenate((self._waiting[1], value)), kind=self._kind
        )
        self.n_late += rows.n_late
        self.n_dropped += rows.n_dropped
        self._store(rows.t_ns[:-1], rows.value[:-1])
        self._waiting = (rows.t_ns[-1:], rows.value[-1:])

    def close(self, *, is_cut: bool = False) -> None:
        """Store the row that waits; one that a cut file ends with only if no digits of a counter are missing."""
        t_ns, value = self._waiting
        if is_cut and self._kind == "counter" and self._last_value is not None and value.size:
            is_lower = value < self._last_value
            self.n_cut = int(np.count_nonzero(is_lower))
            t_ns, value = t_ns[~is_lower], value[~is_lower]
        self.n_doubtful = int(is_cut and self._kind != "counter")
        self._store(t_ns, value)

    def _store(self, t_ns: NDArray[np.int64], value: NDArray[np.int64]) -> None:
        if not t_ns.size:
            return
        self._last_value = int(value[-1])
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
        self._last_key: int | None = None

    def add(self, series: Series, *, t_ns: int, value: int, key: int | None = None) -> None:
        """Take one reading, in the canonical unit of its series, whose identity is ``key`` if that is at hand."""
        key = series.series_id if key is None else key
        if key not in self._feeds:
            self._feeds[key] = Feed(series, self._sink)
            self._waiting[key] = ([], [])
        self._last_key = key
        times_ns, values = self._waiting[key]
        times_ns.append(t_ns)
        values.append(value)
        if len(values) >= BLOCK_READINGS:
            self._flush(key)

    def close(self, coverage: Coverage, *, cut_in: str = "") -> None:
        """Write what waits, and tell how many readings became samples.

        Parameters
        ----------
        coverage
            What is told.
        cut_in
            Name of the input if it ends inside of a line, so that digits of the last reading may be missing.
        """
        for key, feed in self._feeds.items():
            self._flush(key)
            feed.close(is_cut=bool(cut_in) and key == self._last_key)
        tell_feeds(self._feeds.values(), coverage, cut_in=cut_in)

    def _flush(self, key: int) -> None:
        t_ns, values = (np.array(column, dtype=np.int64) for column in self._waiting[key])
        self._waiting[key] = ([], [])
        self._feeds[key].write(t_ns, values)


def tell_feeds(feeds: Collection[Feed], coverage: Coverage, *, cut_in: str = "") -> None:
    """Tell how many readings became samples, and what became of the others; see `Readings.close`."""
    n_taken, n_written = sum(feed.n_taken for feed in feeds), sum(feed.n_written for feed in feeds)
    n_dropped, n_cut = sum(feed.n_dropped for feed in feeds), sum(feed.n_cut for feed in feeds)
    coverage.n_samples += n_written
    coverage.leave_out("time stands there twice", n_dropped)
    coverage.leave_out("cut", n_cut)
    coverage.leave_out("added to another of its time", n_taken - n_written - n_dropped - n_cut)
    if n_dropped:
        coverage.skip(f"cells ({n_dropped})", "time stands there twice: same value, or the last of a counter is kept")
    if any(feed.n_doubtful for feed in feeds):
        coverage.skip("end of the last line", "none: if the file was cut, digits of its last value are missing")
    if n_cut:
        coverage.problems.append(
            f"{cut_in}: ends inside of a line, and its last counter is lower than before: digits are missing; it was "
            "left out; fetch the file again when it is whole"
        )
