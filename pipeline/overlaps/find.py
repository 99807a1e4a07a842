"""`find_overlaps`: how long the jobs of each link were Up together, some links at a time so that memory is bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pipeline.analysis import Skipped
from pipeline.overlaps.known import key_of, read_known, write_known
from pipeline.overlaps.reads import Reads, gather
from pipeline.overlaps.scene import Scene
from pipeline.sql.database import Database
from profiler.errors import LakeError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.batch import PortProfiles, SampleFile
    from pipeline.overlaps.scene import Place

__all__ = ["find_overlaps"]

_Told: TypeAlias = "tuple[list[Place], list[dict[str, Any]] | LakeError]"
"""Some places, and the rows of the query for them, or why there are none."""

N_TOGETHER: Final = 2
"""Groups of links at a time, as each can ask for all of SQL's limit of memory, on one thread each: two threads on one
group ask for twice as much, and save a sixth of its time."""


def find_overlaps(
    database: Database,
    crossings: Iterable[Mapping[str, Any]],
    *,
    found: PortProfiles,
    parts: Iterable[Mapping[str, Any]] = (),
) -> tuple[list[dict[str, Any]], tuple[Skipped, ...]]:
    """Return the rows of query ``contention_by_link`` in its order, and the links of which it cannot be told, and why.

    What was told of a link before, from the same samples and profiles, is not told anew.

    Parameters
    ----------
    database
        The lake without samples, with ``profiles`` and ``phases`` of the series found.
    crossings
        Rows of query ``jobs_by_link``, of links that several jobs cross.
    found
        The profile of every series, the sample files that can be read, and the folder that keeps what was told.
    parts
        Rows of view ``flow_parts``: what to read of a series that has no samples of its own.
    """
    wanted, why = _wanted(crossings, found)
    if not wanted:
        return [], _faults(why)
    reads = _reads(wanted, found=found, parts=parts)
    scene = Scene.of(database, {place: wanted[place] | reads[place].n_of.keys() for place in wanted})
    keys = {place: _key(scene.told_of(place), reads[place].files_of(found.files)) for place in wanted}
    known = read_known(found.work)
    rows = {place: known[key] for place, key in keys.items() if key in known}
    missing = {place: own for place, own in reads.items() if place not in rows}
    for places, answer in _answers(scene, list(gather(missing)), files=found.files):
        if isinstance(answer, LakeError):
            why |= dict.fromkeys(places, str(answer))
        else:
            rows |= {(row["link_id"], row["direction"]): row for row in answer}
    write_known(found.work, {keys[place]: row for place, row in rows.items()}, before=known)
    return sorted(rows.values(), key=_rank), _faults(why)


def _wanted(
    crossings: Iterable[Mapping[str, Any]], found: PortProfiles
) -> tuple[dict[Place, set[int]], dict[Place, str]]:
    """Return the series that count on each place on which two or more do, and why those of other such places do not."""
    counting: dict[Place, set[int]] = defaultdict(set)
    for row in crossings:
        if row["status"] == "periodic" and row["period_s"] is not None:
            counting[row["link_id"], row["direction"]].add(row["series_id"])
    shared = {place: ids for place, ids in counting.items() if len(ids) > 1}
    lost = {place: sorted(ids - found.series.keys()) for place, ids in shared.items()}
    why = {place: f"not profiled: series {', '.join(map(str, ids))}" for place, ids in lost.items() if ids}
    return {place: ids for place, ids in shared.items() if place not in why}, why


def _faults(why: Mapping[Place, str]) -> tuple[Skipped, ...]:
    """Return the links of which nothing is told, those of one reason together."""
    links: dict[str, set[str]] = defaultdict(set)
    for (link, _), reason in why.items():
        links[reason].add(link)
    return tuple(
        Skipped(what=f"the time that jobs share on {', '.join(sorted(own))}", why=reason)
        for reason, own in links.items()
    )


def _rank(row: Mapping[str, Any]) -> tuple[bool, float, bool, float, str, str]:
    """Return what rows are sorted by: the order of query ``contention_by_link``."""
    over_bytes, shared_s = row["over_bytes"], row["shared_s"]
    by_over, by_shared = (over_bytes is None, -(over_bytes or 0)), (shared_s is None, -(shared_s or 0.0))
    return (*by_over, *by_shared, row["link_id"], row["direction"])


def _reads(
    wanted: Mapping[Place, set[int]], *, found: PortProfiles, parts: Iterable[Mapping[str, Any]]
) -> dict[Place, Reads]:
    """Return the samples that each place needs."""
    parts_of: dict[int, set[int]] = defaultdict(set)
    for part in parts:
        parts_of[part["series_id"]].add(part["part_id"])
    of_series = {
        one: Reads.of(found.series[one], ids=parts_of.get(one, {one}), files=found.files)
        for one in set().union(*wanted.values())
    }
    return {place: reduce(Reads.joined, (of_series[one] for one in sorted(ids))) for place, ids in wanted.items()}


def _key(told: list[str], files: Iterable[SampleFile]) -> str:
    return key_of(told=told, digests=sorted(file.sha256 for file in files))


def _answers(
    scene: Scene, groups: Sequence[tuple[list[Place], Reads]], *, files: Sequence[SampleFile]
) -> Iterator[_Told]:
    """Yield what SQL tells of each group of places, in their order, or why it cannot; one that waits ends with us."""

    def answer(group: tuple[list[Place], Reads]) -> list[_Told]:
        places, reads = group
        try:
            samples = reads.read(files)
        except LakeError as error:
            return [(places, error)]
        return list(_told(scene, places, samples))

    threads = ThreadPoolExecutor(N_TOGETHER, thread_name_prefix="offbeat-overlaps")
    try:
        yield from chain.from_iterable(threads.map(answer, groups))
    finally:
        threads.shutdown(cancel_futures=True)


def _told(scene: Scene, places: list[Place], samples: pa.Table) -> Iterator[_Told]:
    """Yield what SQL tells of some places; of each alone where it fails on a value that one of them has."""
    try:
        yield places, _contention({**scene.part(places), "samples": samples})
    except LakeError as error:
        yield places, error
    except UsageError as error:
        if len(places) == 1:
            yield places, LakeError(f"query contention_by_link fails on what the lake has of it: {error}")
            return
        for place in places:
            yield from _told(scene, [place], samples)


def _contention(tables: Mapping[str, Any]) -> list[dict[str, Any]]:
    with Database(tables, threads=1) as database:
        rows: list[dict[str, Any]] = database.run("contention_by_link").to_pylist()
    return rows
