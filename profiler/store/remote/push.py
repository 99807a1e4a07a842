"""`push`: a lake copied to a bucket, whole at any instant, while it is written and read.

Files first, the manifest last: readers of the bucket see the lake as it was before, or as it is now. What a merge has
replaced, or a push that was cut short has left, stays as long as a reader may hold an older manifest or another push be
at it, and goes with a later push. The copy of the manifest notes the tag of each object
(`profiler.store.remote.tags`): one that is no more what was copied is sent again.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from profiler.errors import LakeError, UsageError
from profiler.schema import TABLES
from profiler.store.database import MANIFEST_NAME
from profiler.store.manifest import MAKE_TAGS, MERGED, Manifest
from profiler.store.reading import listed, unreadable
from profiler.store.remote.address import RemotePath, locate
from profiler.store.remote.faults import explained
from profiler.store.remote.filesystems import IO_THREADS, filesystem
from profiler.store.remote.snapshot import LOG_SUFFIX, TornManifest, fetch
from profiler.store.remote.tags import is_tag_of, tag_of
from profiler.store.sealer import SWEEP_AFTER_S
from profiler.store.soundness import fault_of
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import os

    from profiler.store.lake import Lake
    from profiler.store.segments import Segment

__all__ = ["Pushed", "push", "send"]

_SEALED: Final = re.compile(r"[/-][0-9a-f]{16}\.parquet$")
"""How names of files end that we sealed: what a push that was cut short has left is told by them from anyone else's."""
_PIECE_BYTES: Final = 1 << 20
"""Of a file, held in memory at a time, by each of `IO_THREADS`; pyarrow holds the part of 10 MB that it sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What was copied: files and bytes, those that are there unchanged, and those deleted since they count no more."""

    n_files: int
    n_bytes: int
    n_kept: int
    n_deleted: int

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "push", "version": 1, **asdict(self)}


def push(
    lake: Lake, target: str | os.PathLike[str], *, advance: Callable[[int], object] = int, now_ns: int | None = None
) -> Pushed:
    """Copy a lake to a bucket, but what is there unchanged; others may write the lake and read the copy meanwhile.

    Parameters
    ----------
    lake
        What to copy.
    target
        Its address there, such as ``s3://bucket/folder``; a new or empty one, or that of an earlier copy.
    advance
        Called with the bytes of each file.
    now_ns
        UTC epoch ns, by default this machine's.

    Raises
    ------
    UsageError
        If the target is no address of a bucket or has another lake, or the lake's own readings are in a bucket.
    LakeError
        If a file to copy is missing or not what was sealed, or the bucket does not let us write.
    """
    root, place, now_ns = lake.fillable(), locate(target), time.time_ns() if now_ns is None else now_ns
    if not isinstance(place, RemotePath):
        raise UsageError(f"{target}: not in a bucket; give an address such as s3://BUCKET/FOLDER")
    with tempfile.TemporaryDirectory(prefix="offbeat-push-") as folder:
        copy = Path(folder)
        entries = _copied(root, copy)
        counting = {entry.path for entry in entries}
        replaced, tags = _earlier(place, copy, counting=counting, now_ns=now_ns)
        there = {path.below(place): path.n_bytes for table in TABLES for path in listed(place / table)}
        strays = {path for path in there if _SEALED.search(path)} - counting - replaced.keys()
        replaced |= dict.fromkeys(strays, now_ns)
        stale = {path for path, since_ns in replaced.items() if since_ns < now_ns - SWEEP_AFTER_S * NS_PER_S}

        def bring(entry: Segment) -> _Brought:
            has_size = there.get(entry.path) == entry.n_bytes
            brought = (has_size and _kept(root, place, entry, tag=tags.get(entry.path))) or _sent(root, place, entry)
            advance(entry.n_bytes)
            return brought

        with ThreadPoolExecutor(IO_THREADS) as pool:
            brought = list(pool.map(bring, entries))
        _note(
            copy,
            replaced={path: since_ns for path, since_ns in replaced.items() if path not in stale},
            tags={one.path: one.tag for one in brought},
        )
        send(copy / MANIFEST_NAME, place / MANIFEST_NAME)
    gone = [place / path for path in stale if path in there]
    _delete([*gone, place / (MANIFEST_NAME + LOG_SUFFIX)])
    sent = [one.n_sent for one in brought if one.n_sent is not None]
    return Pushed(n_files=len(sent), n_bytes=sum(sent), n_kept=len(brought) - len(sent), n_deleted=len(gone))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Brought:
    """An object that is what was sealed, its tag, and the bytes sent for that; None if it was there."""

    path: str
    tag: str
    n_sent: int | None = None


