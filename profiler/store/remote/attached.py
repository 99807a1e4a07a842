"""`attach`: a folder of this machine over a lake in a bucket: results are kept here, readings stay there.

The folder is a lake as any other. Its manifest names the files of the bucket by their addresses, so whatever reads the
folder reads them from there, and as they were when the folder was last brought up to date (`refresh`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.errors import UsageError
from profiler.store.database import MANIFEST_NAME, READ_ONLY
from profiler.store.lake import Lake
from profiler.store.manifest import Manifest
from profiler.store.remote.address import RemotePath, locate
from profiler.store.remote.snapshot import fetch

if TYPE_CHECKING:
    import os
    from pathlib import Path

__all__ = ["attach", "refresh"]


def attach(folder: str | os.PathLike[str], address: str | os.PathLike[str]) -> Lake:
    """Return the lake of a folder that lies over a lake in a bucket, up to date with it; make it if it is not there.

    Raises
    ------
    UsageError
        If the folder is in a bucket, or the lake is not; or the folder has another lake, or lies over another one.
    LakeError
        If the bucket does not let us read, there is no lake in it, or the folder cannot be written.
    """
    own, base = locate(folder), locate(address)
    if isinstance(own, RemotePath) or not isinstance(base, RemotePath):
        raise UsageError(
            f"{own} over {base}: results are kept in a folder of this machine, over a lake in a bucket such as "
            "s3://BUCKET/FOLDER; a lake on this machine keeps its own"
        )
    Lake.open(base)
    lake = Lake.open(own, create=True)
    known = _base_of(own)
    if known is None and lake.sizes():
        raise UsageError(f"{own}: a lake of its own; give a new or empty folder for the results of {base}")
    if known is not None and (known.bucket.scheme, known.inside) != (base.bucket.scheme, base.inside):
        raise UsageError(f"{own}: holds the results of {known}; give another folder for those of {base}")
    _bring(own, base, known_version=None)
    return lake


def refresh(lake: Lake) -> None:
    """Bring a folder over a lake in a bucket up to date; any other lake on this machine always is.

    Raises
    ------
    UsageError
        If the lake itself is in a bucket, where no results can be kept.
    LakeError
        If the bucket does not let us read, or the folder cannot be written.
    """
    if isinstance(lake.root, RemotePath):
        raise UsageError(
            f"{lake.root}: {READ_ONLY}; or keep the results of analyses in a folder of this machine: --results DIR, in "
            "Python profiler.store.attach"
        )
    with Manifest(lake.root, mode="ro") as manifest:
        base = manifest.base()
    if base is not None:
        address, version = base
        _bring(lake.root, RemotePath.parse(address), known_version=version)


def _base_of(folder: Path) -> RemotePath | None:
    with Manifest(folder, mode="ro") as manifest:
        base = manifest.base()
    return None if base is None else RemotePath.parse(base[0])


def _bring(folder: Path, base: RemotePath, *, known_version: str | None) -> None:
    version = repr(fetch(base / MANIFEST_NAME))
    if version != known_version:
        with Manifest(base, mode="ro") as source, Manifest(folder, mode="rw") as manifest:
            manifest.lie_over(source, base, version=version)
