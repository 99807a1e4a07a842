"""`find_overlaps`: how long the jobs of each link were Up together, some links at a time so that memory is bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.analysis import Skipped
from pipeline.sql.database import Database, lake_sources
from profiler.errors import LakeError
from profiler.schema import arrow_schema
from profiler.store.reading import read_segments
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.batch import SampleFile, SeriesProfile
    from profiler.store import Lake

__all__ = ["find_overlaps"]

GROUP_SAMPLES: Final = 2**20
"""Samples in SQL at a time: some 40 MB, and as much again for each step of the query."""

Place = tuple[str, str]
"""A link and its direction."""


def find_overlaps(
    store: Lake,
    crossings: Sequence[Mapping[str, Any]],
    *,
    series: Mapping[int, SeriesProfile],
    files: Sequence[SampleFile],
    parts: Iterable[Mapping[str, Any]] = (),
    tables: Mapping[str, pa.Table] | None = None,
) -> tuple[list[dict[str, Any]], tuple[Skipped, ...]]:
    """Return the rows of query ``contention_by_link``, and the links of which it cannot be told, and why.

    Parameters
    ----------
    store
        The lake.
    crossings
        Rows of query ``jobs_by_link``, of links that several jobs cross.
    series
        The profile of every series, and the time that it describes.
    files
        The sample files that can be read.
    parts
        Rows of view ``flow_parts``: what to read of a series that has no samples of its own.
    tables
        Rows to see in place of what the lake has, such as ``profiles`` and ``phases`` of these series.
    """
    parts_of: dict[int, set[int]] = defaultdict(set)
    for part in parts:
        parts_of[part["series_id"]].add(part["part_id"])
    wanted: dict[Place, set[int]] = defaultdict(set)
    for row in crossings:
        if row["status"] == "periodic" and row["period_s"] is not None:
            wanted[row["link_id"], row["direction"]].add(row["series_id"])
    told = {place: ids for place, ids in wanted.items() if len(ids) > 1 and ids <= series.keys()}
    rows: list[dict[str, Any]] = []
    faults: list[Skipped] = []
    sampled = {one: parts_of.get(one, {one}) for ids in told.values() for one in ids}
    n_samples = {one: _n_samples(series[one], ids, files=files) for one, ids in sampled.items()}
    for places, ids in _groups(told, n_samples=n_samples):
        try:
            found = _contention(
                store,
                [series[one] for one in ids],
                sampled=set().union(*(sampled[one] for one in ids)),
                files=files,
                tables=tables or {},
            )
        except LakeError as error:
            links = ", ".join(sorted({link for link, _ in places}))
            faults.append(Skipped(what=f"the time that jobs share on {links}", why=str(error)))
            continue
        rows += [row for row in found if (row["link_id"], row["direction"]) in places]
    return rows, tuple(faults)


def _groups(wanted: Mapping[Place, set[int]], *, n_samples: Mapping[int, int]) -> Iterator[tuple[set[Place], set[int]]]:
    """Yield places, and the series that count on them, of about `GROUP_SAMPLES` together."""
    places: set[Place] = set()
    ids: set[int] = set()
    for place, own in wanted.items():
        if places and sum(n_samples[one] for one in ids | own) > GROUP_SAMPLES:
            yield places, ids
            places, ids = set(), set()
        places, ids = places | {place}, ids | own
    if places:
        yield places, ids


def _n_samples(one: SeriesProfile, ids: Iterable[int], *, files: Sequence[SampleFile]) -> int:
    from_ns, to_ns = one.from_ns or 0, _last_ns(one) + 1
    return sum(file.n_between(series_id, from_ns=from_ns, to_ns=to_ns) for file in files for series_id in ids)


def _last_ns(one: SeriesProfile) -> int:
    """Return when the last of what a profile describes was read: a tick is, up to one interval after it."""
    return (one.to_ns or 0) + (0 if one.clock is None else round(one.clock.refresh_s * NS_PER_S))


def _contention(
    store: Lake,
    series: Sequence[SeriesProfile],
    *,
    sampled: set[int],
    files: Sequence[SampleFile],
    tables: Mapping[str, pa.Table],
) -> list[dict[str, Any]]:
    """Return what the query tells given the samples of some series only: of other links, nothing that counts."""
    first_ns = min(one.from_ns or 0 for one in series)
    last_ns = max(_last_ns(one) for one in series)
    paths = [
        file.path
        for file in files
        if file.first_ns <= last_ns and file.last_ns >= first_ns and not sampled.isdisjoint(file.n_rows)
    ]
    chosen = pc.field("series_id").isin(pa.array(sorted(sampled), pa.uint64()))
    chosen = chosen & (pc.field("t_ns") >= first_ns) & (pc.field("t_ns") <= last_ns)
    samples = read_segments(paths, arrow_schema("samples"), filters=chosen)
    # Two threads ask for more than the limit of memory on a link of four series of a day, and save a sixth of the time.
    with Database({**lake_sources(store.root), **tables, "samples": samples}, threads=1) as database:
        rows: list[dict[str, Any]] = database.run("contention_by_link").to_pylist()
    return rows
