"""Samples of one series on their way from a table to a sink: in order, each with its window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.store.ordering import in_order

if TYPE_CHECKING:
    from profiler.importers.sink import Sink
    from profiler.store.series import Series

__all__ = ["LONGEST_WINDOW_NS", "Feed"]

LONGEST_WINDOW_NS: Final = (1 << 31) - 1
"""The longest window that table ``samples`` can hold; a longer one is 0: since the sample before."""


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
