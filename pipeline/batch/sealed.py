"""`check_sealed`: whether the files of a shard are what was sealed, before anything is made of what they hold."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from profiler.errors import LakeError
from profiler.store import file_digest
from profiler.store.reading import restoring, unreadable
from profiler.store.remote.address import RemotePath
from profiler.store.remote.tags import tag_of

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.batch.shard import Shard

__all__ = ["CHANGED", "check_sealed"]

CHANGED: Final = "changed since it was sealed: its SHA-256 differs"
_FILES: Final = 65_536
"""Digests that a process keeps, 200 bytes each: a file may hold hosts of many shards, and is hashed once a process."""


def check_sealed(shard: Shard) -> None:
    """Compare the files of a shard with their digests; objects of a bucket with their tags, where these are known.

    A changed byte need not make a file unreadable: most tell other readings.

    Raises
    ------
    LakeError
        If a file is missing, cannot be read or is not what was sealed.
    """
    for path, digest, tag in zip(shard.paths, shard.digests, shard.tags or [None] * len(shard.paths), strict=True):
        try:
            is_sealed = _is_sealed(path, digest, tag)
        except (OSError, pa.ArrowException) as error:
            raise LakeError(f"{path}: the manifest names it, but it {unreadable(error, path)}") from error
        if not is_sealed:
            raise LakeError(f"{path}: {CHANGED}; {restoring(path)}")


def _is_sealed(path: Path, digest: str, tag: str | None) -> bool:
    if isinstance(path, RemotePath):
        return tag is None or tag_of(path) == tag or file_digest(path) == digest
    status = path.stat()
    return _digest(path, status.st_size, status.st_mtime_ns, status.st_ino) == digest


@lru_cache(maxsize=_FILES)
def _digest(path: Path, _n_bytes: int, _modified_ns: int, _inode: int) -> str:
    return file_digest(path)
