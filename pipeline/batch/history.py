"""`KnownRanges`: the time ranges of a host that the lake's history has; `read_history` reads those of every host."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from pipeline.analysis import Skipped
from profiler.schema import arrow_schema
from profiler.store.reading import read_sound

if TYPE_CHECKING:
    from profiler.store import Lake

__all__ = ["KnownRanges", "Range", "read_history"]

Range: TypeAlias = tuple[int, int]
"""From and to, UTC epoch ns; the end is not in it."""


class KnownRanges:
    """Ranges of time, which may overlap.

    Examples
    --------
    >>> known = KnownRanges([(0, 200), (200, 400)])
    >>> known.free_from(0, 400), known.free_from(300, 500), known.free_from(400, 600)
    (400, 400, 400)
    """

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        self._ranges = frozenset(ranges)
        in_order = sorted(self._ranges)
        self._starts = [start for start, _ in in_order]
        self._reach = list(accumulate((end for _, end in in_order), max))

    def __contains__(self, one: object) -> bool:
        return one in self._ranges

    def free_from(self, from_ns: int, to_ns: int) -> int:
        """Return from when on a range is known no more; its end if it is known up to there."""
        n_begun = bisect_left(self._starts, to_ns)
        return min(to_ns, max(from_ns, self._reach[n_begun - 1])) if n_begun else from_ns


def read_history(lake: Lake, ports: Iterable[Mapping[str, Any]]) -> tuple[dict[str, KnownRanges], tuple[Skipped, ...]]:
    """Return the ranges that table ``profile_history`` has of the ports of each host, and the files that are lost.

    Raises
    ------
    LakeError
        If the manifest is damaged.
    """
    columns = ["series_id", "from_ns", "to_ns"]
    rows, lost = read_sound(lake.files("profile_history"), arrow_schema("profile_history"), columns=columns)
    host_of = {port["series_id"]: port["host"] for port in ports}
    ranges: dict[str, set[Range]] = defaultdict(set)
    for batch in rows.group_by(columns).aggregate([]).to_batches():
        for series_id, from_ns, to_ns in zip(*(batch[name].to_pylist() for name in columns), strict=True):
            if series_id in host_of:
                ranges[host_of[series_id]].add((from_ns, to_ns))
    faults = (
        Skipped(what=str(path), why=f"{why}; the times that it told of are profiled anew") for path, why in lost.items()
    )
    return {host: KnownRanges(own) for host, own in ranges.items()}, tuple(faults)
