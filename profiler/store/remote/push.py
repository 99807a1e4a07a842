"""`push`: a lake copied to a bucket, whole at any instant, while it is written and read.

Files first, the manifest last: readers of the bucket see the lake as it was before, or as it is now. What a merge has
replaced stays as long as a reader may hold an older manifest, and goes with a later push.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiler.errors import LakeError, UsageError
from profiler.schema import TABLES
from profiler.store.database import MANIFEST_NAME
from profiler.store.manifest import MERGED, Manifest
from profiler.store.reading import RESTORE, listed
from profiler.store.remote.address import RemotePath, locate
from profiler.store.remote.faults import explained
from profiler.store.remote.filesystems import IO_THREADS, filesystem
from profiler.store.remote.snapshot import LOG_SUFFIX, TornManifest, fetch
from profiler.store.sealer import SWEEP_AFTER_S
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import os

    from profiler.store.lake import Lake

__all__ = ["Pushed", "push"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What was copied: files and bytes, those that were there already, and those deleted since they count no more."""

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
    """Copy a lake to a bucket, of what is there already nothing; others may write the lake and read the copy meanwhile.

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
        If a file of the lake is missing, or the bucket does not let us write.
    """
    root, place, now_ns = lake.fillable(), locate(target), time.time_ns() if now_ns is None else now_ns
    if not isinstance(place, RemotePath):
        raise UsageError(f"{target}: not in a bucket; give an address such as s3://BUCKET/FOLDER")
    with tempfile.TemporaryDirectory(prefix="offbeat-push-") as folder:
        copy = Path(folder)
        n_bytes = _copied(root, copy)
        replaced = _replaced(place, copy, counting=n_bytes, now_ns=now_ns)
        there = {path.below(place): path.n_bytes for table in TABLES for path in listed(place / table)}
        missing = [root / path for path, size in n_bytes.items() if there.get(path) != size]
        stale = {path for path, since_ns in replaced.items() if since_ns < now_ns - SWEEP_AFTER_S * NS_PER_S}
        _note(copy, {path: since_ns for path, since_ns in replaced.items() if path not in stale})

        def send(path: Path) -> None:
            name = str(path.relative_to(root))
            _send(path, place / name)
            advance(n_bytes[name])

        with ThreadPoolExecutor(IO_THREADS) as pool:
            list(pool.map(send, missing))
        _send(copy / MANIFEST_NAME, place / MANIFEST_NAME)
    gone = [place / path for path in stale if path in there]
    _delete([*gone, place / (MANIFEST_NAME + LOG_SUFFIX)])
    n_sent = sum(n_bytes[str(path.relative_to(root))] for path in missing)
    return Pushed(n_files=len(missing), n_bytes=n_sent, n_kept=len(n_bytes) - len(missing), n_deleted=len(gone))


def _copied(root: Path, folder: Path) -> dict[str, int]:
    """Copy the manifest as it is at one instant, without what does not count, and return the size of each file."""
    with Manifest(root, mode="ro") as manifest:
        manifest.copy_to(folder / MANIFEST_NAME)
    with Manifest(folder, mode="ro") as copy:
        return {entry.path: entry.n_bytes for entry in copy.entries()}


def _replaced(place: RemotePath, copy: Path, *, counting: Mapping[str, int], now_ns: int) -> dict[str, int]:
    """Return what an earlier copy has that counts no more, and since when; of a torn one that is not known.

    Raises
    ------
    UsageError
        If it is a copy of another lake.
    """
    manifest = place / MANIFEST_NAME
    with explained(manifest):
        if not manifest.exists():
            return {}
    try:
        fetch(manifest)
    except TornManifest:
        return {}
    with Manifest(place, mode="ro") as there, Manifest(copy, mode="ro") as ours:
        inputs, known = _inputs(there), _inputs(ours)
        gone = {entry.path: now_ns for entry in there.entries()} | there.replaced()
    if not inputs <= known:
        raise UsageError(
            f"{place}: has another lake, with {len(inputs - known)} recordings that this one lacks; give another folder"
        )
    return {path: since_ns for path, since_ns in gone.items() if path not in counting}


def _inputs(manifest: Manifest) -> set[str]:
    return {row["recording_id"] for row in manifest.recordings() if row["format"] != MERGED}


def _note(copy: Path, replaced: Mapping[str, int]) -> None:
    with closing(sqlite3.connect(copy / MANIFEST_NAME)) as database, database:
        database.executemany("insert into unlisted values (?, ?)", replaced.items())


def _send(path: Path, place: RemotePath) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LakeError(f"{path}: {error.strerror}; {RESTORE}") from error
    with explained(place), filesystem(place.bucket).open_output_stream(place.inside) as stream:
        stream.write(content)


def _delete(places: Iterable[RemotePath]) -> None:
    for place in places:
        with explained(place):
            if place.exists():
                filesystem(place.bucket).delete_file(place.inside)
