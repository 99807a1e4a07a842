"""Bins of flows to bins of series, in bounded memory, whatever the order of the packets."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.importers.captures.layout import UNTIMED

__all__ = ["BIN", "BYTES", "PACKETS", "SERIES", "BinTable"]

MOST_ROWS: Final = 1 << 18
"""Bins that wait, 32 bytes each, so that packets out of order still find theirs."""
_ROWS_APART: Final = 1 << 16
"""Rows that wait until those of one series and bin become one: flows of a pair of addresses take turns."""

SERIES: Final = 0
"""Column of the number of the series."""
BIN: Final = 1
"""Column of the number of the bin since the epoch."""
BYTES: Final = 2
"""Column of the bytes of the packets in it."""
PACKETS: Final = 3
"""Column of the number of packets in it."""
_N_COLUMNS: Final = 4


class BinTable:
    """Bytes and packets of every series, bin by bin, given out ordered by series and bin.

    A packet whose bin has been handed out already counts in the oldest bin that has not; ``moved_bytes`` tells how
    much that was.

    Parameters
    ----------
    most_rows
        Bins to keep waiting.
    """

    def __init__(self, *, most_rows: int = MOST_ROWS) -> None:
        self.moved_bytes = 0
        self._most_rows = most_rows
        self._rows: list[NDArray[np.int64]] = []
        self._n_rows = 0
        self._n_merged = 0
        self._first_bin = UNTIMED

    @property
    def is_full(self) -> bool:
        """Whether as many bins wait as may."""
        return self._n_rows > self._most_rows

    def add(self, rows: NDArray[np.int64]) -> None:
        """Take bins, several of one time and series among them.

        Parameters
        ----------
        rows
            `SERIES`, `BIN`, `BYTES` and `PACKETS`, shape (n_rows, 4); the table keeps it.
        """
        self._append(rows)
        if self._n_rows - self._n_merged > max(_ROWS_APART, self._n_merged):
            self._merge()

    def older(self) -> NDArray[np.int64]:
        """Return the older half of all bins; none where they become few once those of one time and series are one."""
        self._merge()
        return self._older_half() if self._n_rows > self._most_rows // 2 else self._no_rows()

    def before(self, i_bin: int) -> NDArray[np.int64]:
        """Return rows of the bins before one, which count as handed out."""
        self._merge()
        self._first_bin = max(self._first_bin, i_bin)
        rows = self._take_all()
        is_old = rows[:, BIN] < self._first_bin
        self._append(rows[~is_old])
        return rows[is_old]

    def rest(self) -> NDArray[np.int64]:
        """Return rows of all bins that wait."""
        return _merged(self._take_all())

    def _merge(self) -> None:
        self._append(_merged(self._take_all()))
        self._n_merged = self._n_rows

    def _append(self, rows: NDArray[np.int64]) -> None:
        late = rows[:, BIN] < self._first_bin
        if late.any():
            self.moved_bytes += int(rows[late, BYTES].sum())
            rows[late, BIN] = self._first_bin
        self._rows.append(rows)
        self._n_rows += len(rows)

    def _older_half(self) -> NDArray[np.int64]:
        rows = self._take_all()
        self._first_bin = int(np.median(rows[:, BIN])) + 1
        is_old = rows[:, BIN] < self._first_bin
        self._append(rows[~is_old])
        return rows[is_old]

    def _take_all(self) -> NDArray[np.int64]:
        rows = np.concatenate((self._no_rows(), *self._rows))
        self._rows, self._n_rows, self._n_merged = [], 0, 0
        return rows

    def _no_rows(self) -> NDArray[np.int64]:
        return np.empty((0, _N_COLUMNS), dtype=np.int64)


def _merged(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one row for all rows of a series and bin, ordered by both."""
    if not len(rows):
        return rows
    rows = rows[_order(rows)]
    is_new = np.append(True, np.any(rows[1:, :BYTES] != rows[:-1, :BYTES], axis=1))
    starts = np.flatnonzero(is_new)
    merged = rows[starts]
    merged[:, BYTES:] = np.add.reduceat(rows[:, BYTES:], starts, axis=0)
    return merged


def _order(rows: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the places of rows in the order of series and bin: by one number of both where that holds them."""
    first, last = int(rows[:, BIN].min()), int(rows[:, BIN].max())
    span = last - first + 1
    if span * (int(rows[:, SERIES].max()) + 1) < np.iinfo(np.int64).max:
        return np.argsort(rows[:, SERIES] * span + (rows[:, BIN] - first))
    return np.lexsort((rows[:, BIN], rows[:, SERIES]))
