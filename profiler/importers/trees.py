"""Saved trees of ``/sys``: how they are told, where they begin, what they hold."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

__all__ = ["LARGEST_FILE", "names_tree", "sys_root", "tree_digest", "tree_root"]

_CLASSES: Final = ("infiniband", "net")
LARGEST_FILE: Final = 1 << 20
"""Files of ``/sys`` have a page; a larger one is not of it."""


def sys_root(folder: Path) -> Path | None:
    """Return the root of the tree that a folder is or holds as ``sys``; None if it is none."""
    roots = (folder, folder / "sys")
    return next((root for root in roots if any((root / "class" / name).is_dir() for name in _CLASSES)), None)


def names_tree(name: str) -> bool:
    """Return whether a member of an archive of this name belongs to such a tree."""
    parts = PurePosixPath(name).parts
    return any(pair[0] == "class" and pair[1] in _CLASSES for pair in itertools.pairwise(parts))


def tree_root(folder: Path) -> Path:
    """Return the root of the tree in a folder, or in its only folder, and so on, as ``tar`` of a folder has it.

    It is the folder itself if there is no tree.
    """
    below = folder
    while (root := sys_root(below)) is None and len(entries := list(below.iterdir())) == 1 and entries[0].is_dir():
        below = entries[0]
    return root or folder


def tree_digest(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of the counters of a folder's tree, in hexadecimal digits.

    A file that cannot be read counts by its name alone: whoever reads it says so.
    """
    digest, root = hashlib.sha256(), tree_root(folder)
    for path in _files(root):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(_content(path) + b"\0")
    return digest.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    """Yield the files of each device, which is often a link; links further in lead in circles and are not followed."""
    for name in _CLASSES:
        _, devices, _ = next(os.walk(root / "class" / name), ("", [], []))
        for device in sorted(devices):
            for folder, _, files in sorted(os.walk(root / "class" / name / device)):
                yield from (Path(folder) / file for file in sorted(files))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= LARGEST_FILE else b""
    except OSError:
        return b""
