"""`Work`: the folder in which finished shards wait, ``LAKE/work`` unless told otherwise.

Its files are no part of the lake: they are a cache, named by the key of what they hold, end in ``.shard`` so that no
reader of Parquet folders takes them for data, and can be deleted at any time. They are not in the manifest since the
processes of a job array run on several hosts, across which a manifest in SQLite's WAL mode cannot be written.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pipeline.batch.results import read_result, write_result
from profiler.errors import LakeError
from profiler.store.segments import remedy

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.batch.compute import SeriesProfile

__all__ = ["SUFFIX", "Work"]

SUFFIX: Final = ".shard"
KEEP_S: Final = 3600.0
"""Results that no shard asks for are kept this long: an array may have begun before the lake grew."""
_OURS: Final = re.compile(rf"[0-9a-f]{{64}}{re.escape(SUFFIX)}|\.[\w.]+\.[0-9a-f]{{12}}\.tmp")
"""Names of results, and of what `Work.replace` has not finished: the folder may be anyone's, with other files in it."""


@dataclass(frozen=True, slots=True)
class Work:
    """A folder of finished shards; it can be handed to other processes and hosts that see the same file system."""

    folder: Path

    def prepare(self) -> None:
        """Make the folder.

        Raises
        ------
        LakeError
            If it cannot be made.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LakeError(
                f"{self.folder}: {error.strerror}; {remedy(error)}, or give another folder for results, --work DIR"
            ) from error

    def keys(self) -> set[str]:
        """Return the keys of the finished shards."""
        return {path.stem for path in self.folder.glob(f"*{SUFFIX}")}

    def read(self, key: str) -> list[SeriesProfile] | None:
        """Return what came of a shard; None if it is not there or not whole."""
        return read_result(self._path(key), key=key)

    def write(self, key: str, found: Iterable[SeriesProfile]) -> None:
        """Keep what came of a shard: whole or not at all, whoever else writes the same.

        It is not synced: what a power cut tears is not whole, and computed again.

        Raises
        ------
        LakeError
            If the disk is full or the folder cannot be written.
        """
        self.replace(self._path(key).name, lambda path: write_result(path, found, key=key))

    def replace(self, name: str, write: Callable[[Path], object]) -> None:
        """Put what ``write`` writes in the place of a file of the folder, at once.

        Raises
        ------
        LakeError
            If the disk is full or the folder cannot be written.
        """
        path = self.folder / name
        temporary = path.with_name(f".{name}.{uuid.uuid4().hex[:12]}.tmp")
        try:
            write(temporary)
            temporary.rename(path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise LakeError(f"{path}: {error.strerror or error}; {remedy(error)}") from error

    def sweep(self, keep: Container[str]) -> None:
        """Delete the results that nobody asked for within `KEEP_S`, and what a kill left half written."""
        before_s = time.time() - KEEP_S
        for path in self.folder.iterdir():
            if path.stem in keep or not _OURS.fullmatch(path.name):
                continue
            try:
                if path.stat().st_mtime < before_s:
                    path.unlink(missing_ok=True)
            except FileNotFoundError:  # another process swept it
                continue

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"