def _kept(root: Path, place: RemotePath, entry: Segment, *, tag: str | None) -> _Brought | None:
    """Return an object that is as it was copied, or has the bytes of the file as far as its tag tells; else None."""
    with explained(place / entry.path):
        found = tag_of(place / entry.path)
    if not found or (found != tag and not (_is_sound(root, entry) and is_tag_of(root / entry.path, found))):
        return None
    return _Brought(path=entry.path, tag=found)


def _is_sound(root: Path, entry: Segment) -> bool:
    try:
        return fault_of(root / entry.path, entry) is None
    except OSError:
        return False


def _sent(root: Path, place: RemotePath, entry: Segment) -> _Brought:
    """Send a file that is as it was sealed.

    Raises
    ------
    LakeError
        If it is not, or the bucket does not let us write.
    """
    path, target = root / entry.path, place / entry.path
    try:
        fault = fault_of(path, entry)
    except OSError as error:
        fault = unreadable(error, path)
    if fault is not None:
        raise LakeError(f"{path}: {fault}")
    send(path, target)
    with explained(target):
        return _Brought(path=entry.path, tag=tag_of(target), n_sent=entry.n_bytes)


def _copied(root: Path, folder: Path) -> list[Segment]:
    """Copy the manifest as it is at one instant, without what does not count, and return the files it names."""
    with Manifest(root, mode="ro") as manifest:
        manifest.copy_to(folder / MANIFEST_NAME)
    with Manifest(folder, mode="ro") as copy:
        return copy.entries()


def _earlier(
    place: RemotePath, copy: Path, *, counting: Collection[str], now_ns: int
) -> tuple[dict[str, int], dict[str, str]]:
    """Return what an earlier copy has that counts no more, and since when, and its tags; of a torn one nothing.

    Raises
    ------
    UsageError
        If it is a copy of another lake.
    """
    manifest = place / MANIFEST_NAME
    with explained(manifest):
        if not manifest.exists():
            return {}, {}
    try:
        fetch(manifest)
    except TornManifest:
        return {}, {}
    with Manifest(place, mode="ro") as there, Manifest(copy, mode="ro") as ours:
        inputs, known, tags = _inputs(there), _inputs(ours), there.tags()
        gone = {entry.path: now_ns for entry in there.entries()} | there.replaced()
    if not inputs <= known:
        raise UsageError(
            f"{place}: has another lake, with {len(inputs - known)} recordings that this one lacks; give another folder"
        )
    return {path: since_ns for path, since_ns in gone.items() if path not in counting}, tags


def _inputs(manifest: Manifest) -> set[str]:
    return {row["recording_id"] for row in manifest.recordings() if row["format"] != MERGED}


def _note(copy: Path, *, replaced: Mapping[str, int], tags: Mapping[str, str]) -> None:
    with closing(sqlite3.connect(copy / MANIFEST_NAME)) as database, database:
        database.executemany("insert into unlisted values (?, ?)", replaced.items())
        database.execute(MAKE_TAGS)
        database.execute("delete from tags")
        database.executemany("insert into tags values (?, ?)", tags.items())


def send(path: Path, place: RemotePath) -> None:
    """Put the bytes of a file in a bucket, some at a time.

    Raises
    ------
    LakeError
        If the bucket does not let us write.
    """
    with (
        path.open("rb") as file,
        explained(place),
        filesystem(place.bucket).open_output_stream(place.inside) as stream,
    ):
        shutil.copyfileobj(file, stream, _PIECE_BYTES)


def _delete(places: Iterable[RemotePath]) -> None:
    for place in places:
        with explained(place):
            if place.exists():
                filesystem(place.bucket).delete_file(place.inside)
