"""Saved trees of ``/sys``: where they begin, and the archives of them."""

from __future__ import annotations

import hashlib
import itertools
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput

if TYPE_CHECKING:
    from typing import IO

__all__ = ["is_ttar", "names_tree", "sys_root", "tree_digest", "unpacked_tar", "unpacked_ttar"]

_CLASSES: Final = ("infiniband", "net")
_TTAR: Final = (b"# Archive created by ttar", b"# ttar - -")
_TTAR_LINES: Final = 20
"""Lines among which one must be of the archive, of a file that may have lost its beginning."""
_LARGEST_FILE: Final = 1 << 20
"""Files of ``/sys`` have a page; a larger one is not of it."""


def sys_root(folder: Path) -> Path | None:
    """Return the root of the tree that a folder is or holds as ``sys``; None if it is none."""
    roots = (folder, folder / "sys")
    return next((root for root in roots if any((root / "class" / name).is_dir() for name in _CLASSES)), None)


def names_tree(name: str) -> bool:
    """Return whether a member of an archive of this name belongs to such a tree."""
    parts = PurePosixPath(name).parts
    return any(pair[0] == "class" and pair[1] in _CLASSES for pair in itertools.pairwise(parts))


def is_ttar(head: bytes) -> bool:
    """Return whether a file that begins so is an archive of prometheus/procfs's ttar."""
    return any(line.startswith(_TTAR) for line in head.splitlines()[:_TTAR_LINES])


def tree_digest(root: Path) -> str:
    """Return the SHA-256 of the names and contents of a tree's counters, in hexadecimal digits.

    A file that cannot be read counts by its name alone: whoever reads it says so.
    """
    digest = hashlib.sha256()
    for name in _CLASSES:
        for folder, _, files in sorted(os.walk(root / "class" / name, followlinks=False)):
            for file in sorted(files):
                path = Path(folder) / file
                digest.update(f"{path.relative_to(root)}\0".encode())
                digest.update(_content(path) + b"\0")
    return digest.hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= _LARGEST_FILE else b""
    except OSError:
        return b""


@contextmanager
def unpacked_tar(stream: IO[bytes], *, name: str) -> Iterator[Path]:
    """Yield a temporary folder with the files of a tar archive; links and members outside of it are refused by tarfile.

    Raises
    ------
    BadInput
        If the archive is damaged, or a member would be written outside of the folder.
    """
    with tempfile.TemporaryDirectory(prefix="offbeat-") as folder:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                archive.extractall(folder, filter="data")
        except tarfile.TarError as error:
            raise BadInput(f"{name}: tar archive damaged or hostile ({error}); fetch it again") from error
        yield _only_folder(Path(folder))


@contextmanager
def unpacked_ttar(lines: Iterator[bytes], *, name: str) -> Iterator[Path]:
    """Yield a temporary folder with the files of a ttar archive; links are left out.

    Raises
    ------
    BadInput
        If a member would be written outside of the folder.
    """
    with tempfile.TemporaryDirectory(prefix="offbeat-") as folder:
        for path, content in _ttar_files(lines):
            if path.is_absolute() or ".." in path.parts or "\0" in str(path):
                raise BadInput(f"{name}: member {str(path)!r}: would lie outside of the archive; it is not read")
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        yield _only_folder(Path(folder))


def _only_folder(folder: Path) -> Path:
    """Return the folder, or the one that it holds and nothing else, as ``tar`` of a folder makes it."""
    while sys_root(folder) is None and len(entries := list(folder.iterdir())) == 1 and entries[0].is_dir():
        folder = entries[0]
    return folder


def _ttar_files(lines: Iterator[bytes]) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield path and content of each file of a ttar archive."""
    path = b""
    for line in lines:
        key, _, value = line.partition(b": ")
        if key == b"Path":
            path = value
        elif key == b"Lines" and value.isdigit():
            content = b"".join(next(lines, b"") + b"\n" for _ in range(int(value)))
            yield PurePosixPath(path.decode("utf-8", errors="replace")), content
