"""What the rows of sample files cover: of each series the first and last time, and how many rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

__all__ = ["Spans", "read_keys"]

_BATCH_ROWS: Final = 1 << 16
"""Rows of a file in memory at a time: 1 MB."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spans:
    """What each series of a sorted file covers; arrays of shape (n_series,), by series."""

    series_id: NDArray[np.uint64]
    first_ns: NDArray[np.int64]
    last_ns: NDArray[np.int64]
    n_rows: NDArray[np.int64]

    @classmethod
    def of_rows(cls, series_id: NDArray[np.uint64], t_ns: NDArray[np.int64]) -> Spans:
        """Return what sorted rows cover; arrays of shape (n_rows,)."""
        starts = np.flatnonzero(np.append(True, series_id[1:] != series_id[:-1]))[: len(series_id)]
        ends = np.append(starts[1:], len(series_id))[: len(starts)]
        return cls(series_id=series_id[starts], first_ns=t_ns[starts], last_ns=t_ns[ends - 1], n_rows=ends - starts)

    @classmethod
    def listed(cls, parts: Sequence[Spans]) -> Spans:
        """Return the rows of several, one after another."""
        return cls(
            series_id=np.concatenate([part.series_id for part in parts]),
            first_ns=np.concatenate([part.first_ns for part in parts]),
            last_ns=np.concatenate([part.last_ns for part in parts]),
            n_rows=np.concatenate([part.n_rows for part in parts]),
        )

    @classmethod
    def joined(cls, parts: Sequence[Spans]) -> Spans:
        """Return what consecutive parts of a sorted file cover together; at least one."""
        rows = cls.listed(parts)
        whole = cls.of_rows(rows.series_id, rows.first_ns)
        ends = np.cumsum(whole.n_rows)
        return cls(
            series_id=whole.series_id,
            first_ns=whole.first_ns,
            last_ns=rows.last_ns[ends - 1],
            n_rows=np.add.reduceat(rows.n_rows, ends - whole.n_rows) if len(ends) else ends,
        )


def read_keys(file: pq.ParquetFile) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Yield series and time of a file's rows, some at a time; none of the arrays is empty."""
    for batch in file.iter_batches(_BATCH_ROWS, columns=["series_id", "t_ns"]):
        if batch.num_rows:
            yield batch["series_id"].to_numpy(), batch["t_ns"].to_numpy()
