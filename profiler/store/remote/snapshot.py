"""`snapshot`: the manifest of a lake in a bucket, as it was at one instant.

A manifest may be replaced while it is fetched, so what was fetched counts only if the bucket still has the same
afterwards. A lake that was copied while it was written has the manifest's log beside it; its changes are taken in if it
is the log of this very manifest, which nothing in the two files proves: a log that is older than the manifest is not.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow.fs

from profiler.errors import LakeError
from profiler.store.remote.faults import explained
from profiler.store.remote.filesystems import filesystem
from profiler.store.remote.tags import tag_of

if TYPE_CHECKING:
    from profiler.store.remote.address import RemotePath

__all__ = ["LOG_SUFFIX", "TornManifest", "Version", "fetch", "snapshot"]

LOG_SUFFIX: Final = "-wal"
"""What SQLite adds to the name of a database for that of its log."""
_TRIES: Final = 3
"""Times that a manifest is fetched anew since it was replaced meanwhile; a push takes seconds."""
_UNSURE: Final = (
    "it was copied while it was written; copy it again with offbeat lake LAKE --push, which is safe at any time"
)

Version: TypeAlias = tuple[tuple[str, ...], ...]
"""What tells one state of the manifest and its log from another."""


class TornManifest(LakeError):  # noqa: N818 - a state of what was copied
    """A manifest that is damaged, or has the log of another one beside it: to be copied again."""


@dataclass(frozen=True, slots=True)
class _Fetched:
    version: Version
    content: bytes


_fetched: dict[RemotePath, _Fetched] = {}
_fetching = Lock()


def snapshot(manifest: RemotePath) -> bytes:
    """Return the manifest as it was last fetched by this process, as one SQLite database without a log.

    Raises
    ------
    LakeError
        If it must be fetched, and that fails; see `fetch`.
    """
    held = _fetched.get(manifest)
    if held is None:
        fetch(manifest)
        held = _fetched[manifest]
    return held.content


def fetch(manifest: RemotePath) -> Version:
    """Fetch the manifest as it is now, unless this process has it already.

    Raises
    ------
    LakeError
        If there is none, the bucket does not let us read, or it is damaged.
    """
    with _fetching, explained(manifest):
        for _ in range(_TRIES):
            version = _version(manifest)
            held = _fetched.get(manifest)
            if held is not None and held.version == version:
                return version
            content = _download(manifest, with_log=len(version) > 1)
            if _version(manifest) == version:
                _fetched[manifest] = _Fetched(version, content)
                return version
    raise LakeError(f"{manifest}: replaced again and again while it was read; try again when the lake is at rest")


def _version(manifest: RemotePath) -> Version:
    """Return what tells this state from others: of the manifest, and of its log if it has one that is not empty.

    Raises
    ------
    LakeError
        If there is no manifest, or a log that is not of it.
    """
    found = filesystem(manifest.bucket).get_file_info([manifest.inside, manifest.inside + LOG_SUFFIX])
    own, log = (info if info.type is pyarrow.fs.FileType.File else None for info in found)
    if own is None:
        raise _absent(manifest)
    if log is None or not log.size:
        return (_told(own, manifest),)
    if log.mtime_ns < own.mtime_ns:
        raise TornManifest(
            f"{manifest}{LOG_SUFFIX}: older than {manifest.name}, so of another copy of it; delete this object, or "
            "copy the lake again with offbeat lake LAKE --push"
        )
    return _told(own, manifest), _told(log, manifest.parent / (manifest.name + LOG_SUFFIX))


def _told(info: pyarrow.fs.FileInfo, place: RemotePath) -> tuple[str, ...]:
    return str(info.size), str(info.mtime_ns), tag_of(place)


def _absent(manifest: RemotePath) -> LakeError:
    bucket = filesystem(manifest.bucket).get_file_info(manifest.bucket.name)
    if bucket.type is pyarrow.fs.FileType.NotFound:
        return LakeError(f"{manifest.bucket.scheme}://{manifest.bucket.name}: there is no such bucket; check its name")
    root = str(manifest).removesuffix(f"/{manifest.name}")
    return LakeError(
        f"{root}: no such lake, there is no {manifest.name}; check the name, or put one there with offbeat lake LAKE "
        f"--push {root}"
    )


def _download(manifest: RemotePath, *, with_log: bool) -> bytes:
    """Return a manifest, its log taken in."""
    with tempfile.TemporaryDirectory(prefix="offbeat-manifest-") as folder:
        copy = Path(folder) / manifest.name
        for suffix in ("", LOG_SUFFIX) if with_log else ("",):
            with filesystem(manifest.bucket).open_input_stream(manifest.inside + suffix) as stream:
                copy.with_name(copy.name + suffix).write_bytes(stream.read())
        try:
            with closing(sqlite3.connect(copy, isolation_level=None)) as database:
                database.execute("pragma journal_mode = delete")
                damages = [text for (text,) in database.execute("pragma integrity_check(1)")]
                if damages != ["ok"]:
                    raise TornManifest(f"{manifest}: damaged ({damages[0]}): {_UNSURE}")
                return database.serialize()
        except sqlite3.Error as error:
            raise TornManifest(f"{manifest}: {error}: not the manifest of a lake, or {_UNSURE}") from error
