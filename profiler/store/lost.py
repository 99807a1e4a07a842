"""`lost_files`: which files of a table are no more what was sealed, so that a reader can do without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.store.manifest import Manifest
from profiler.store.reading import RESTORE, sizes_of
from profiler.store.remote.address import RemotePath
from profiler.store.soundness import examine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from profiler.store.lake import Lake

__all__ = ["lost_files"]


def lost_files(lake: Lake, table: str) -> dict[Path, str]:
    """Return the files of a table that are missing, changed or not to be read, and what to do.

    Files are read whole; of those in a bucket, which would have to be fetched, only their sizes are compared.

    Raises
    ------
    LakeError
        If the manifest is damaged.
    """
    with Manifest(lake.root, mode="ro") as manifest:
        places = {entry.path: manifest.place(entry) for entry in manifest.entries() if entry.table == table}
        entries = [entry for entry in manifest.entries() if entry.path in places]
    near = [entry for entry in entries if not isinstance(places[entry.path], RemotePath)]
    found = examine(lake.root, near)
    lost = {places[path]: why for path, why in (found.faults | found.unread).items()}
    return lost | _lost_objects({places[entry.path]: entry.n_bytes for entry in entries if entry not in near})


def _lost_objects(n_bytes: Mapping[Path, int]) -> dict[Path, str]:
    sizes = sizes_of(n_bytes)
    lost = {}
    for path, n_sealed in n_bytes.items():
        n_found = sizes.get(path)
        if n_found is None:
            lost[path] = f"missing; {RESTORE}"
        elif n_found != n_sealed:
            lost[path] = f"{n_found} bytes, {n_sealed} in the manifest; {RESTORE}"
    return lost
