"""`find_overlaps`: how long the jobs of each link were Up together, some links at a time so that memory is bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
    tables
        Rows to see in place of what the lake has, such as ``profiles`` and ``phases`` of these series.
    """
    wanted: dict[Place, set[int]] = defaultdict(set)
    for row in crossings:
        if row["status"] == "periodic" and row["period_s"] is not None:
            wanted[row["link_id"], row["direction"]].add(row["series_id"])
    told = {place: ids for place, ids in wanted.items() if len(ids) > 1 and ids <= series.keys()}
    rows: list[dict[str, Any]] = []
    faults: list[Skipped] = []
    for places, ids in _groups(told, series=series, files=files):
        try:
            found = _contention(store, ids, series=series, files=files, tables=tables or {})
        except LakeError as error:
            links = ", ".join(sorted({link for link, _ in places}))
            faults.append(Skipped(what=f"the time that jobs share on {links}", why=str(error)))
            continue
        rows += [row for row in found if (row["link_id"], row["direction"]) in places]
    return rows, tuple(faults)


def _groups(
    wanted: Mapping[Place, set[int]], *, series: Mapping[int, SeriesProfile], files: Sequence[SampleFile]
) -> Iterator[tuple[set[Place], set[int]]]:
    """Yield places, and the series that count on them, of about `GROUP_SAMPLES` together."""
    places: set[Place] = set()
    ids: set[int] = set()
    n_samples = 0
    for place, own in wanted.items():
        n_more = sum(_n_samples(series[one], files) for one in own - ids)
        if places and n_samples + n_more > GROUP_SAMPLES:
            yield places, ids
            places, ids, n_samples = set(), set(), 0
            n_more = sum(_n_samples(series[one], files) for one in own)
        places, ids, n_samples = places | {place}, ids | own, n_samples + n_more
    if places:
        yield places, ids


def _n_samples(one: SeriesProfile, files: Sequence[SampleFile]) -> int:
    from_ns, to_ns = one.from_ns or 0, _last_ns(one) + 1
    return sum(file.n_between(one.series_id, from_ns=from_ns, to_ns=to_ns) for file in files)


def _last_ns(one: SeriesProfile) -> int:
    """Return when the last of what a profile describes was read: a tick is, up to one interval after it."""
    return (one.to_ns or 0) + (0 if one.clock is None else round(one.clock.refresh_s * NS_PER_S))


def _contention(
    store: Lake,
    ids: set[int],
    *,
    series: Mapping[int, SeriesProfile],
    files: Sequence[SampleFile],
    tables: Mapping[str, pa.Table],
) -> list[dict[str, Any]]:
    """Return what the query tells given the samples of some series only: of other links, nothing that counts."""
    first_ns = min(series[one].from_ns or 0 for one in ids)
    last_ns = max(_last_ns(series[one]) for one in ids)
    paths = [
        file.path
        for file in files
        if file.first_ns <= last_ns and file.last_ns >= first_ns and not ids.isdisjoint(file.n_rows)
    ]
    chosen = pc.field("series_id").isin(pa.array(sorted(ids), pa.uint64()))
    chosen = chosen & (pc.field("t_ns") >= first_ns) & (pc.field("t_ns") <= last_ns)
    samples = read_segments(paths, arrow_schema("samples"), filters=chosen)
    # Two threads ask for more than the limit of memory on a link of four series of a day, and save a sixth of the time.
    with Database({**lake_sources(store.root), **tables, "samples": samples}, threads=1) as database:
        rows: list[dict[str, Any]] = database.run("contention_by_link").to_pylist()
    return rows
