"""`find_overlaps`: how long the jobs of each link were Up together, some links at a time so that memory is bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pipeline.analysis import Skipped
from pipeline.overlaps.known import key_of, read_known, write_known
from pipeline.overlaps.reads import Reads, gather
from pipeline.overlaps.scene import Scene
from pipeline.sql.database import Database
from profiler.errors import LakeError

if TYPE_CHECKING:
    from pipeline.batch import PortProfiles, SampleFile
    from pipeline.overlaps.scene import Place

__all__ = ["find_overlaps"]

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
    """Return the rows of query ``contention_by_link``, and the links of which it cannot be told, and why.

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
    wanted = _wanted(crossings, found)
    if not wanted:
        return [], ()
    reads = _reads(wanted, found=found, parts=parts)
    scene = Scene.of(database, {place: wanted[place] | reads[place].n_of.keys() for place in wanted})
    keys = {place: _key(scene.told_of(place), reads[place].files_of(found.files)) for place in wanted}
    known = read_known(found.work)
    rows = {place: known[key] for place, key in keys.items() if key in known}
    missing = {place: own for place, own in reads.items() if place not in rows}
    faults: list[Skipped] = []
    for places, answer in _answers(scene, list(gather(missing)), files=found.files):
        if isinstance(answer, LakeError):
            links = ", ".join(sorted({link for link, _ in places}))
            faults.append(Skipped(what=f"the time that jobs share on {links}", why=str(answer)))
        else:
            rows |= {(row["link_id"], row["direction"]): row for row in answer}
    write_known(found.work, {keys[place]: row for place, row in rows.items()}, before=known)
    return list(rows.values()), tuple(faults)


def _wanted(crossings: Iterable[Mapping[str, Any]], found: PortProfiles) -> dict[Place, set[int]]:
    """Return the series that count on each place on which two or more do."""
    wanted: dict[Place, set[int]] = defaultdict(set)
    for row in crossings:
        if row["status"] == "periodic" and row["period_s"] is not None:
            wanted[row["link_id"], row["direction"]].add(row["series_id"])
    return {place: ids for place, ids in wanted.items() if len(ids) > 1 and ids <= found.series.keys()}


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
    return key_of(told, sorted(file.sha256 for file in files))


def _answers(
    scene: Scene, groups: Sequence[tuple[list[Place], Reads]], *, files: Sequence[SampleFile]
) -> Iterator[tuple[list[Place], list[dict[str, Any]] | LakeError]]:
    """Yield what SQL tells of each group of places, in their order, or why it cannot; one that waits ends with us."""

    def answer(group: tuple[list[Place], Reads]) -> list[dict[str, Any]] | LakeError:
        places, reads = group
        try:
            return _contention({**scene.part(places), "samples": reads.read(files)})
        except LakeError as error:
            return error

    threads = ThreadPoolExecutor(N_TOGETHER, thread_name_prefix="offbeat-overlaps")
    try:
        answers = threads.map(answer, groups)
        yield from zip((places for places, _ in groups), answers, strict=True)
    finally:
        threads.shutdown(cancel_futures=True)


def _contention(tables: Mapping[str, Any]) -> list[dict[str, Any]]:
    with Database(tables, threads=1) as database:
        rows: list[dict[str, Any]] = database.run("contention_by_link").to_pylist()
    return rows
