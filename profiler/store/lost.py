"""`lost_files`: which files of a table are no more what was sealed, so that a reader can do without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from profiler.errors import LakeError
from profiler.store.manifest import Manifest
from profiler.store.reading import map_files, restoring, sizes_of, unreadable
from profiler.store.remote.address import RemotePath
from profiler.store.remote.faults import is_of_bucket, told
from profiler.store.remote.tags import tag_of
from profiler.store.soundness import examine, fault_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from profiler.store.lake import Lake
    from profiler.store.segments import Segment

__all__ = ["lost_among", "lost_files"]


def lost_files(lake: Lake, table: str) -> dict[Path, str]:
    """Return the files of a table that are missing, changed or not to be read, and what to do.

    Files are read whole; of those in a bucket only the ones that the bucket does not tell to be as they were copied.

    Raises
    ------
    LakeError
        If the manifest is damaged, or a bucket does not let us read.
    """
    return lost_among(lake, lake.files(table))


def lost_among(lake: Lake, paths: Collection[Path]) -> dict[Path, str]:
    """Return those of some files of a lake that are missing, changed or not to be read, and what to do.

    Raises
    ------
    LakeError
        If the manifest is damaged, or a bucket does not let us read.
    """
    wanted = set(paths)
    with Manifest(lake.root, mode="ro") as manifest:
        tags = manifest.tags()
        entries = {place: one for one in manifest.entries() if (place := manifest.place(one)) in wanted}
    near = {entry.path: place for place, entry in entries.items() if not isinstance(place, RemotePath)}
    found = examine(lake.root, [entries[place] for place in near.values()])
    lost = {near[path]: why for path, why in (found.faults | found.unread).items()}
    objects = {place: entry for place, entry in entries.items() if isinstance(place, RemotePath)}
    return lost | _lost_objects(objects, tags)


def _lost_objects(objects: Mapping[RemotePath, Segment], tags: Mapping[str, str]) -> dict[Path, str]:
    sizes = sizes_of(objects)

    def fault(place: Path) -> str | None:
        entry = objects[place]  # type: ignore[index]
        n_found = sizes.get(place)
        if n_found is None:
            return f"missing; {restoring(place)}"
        if n_found != entry.n_bytes:
            return f"{n_found} bytes, {entry.n_bytes} in the manifest; {restoring(place)}"
        return _changed(place, entry, tag=tags.get(entry.path))  # type: ignore[arg-type]

    found = zip(objects, map_files(fault, list(objects)), strict=True)
    return {place: why for place, why in found if why is not None}


def _changed(place: RemotePath, entry: Segment, *, tag: str | None) -> str | None:
    try:
        return None if tag and tag_of(place) == tag else fault_of(place, entry)
    except (OSError, pa.ArrowException) as error:
        if is_of_bucket(error):  # the way there is what fails, not this object
            raise LakeError(f"{place}: {told(error)}") from error
        return unreadable(error, place)
