"""Whether a lake is whole: every file that counts is there, unchanged, in order, and contradicts no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from profiler.schema import TABLES
from profiler.store.manifest import Manifest
from profiler.store.overlaps import Overlap, find_overlaps
from profiler.store.reading import listed, sizes_of
from profiler.store.remote.address import RemotePath
from profiler.store.segments import final_path
from profiler.store.soundness import adding_series, examine

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store.lake import Lake

__all__ = ["LakeCheck", "check_lake"]

_LISTED: Final = 20
"""Overlaps told one by one; of the rest only how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeCheck:
    """What was found.

    Parameters
    ----------
    n_files, n_rows, n_bytes
        What counts, and was checked.
    problems
        What is wrong: file, what, what to do. A lake with any is not whole.
    unread
        Files that this user may not read. A lake with any is not known to be whole.
    notes
        What is no fault: files that wait to be swept, readings that two files hold alike.
    """

    n_files: int
    n_rows: int
    n_bytes: int
    problems: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool | None:
        """Whether the lake is whole; None if it was not all read, and no fault was found in what was."""
        if self.problems:
            return False
        return None if self.unread else True

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "lake_check", "version": 1, "is_whole": self.is_whole, **asdict(self)}


def check_lake(lake: Lake, *, advance: Callable[[int], object] = int) -> LakeCheck:
    """Read every file of a lake and compare it with the manifest; others may write the lake meanwhile.

    Parameters
    ----------
    lake
        What to check.
    advance
        Called with the bytes of each file.

    Raises
    ------
    LakeError
        If the manifest itself cannot be read.
    """
    with Manifest(lake.root, mode="ro") as manifest:
        damages, entries, known = manifest.damages(), manifest.entries(), manifest.not_counting()
        series_paths, places = manifest.files("series"), {entry.path: manifest.place(entry) for entry in entries}
    found = examine(lake.root, entries, advance=advance)
    known.update(entry.path for entry in entries)
    strays = {path: name for path, name in _files(lake.root) if name not in known}
    with Manifest(lake.root, mode="ro") as manifest:  # what was sealed or replaced while the files were read
        counting, others = {entry.path for entry in manifest.entries()}, manifest.not_counting()
    known = counting | others
    problems, unread = (
        [f"{places[path]}: {fault}" for path, fault in told.items() if path in counting]
        for told in (found.faults, found.unread)
    )
    problems += [
        f"{path}: not in the manifest; no part of the lake, delete it"
        for path, name in strays.items()
        if name not in known and sizes_of([path])
    ]
    adding = adding_series([path for path in series_paths if path in found.spans])
    overlaps = list(find_overlaps(found.spans, adding=adding))
    return LakeCheck(
        n_files=len(entries),
        n_rows=sum(entry.n_rows for entry in entries),
        n_bytes=sum(entry.n_bytes for entry in entries),
        problems=(*damages, *problems, *_told([overlap for overlap in overlaps if overlap.n_differing])),
        unread=tuple(unread),
        notes=(*_waiting(others), *_told([overlap for overlap in overlaps if not overlap.n_differing])),
    )


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield all files in the folders of tables, and the names that the manifest would have them by."""
    if isinstance(root, RemotePath):
        yield from ((path, path.below(root)) for table in sorted(TABLES) for path in listed(root / table))
        return
    for table in sorted(TABLES):
        for path in sorted((root / table).rglob("*")):
            if path.is_file():
                yield path, str(final_path(path).relative_to(root))


def _waiting(paths: set[str]) -> list[str]:
    return [f"{len(paths)} files do not count: being written, or waiting to be swept"] if paths else []


def _told(overlaps: Sequence[Overlap]) -> list[str]:
    told = [str(overlap) for overlap in overlaps[:_LISTED]]
    return [*told, f"and {len(overlaps) - _LISTED} more pairs of files"] if len(overlaps) > _LISTED else told
