"""The newest rows of some columns, in arrays whose size never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from profiler.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

__all__ = ["Ring"]


class Ring:
    """Columns of equal length that keep their newest rows.

    Parameters
    ----------
    capacity
        Rows kept; memory is taken once, for all of them.
    dtypes
        Type of each column.

    Examples
    --------
    >>> ring = Ring(3, [np.int64])
    >>> ring.extend(np.arange(5))
    >>> ring.columns()
    (array([2, 3, 4]),)
    """

    def __init__(self, capacity: int, dtypes: Sequence[DTypeLike]) -> None:
        if capacity < 1:
            raise UsageError(f"Ring: capacity {capacity}: at least one row is needed")
        self._arrays: list[NDArray[Any]] = [np.zeros(capacity, dtype=dtype) for dtype in dtypes]
        self._capacity = capacity
        self._n_seen = 0

    def __len__(self) -> int:
        return min(self._n_seen, self._capacity)

    @property
    def nbytes(self) -> int:
        """Bytes that the columns take, whatever they hold."""
        return sum(array.nbytes for array in self._arrays)

    def extend(self, *columns: NDArray[Any]) -> None:
        """Add rows, and forget the oldest ones."""
        n_new = columns[0].size
        n_kept = min(n_new, self._capacity)
        places = (self._n_seen + np.arange(n_new - n_kept, n_new)) % self._capacity
        for array, column in zip(self._arrays, columns, strict=True):
            array[places] = column[n_new - n_kept :]
        self._n_seen += n_new

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return a copy of each column, oldest row first."""
        if self._n_seen <= self._capacity:
            return tuple(array[: self._n_seen].copy() for array in self._arrays)
        return tuple(np.roll(array, -(self._n_seen % self._capacity)) for array in self._arrays)
