"""`inputs_of`: what a path stands for, be it a file, a folder, an archive, a pipe or standard input."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from profiler.errors import BadInput
from profiler.importers.archives import is_archive, members_of
from profiler.importers.inputs import STDIN, Input, Unread
from profiler.importers.piped import whole_pipe
from profiler.importers.spools import spooled
from profiler.importers.trees import sys_root
from profiler.store.database import MANIFEST_NAME

__all__ = ["inputs_of", "total_bytes"]


def inputs_of(path: str | Path, *, advance: Callable[[int], object] = int) -> Iterator[Input | Unread]:
    """Yield what a path stands for: itself, the files of a folder, the members of an archive, or standard input.

    Standard input, pipes and members of archives are copied to temporary files, which live until the next step.

    Raises
    ------
    BadInput
        If there is no such file, or an archive is damaged (after its sound members).
    """
    root = Path(path)
    if str(path) == STDIN:
        if sys.stdin is None:
            raise BadInput(f"{STDIN}: standard input is closed; pipe something into it")
        yield from _inputs_of_stream(sys.stdin.buffer, name=STDIN, advance=advance)
        return
    found = _status(root)
    if stat.S_ISFIFO(found.st_mode):
        with root.open("rb") as stream:
            yield from _inputs_of_stream(stream, name=str(path), advance=advance)
    elif stat.S_ISDIR(found.st_mode):
        yield from _inputs_of_folder(root, advance=advance)
    elif stat.S_ISREG(found.st_mode):
        source = Input(name=str(path), path=root, advance=advance, modified_s=found.st_mtime)
        yield from _inputs_of_file(source)
    else:
        raise BadInput(f"{path}: neither a file nor a folder; check the path")


def total_bytes(paths: Iterable[str | Path]) -> int | None:
    """Return the bytes of all files of some paths, for a progress bar; None where standard input is among them."""
    if any(str(path) == STDIN for path in paths):
        return None
    below = (Path(folder) / name for path in paths for folder, _, names in os.walk(path) for name in names)
    return sum(map(_size, (*map(Path, paths), *below)))


def _size(file: Path) -> int:
    """Return the bytes of a file; none of anything else, or if it cannot be seen."""
    try:
        found = file.stat()
    except (OSError, ValueError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _status(path: Path) -> os.stat_result:
    """Return what is known of a file, links followed."""
    try:
        return path.stat()
    except FileNotFoundError:
        what = "a link to nothing" if path.is_symlink() else "no such file or folder"
        raise BadInput(f"{path}: {what}; check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{path}: {reason}; check the path and its permissions") from error


def _inputs_of_folder(root: Path, *, advance: Callable[[int], object]) -> Iterator[Input | Unread]:
    try:
        is_lake, is_tree = (root / MANIFEST_NAME).is_file(), sys_root(root) is not None
        entries = [] if is_lake or is_tree else sorted(root.iterdir())
        modified_s = root.stat().st_mtime if is_tree else None
    except OSError as error:
        why = f"{error.strerror or error}; its files were not read; check its permissions"
        yield Unread(name=str(root), why=why, is_fault=True)
        return
    if is_lake or is_tree:
        yield Input(name=str(root), path=root, advance=advance, modified_s=modified_s)
    for entry in entries:
        yield from _inputs_of_entry(entry, advance=advance)


def _inputs_of_entry(entry: Path, *, advance: Callable[[int], object]) -> Iterator[Input | Unread]:
    """Yield what an entry of a folder stands for."""
    name = str(entry)
    if entry.name.startswith("."):
        yield Unread(name=name, why="hidden; name it to have it read")
        return
    try:
        found = _status(entry)
    except BadInput as error:
        yield Unread(name=name, why=str(error).removeprefix(f"{name}: "), is_fault=True)
        return
    if stat.S_ISREG(found.st_mode):
        source = Input(name=name, path=entry, asked=False, advance=advance, modified_s=found.st_mtime)
        yield from _inputs_of_file(source)
    elif not stat.S_ISDIR(found.st_mode):
        yield Unread(name=name, why="neither a file nor a folder; a pipe is read if it is named")
    elif entry.is_symlink():
        yield Unread(name=name, why="a link to a folder; name it to have it read")
    else:
        yield from _inputs_of_folder(entry, advance=advance)


def _inputs_of_stream(stream: IO[bytes], *, name: str, advance: Callable[[int], object]) -> Iterator[Input | Unread]:
    with spooled(whole_pipe(stream), name=name) as spool:
        if is_archive(spool):
            yield from members_of(spool, name=name, advance=advance)
        else:
            yield Input(name=name, path=spool, advance=advance)


def _inputs_of_file(source: Input) -> Iterator[Input | Unread]:
    if is_archive(source.path):
        yield from members_of(source.path, name=source.name, advance=source.advance, modified_s=source.modified_s)
    else:
        yield source
