"""Packets to bytes per bin of time and series, in bounded memory, whatever the order of the packets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.importers.captures.records import TIME, UNTIMED, WIRE

__all__ = ["BIN", "BYTES", "SERIES", "BinTable"]

MOST_ROWS: Final = 1 << 20
"""Bins that wait, 24 bytes each, so that packets out of order still find theirs."""

SERIES: Final = 0
"""Column of the number of the series."""
BIN: Final = 1
"""Column of the number of the bin since the epoch."""
BYTES: Final = 2
"""Column of the bytes of the packets in it."""
_N_COLUMNS: Final = 3


class BinTable:
    """Bytes of every series, bin by bin; given out as rows of `SERIES`, `BIN` and `BYTES`, ordered by the first two.

    A packet whose bin has been handed out already counts in the oldest bin that has not; ``moved_bytes`` tells how
    much that was.

    Parameters
    ----------
    bin_ns
        Width of a bin; bin ``i`` covers ``i * bin_ns`` to one ``bin_ns`` later.
    most_rows
        Bins to keep waiting.
    """

    def __init__(self, bin_ns: int, *, most_rows: int = MOST_ROWS) -> None:
        self.moved_bytes = 0
        self._bin_ns = bin_ns
        self._most_rows = most_rows
        self._open = _no_bins(64)
        self._rows: list[NDArray[np.int64]] = []
        self._n_rows = 0
        self._first_bin = UNTIMED

    def add(self, records: NDArray[np.int64], series: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Count packets to bins; yield rows of the older half of all bins when too many wait.

        Parameters
        ----------
        records
            Packets, shape (n_packets, `records.N_COLUMNS`).
        series
            Number of the series of each, shape (n_packets,).
        """
        while len(self._open) <= series.max(initial=0):
            self._open = np.concatenate((self._open, _no_bins(len(self._open))))
        rows = np.empty((len(records), _N_COLUMNS), dtype=np.int64)
        n_rows = _count(records, series, self._open, rows, self._bin_ns)
        self._append(rows[:n_rows].copy())
        if self._n_rows > self._most_rows:
            self._merge()
            if self._n_rows > self._most_rows // 2:
                yield self._older_half()

    def rest(self) -> NDArray[np.int64]:
        """Return rows of all bins that wait."""
        self._merge()
        return self._take_all()

    def _append(self, rows: NDArray[np.int64]) -> None:
        late = rows[:, BIN] < self._first_bin
        if late.any():
            self.moved_bytes += int(rows[late, BYTES].sum())
            rows[late, BIN] = self._first_bin
        self._rows.append(rows)
        self._n_rows += len(rows)

    def _merge(self) -> None:
        """Make one row of all rows of a series and bin, ordered by both."""
        used = self._open[:, BIN] != UNTIMED
        self._append(np.column_stack((np.flatnonzero(used), self._open[used][:, BIN:])))
        self._open = _no_bins(len(self._open))
        rows = self._take_all()
        rows = rows[np.lexsort((rows[:, BIN], rows[:, SERIES]))]
        if len(rows):
            is_new = np.append(True, np.any(rows[1:, :BYTES] != rows[:-1, :BYTES], axis=1))
            sums = np.add.reduceat(rows[:, BYTES], np.flatnonzero(is_new))
            rows = rows[is_new]
            rows[:, BYTES] = sums
        self._append(rows)

    def _older_half(self) -> NDArray[np.int64]:
        rows = self._take_all()
        self._first_bin = int(np.median(rows[:, BIN])) + 1
        is_old = rows[:, BIN] < self._first_bin
        self._append(rows[~is_old])
        return rows[is_old]

    def _take_all(self) -> NDArray[np.int64]:
        rows = np.concatenate(self._rows) if self._rows else np.empty((0, _N_COLUMNS), dtype=np.int64)
        self._rows, self._n_rows = [], 0
        return rows


def _no_bins(n_series: int) -> NDArray[np.int64]:
    bins = np.zeros((n_series, _N_COLUMNS), dtype=np.int64)
    bins[:, BIN] = UNTIMED
    return bins


@njit(cache=True, nogil=True)
def _count(
    records: NDArray[np.int64],
    series: NDArray[np.int64],
    open_bins: NDArray[np.int64],
    rows: NDArray[np.int64],
    bin_ns: int,
) -> int:
    """Add packets to the open bin of their series; return how many bins were closed into ``rows``."""
    n_rows = 0
    for i in range(records.shape[0]):
        t_ns = records[i, TIME]
        if t_ns == UNTIMED:
            continue
        i_bin = t_ns // bin_ns
        mine = open_bins[series[i]]
        if mine[BIN] != i_bin:
            if mine[BIN] != UNTIMED:
                rows[n_rows, SERIES], rows[n_rows, BIN], rows[n_rows, BYTES] = series[i], mine[BIN], mine[BYTES]
                n_rows += 1
            mine[BIN], mine[BYTES] = i_bin, 0
        mine[BYTES] += records[i, WIRE]
    return n_rows
