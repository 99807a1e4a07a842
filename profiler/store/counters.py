"""Counters out of sample files: sorted, without duplicates, many at a time without reading anything often."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profiler.schema import arrow_schema
from profiler.store.segments import read_segments
from profiler.store.series import Counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read_counter", "read_counters"]

_COLUMNS: Final = ("t_ns", "value", "flags", "epoch")

_BLOCK_ROWS: Final = 2_000_000
"""Samples read together: 60 MB, and as much again while they are sorted out."""


def read_counter(paths: Sequence[Path], series_id: int) -> Counter:
    """Return the readings of one series."""
    chosen = pc.field("series_id") == pa.scalar(series_id, pa.uint64())
    return _counter(_read(paths, chosen, _COLUMNS))


def read_counters(
    paths: Sequence[Path], series_ids: Iterable[int], *, known_ids: NDArray[np.uint64], n_rows: int
) -> Iterator[tuple[int, Counter]]:
    """Yield the readings of several series, by ascending id.

    A row group holds many series, so they are read in blocks of neighbours, not each on its own.

    Parameters
    ----------
    paths
        Files of table ``samples``.
    series_ids
        Series to read.
    known_ids
        All series of the files, sorted.
    n_rows
        Samples in the files, by which blocks are sized.
    """
    n_neighbours = max(1, _BLOCK_ROWS * len(known_ids) // max(1, n_rows))
    wanted = sorted(set(series_ids))
    places = np.searchsorted(known_ids, np.array(wanted, np.uint64)) // n_neighbours
    for _, block in groupby(zip(places, wanted, strict=True), key=lambda pair: pair[0]):
        yield from _read_block(paths, [series_id for _, series_id in block])


def _read_block(paths: Sequence[Path], series_ids: Sequence[int]) -> Iterator[tuple[int, Counter]]:
    field = pc.field("series_id")
    ids = pa.array(series_ids, pa.uint64())
    # The range is what row groups are skipped by.
    chosen = (field >= ids[0]) & (field <= ids[-1]) & field.isin(ids)
    columns = _read(paths, chosen, ("series_id", *_COLUMNS))
    key = columns.pop("series_id")
    order = np.argsort(key, kind="stable")
    edges = np.searchsorted(key[order], ids.to_numpy())
    for series_id, start, stop in zip(series_ids, edges, [*edges[1:], len(order)], strict=True):
        yield series_id, _counter({name: column[order[start:stop]] for name, column in columns.items()})


def _read(paths: Sequence[Path], chosen: pc.Expression, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    rows = read_segments(paths, arrow_schema("samples"), columns=list(names), filters=chosen)
    return {name: rows[name].to_numpy() for name in names}


def _counter(columns: Mapping[str, NDArray[Any]]) -> Counter:
    t_ns = columns["t_ns"]
    if np.any(t_ns[1:] <= t_ns[:-1]):
        order = np.lexsort((columns["flags"], columns["value"], columns["epoch"], t_ns))
        columns = {name: column[order] for name, column in columns.items()}
        is_new = np.any([column[1:] != column[:-1] for column in columns.values()], axis=0)
        columns = {name: column[np.concatenate(([True], is_new))] for name, column in columns.items()}
    return Counter(**columns)
