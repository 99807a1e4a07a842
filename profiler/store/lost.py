"""`lost_files`: which files of a table are no more what was sealed, so that a reader can do without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.store.manifest import Manifest
from profiler.store.soundness import examine

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store.lake import Lake

__all__ = ["lost_files"]


def lost_files(lake: Lake, table: str) -> dict[Path, str]:
    """Read the files of a table whole, and return those missing, changed or not to be read, and what to do.

    Raises
    ------
    LakeError
        If the manifest is damaged.
    """
    with Manifest(lake.root, mode="ro") as manifest:
        entries = [entry for entry in manifest.entries() if entry.table == table]
    found = examine(lake.root, entries)
    return {lake.root / path: why for path, why in (found.faults | found.unread).items()}
