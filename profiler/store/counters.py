"""Counters out of sample files: sorted, one reading a time, many at a time without reading anything often."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profiler.schema import arrow_schema
from profiler.store.ordering import in_order
from profiler.store.reading import Segments
from profiler.store.series import Counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read_counter", "read_counters"]

_COLUMNS: Final = ("t_ns", "value", "flags", "epoch")

_BLOCK_ROWS: Final = 2_000_000
"""Samples read together: 60 MB, and as much again while they are sorted out."""


def read_counter(paths: Sequence[Path], series_id: int, *, kind: str) -> Counter:
    """Return the readings of one series, by whose kind those of one time are told apart."""
    chosen = pc.field("series_id") == pa.scalar(series_id, pa.uint64())
    return _counter(_read(Segments(paths, arrow_schema("samples")), chosen, _COLUMNS), kind=kind)


def read_counters(
    paths: Sequence[Path],
    series_ids: Iterable[int],
    *,
    kinds: Mapping[int, str],
    n_rows: int,
    t_range_ns: tuple[int, int] | None = None,
) -> Iterator[tuple[int, Counter]]:
    """Yield the readings of several series, by ascending id.

    A row group holds many series, so they are read in blocks of neighbours, not each on its own.

    Parameters
    ----------
    paths
        Files of table ``samples``.
    series_ids
        Series to read.
    kinds
        Kind of every series of the files.
    n_rows
        Samples in the files, by which blocks are sized.
    t_range_ns
        Read only samples from the first time on and before the second, UTC epoch ns.
    """
    n_neighbours = max(1, _BLOCK_ROWS * len(kinds) // max(1, n_rows))
    wanted = sorted(set(series_ids))
    known_ids = np.array(sorted(kinds), np.uint64)
    places = np.searchsorted(known_ids, np.array(wanted, np.uint64)) // n_neighbours
    segments = Segments(paths, arrow_schema("samples"))
    for _, block in groupby(zip(places, wanted, strict=True), key=lambda pair: pair[0]):
        yield from _read_block(segments, [series_id for _, series_id in block], kinds=kinds, t_range_ns=t_range_ns)


def _read_block(
    segments: Segments, series_ids: Sequence[int], *, kinds: Mapping[int, str], t_range_ns: tuple[int, int] | None
) -> Iterator[tuple[int, Counter]]:
    field = pc.field("series_id")
    ids = pa.array(series_ids, pa.uint64())
    # The range is what row groups are skipped by.
    chosen = (field >= ids[0]) & (field <= ids[-1]) & field.isin(ids)
    if t_range_ns is not None:
        chosen &= (pc.field("t_ns") >= t_range_ns[0]) & (pc.field("t_ns") < t_range_ns[1])
    columns = _read(segments, chosen, ("series_id", *_COLUMNS))
    key = columns.pop("series_id")
    order = np.argsort(key, kind="stable")
    edges = np.searchsorted(key[order], ids.to_numpy())
    for series_id, start, stop in zip(series_ids, edges, [*edges[1:], len(order)], strict=True):
        rows = {name: column[order[start:stop]] for name, column in columns.items()}
        yield series_id, _counter(rows, kind=kinds.get(series_id, "counter"))


def _read(segments: Segments, chosen: pc.Expression, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    rows = segments.read(columns=list(names), filters=chosen)
    return {name: rows[name].to_numpy() for name in names}


def _counter(columns: Mapping[str, NDArray[Any]], *, kind: str) -> Counter:
    rows = in_order(columns["t_ns"], columns["value"], kind=kind, flags=columns["flags"], epoch=columns["epoch"])
    return Counter(t_ns=rows.t_ns, value=rows.value, flags=rows.flags, epoch=rows.epoch)
