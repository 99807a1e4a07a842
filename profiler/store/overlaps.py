"""Which sample files hold readings of one series and one time, and whether they agree."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profiler.schema import arrow_schema
from profiler.store.reading import read_segments

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store.spans import Spans

__all__ = ["Overlap", "find_overlaps"]

_BLOCK_ROWS: Final = 1_000_000
"""Readings of each of two files that are compared at a time, 24 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Two files with readings of the same series and times: how many are the same, and how many contradict."""

    one: Path
    other: Path
    n_same: int
    n_differing: int

    def __str__(self) -> str:
        """Return it in words, with what to do about readings that contradict."""
        same = f"{self.one} and {self.other}: {self.n_same} readings stand in both"
        if not self.n_differing:
            return same
        return (
            f"{same}, {self.n_differing} readings of one series and time differ, of which the highest are used; "
            "make the lake again from only one of the two inputs"
        )


def find_overlaps(files: Mapping[Path, Spans], *, adding: Collection[int] = ()) -> Iterator[Overlap]:
    """Yield the pairs of files that hold readings of one series and one time; in memory is a block of two files.

    Parameters
    ----------
    files
        What sorted files cover.
    adding
        Series of which different readings of one time, and the same of different epochs, add up: no contradiction.
    """
    sums = pa.array(sorted(adding), pa.uint64())
    paths = list(files)
    for (one, other), series_ids in sorted(_pairs(list(files.values())).items()):
        n_same = n_differing = 0
        for block in _blocks(series_ids, files[paths[one]], files[paths[other]]):
            same, differing = _compared(paths[one], paths[other], block, sums=sums)
            n_same, n_differing = n_same + same, n_differing + differing
        if n_same or n_differing:
            yield Overlap(one=paths[one], other=paths[other], n_same=n_same, n_differing=n_differing)


def _pairs(files: Sequence[Spans]) -> dict[tuple[int, int], list[int]]:
    """Return the series that two files have at the same time, by the places of the files."""
    pairs: dict[tuple[int, int], list[int]] = {}
    if not files:
        return pairs
    place = np.repeat(np.arange(len(files)), [len(spans.series_id) for spans in files])
    key, first, last = (
        np.concatenate([getattr(spans, name) for spans in files]) for name in ("series_id", "first_ns", "last_ns")
    )
    order = np.lexsort((first, key))
    place, key, first, last = place[order], key[order], first[order], last[order]
    # Spans in order of their start overlap only if two neighbours do.
    touched = np.unique(key[1:][(key[1:] == key[:-1]) & (first[1:] <= last[:-1])])
    starts, stops = np.searchsorted(key, touched), np.searchsorted(key, touched, side="right")
    for series_id, start, stop in zip(touched.tolist(), starts, stops, strict=True):
        rows = slice(start, stop)
        for pair in _touching(place[rows].tolist(), first[rows].tolist(), last[rows].tolist()):
            pairs.setdefault(pair, []).append(series_id)
    return pairs


def _touching(place: Iterable[int], first: Iterable[int], last: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of places whose spans, given in order of their start, have a time in common."""
    open_spans: list[tuple[int, int]] = []
    for here, start, end in zip(place, first, last, strict=True):
        open_spans = [span for span in open_spans if span[1] >= start]
        for there, _ in open_spans:
            yield min(here, there), max(here, there)
        open_spans.append((here, end))


def _blocks(series_ids: Sequence[int], *files: Spans) -> Iterator[list[int]]:
    """Yield some of the series at a time."""
    ids = np.array(sorted(series_ids), np.uint64)
    n_rows = np.max([spans.n_rows[np.searchsorted(spans.series_id, ids)] for spans in files], axis=0)
    block = np.cumsum(n_rows) // _BLOCK_ROWS
    for _, members in itertools.groupby(zip(block.tolist(), ids.tolist(), strict=True), key=lambda pair: pair[0]):
        yield [series_id for _, series_id in members]


def _compared(one: Path, other: Path, series_ids: Sequence[int], *, sums: pa.Array) -> tuple[int, int]:
    """Return how many readings of some series and one time are the same in two files, and how many contradict."""
    ids, field = pa.array(series_ids, pa.uint64()), pc.field("series_id")
    chosen = (field >= ids[0]) & (field <= ids[-1]) & field.isin(ids)
    columns = ["series_id", "t_ns", "value", "epoch"]
    rows = [read_segments([path], arrow_schema("samples"), columns=columns, filters=chosen) for path in (one, other)]
    joined = rows[0].join(rows[1], keys=columns[:2], right_suffix="_other", join_type="inner")
    is_same = joined["value"].to_numpy() == joined["value_other"].to_numpy()
    is_sum = pc.is_in(joined["series_id"], sums).to_numpy()
    is_part = is_sum & (joined["epoch"].to_numpy() != joined["epoch_other"].to_numpy())
    return int(np.count_nonzero(is_same & ~is_part)), int(np.count_nonzero(~is_same & ~is_sum))
