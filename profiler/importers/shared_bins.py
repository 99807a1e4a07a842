"""Bins of two captures side by side: whether all packets of one can be among those of the other."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from profiler.schema import arrow_schema
from profiler.store.reading import read_segments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from profiler.importers.sink import Counters

__all__ = ["BinFiles", "BinsCompared", "compare_bins"]

_COLUMNS: Final = ["series_id", "t_ns", "value"]
_FAR_NS: Final = (1 << 63) - 1
_BLOCK_ROWS: Final = 4_000_000
"""Samples of each capture that are compared at a time, 100 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinFiles:
    """Where the bins of a capture are.

    Parameters
    ----------
    paths
        Files of table ``samples``.
    width_ns
        Width of its bins.
    series
        Table ``series`` of its series, and maybe of others.
    rows
        Samples in memory, in place of files.
    """

    paths: tuple[Path, ...] = ()
    width_ns: int
    series: pa.Table
    rows: pa.Table | None = None

    @classmethod
    def in_memory(cls, counters: Counters, *, width_ns: int) -> Self:
        """Return the bins of what was read without a lake."""
        parts = [
            pa.table({"series_id": np.full(t_ns.size, series.series_id, np.uint64), "t_ns": t_ns, "value": value})
            for series, t_ns, value, _ in counters
        ]
        series = pa.Table.from_pylist([series.to_row() for series, *_ in counters], schema=arrow_schema("series"))
        return cls(width_ns=width_ns, series=series, rows=pa.concat_tables(parts))

    @property
    def n_rows(self) -> int:
        """Return the number of samples, zeros between bins included."""
        return sum(pq.read_metadata(path).num_rows for path in self.paths)

    def read(self, chosen: pc.Expression) -> pa.Table:
        """Return which series, time and value some of the samples have."""
        if self.rows is not None:
            return self.rows.filter(chosen)
        return read_segments(list(self.paths), arrow_schema("samples"), columns=_COLUMNS, filters=chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinsCompared:
    """What bins tell of the packets of two captures.

    Parameters
    ----------
    is_within, is_around
        Whether no bin of the first has more packets or bytes than that of the second, and the other way round.
    n_full
        Bins with packets.
    n_shared, n_equal
        Of those that lie within the time that both cover, of addresses that both have: how many, and how many of them
        are the same in both.
    """

    is_within: bool
    is_around: bool
    n_full: int
    n_shared: int
    n_equal: int

    @property
    def shows_same(self) -> bool:
        """Whether the packets of the time that both cover are the same, but for what one of them lost."""
        return 2 * self.n_equal > self.n_shared


def compare_bins(
    one: BinFiles, other: BinFiles, *, span_ns: tuple[int, int], common_ns: tuple[int, int]
) -> BinsCompared:
    """Compare two captures bin by bin, address pair by address pair, at a width that both divide.

    In memory is a block of each, however long they are.

    Parameters
    ----------
    one, other
        The captures.
    span_ns, common_ns
        The time of either, and the time that both cover: first and last ns.
    """
    width_ns = math.lcm(one.width_ns, other.width_ns)
    is_within = is_around = True
    n_full = n_shared = n_equal = 0
    for chosen in _blocks(one, other, span_ns=span_ns, width_ns=width_ns):
        left, right = (_summed(files, chosen, width_ns=width_ns) for files in (one, other))
        joined = left.join(right, keys=["way", "bin"], right_suffix="_other", join_type="full outer")
        way, i_bin, own, theirs = (
            pc.fill_null(joined[name], 0).to_numpy() for name in ("way", "bin", "value_sum", "value_sum_other")
        )
        is_within &= not bool(np.any(own > theirs))
        is_around &= not bool(np.any(theirs > own))
        n_full += way.size
        is_inside = (i_bin * width_ns >= common_ns[0]) & ((i_bin + 1) * width_ns <= common_ns[1])
        is_inside &= np.isin(way, np.intersect1d(left["way"].to_numpy(), right["way"].to_numpy()))
        n_shared += int(np.count_nonzero(is_inside))
        n_equal += int(np.count_nonzero(is_inside & (own == theirs)))
    return BinsCompared(is_within=is_within, is_around=is_around, n_full=n_full, n_shared=n_shared, n_equal=n_equal)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Some of the ways of packets, as a number of each series by its identity, and the ends of bins: after, up to."""

    series_ids: NDArray[np.uint64]
    ways: NDArray[np.int64]
    from_ns: int
    to_ns: int


def _blocks(one: BinFiles, other: BinFiles, *, span_ns: tuple[int, int], width_ns: int) -> Iterator[_Block]:
    ids, ways = _ways(pa.concat_tables([one.series, other.series], promote_options="default"))
    n_blocks = 1 + max(one.n_rows, other.n_rows) // _BLOCK_ROWS
    n_ways = int(ways.max(initial=-1)) + 1
    n_parts = min(n_blocks, max(1, n_ways))
    cuts = _cuts(span_ns, n=-(-n_blocks // n_parts), width_ns=width_ns)
    for part in range(n_parts):
        chosen = ways * n_parts // max(1, n_ways) == part
        for from_ns, to_ns in itertools.pairwise(cuts):
            yield _Block(series_ids=ids[chosen], ways=ways[chosen], from_ns=from_ns, to_ns=to_ns)


def _ways(series: pa.Table) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return identities in order, and a number of what each counts: from which address to which, packets or bytes."""
    names = series.filter(pc.equal(series["layer"], "capture")).select(["series_id", "host", "device", "metric"])
    # Where a series is one flow, the protocol and what else tells it apart come after the address.
    to = pc.list_element(pc.split_pattern(names["device"], " ", max_splits=1), 0)
    keys = list(zip(names["host"].to_pylist(), to.to_pylist(), names["metric"].to_pylist(), strict=True))
    numbers = {key: i for i, key in enumerate(sorted(set(keys)))}
    found = dict(zip(names["series_id"].to_pylist(), (numbers[key] for key in keys), strict=True))
    ids = np.array(sorted(found), dtype=np.uint64)
    return ids, np.array([found[key] for key in ids.tolist()], dtype=np.int64)


def _cuts(span_ns: tuple[int, int], *, n: int, width_ns: int) -> list[int]:
    """Return the ends of about ``n`` equal parts of a time, between bins; the first and last are open."""
    first, last = span_ns[0] // width_ns, span_ns[1] // width_ns
    inner = {(first + (last - first) * i // n) * width_ns for i in range(1, n)}
    return [-_FAR_NS, *sorted(inner), _FAR_NS]


def _summed(files: BinFiles, block: _Block, *, width_ns: int) -> pa.Table:
    """Return packets and bytes by way and bin: columns ``way``, ``bin`` and ``value_sum``."""
    if not block.series_ids.size:
        return _summed_rows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    ids = pa.array(block.series_ids)
    field, t_ns = pc.field("series_id"), pc.field("t_ns")
    chosen = (field >= ids[0]) & (field <= ids[-1]) & field.isin(ids) & (pc.field("value") > 0)
    chosen &= (t_ns > block.from_ns) & (t_ns <= block.to_ns)
    rows = files.read(chosen)
    series, end_ns, value = (rows[name].to_numpy() for name in _COLUMNS)
    way = block.ways[np.searchsorted(block.series_ids, series)]
    return _summed_rows(way, (end_ns - files.width_ns) // width_ns, value)


def _summed_rows(way: NDArray[Any], i_bin: NDArray[Any], value: NDArray[Any]) -> pa.Table:
    rows = pa.table({"way": way, "bin": i_bin, "value": value})
    return rows.group_by(["way", "bin"]).aggregate([("value", "sum")])
