"""Files that commands write: whole or not at all, and never over another unless that is asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from profiler.errors import UsageError

__all__ = ["Existing", "check_target", "new_file", "write_text"]

Existing = Literal["keep", "replace"]
"""What to do with a file that is already there."""


def check_target(path: Path, *, existing: Existing) -> None:
    """Check that a file may be written, before the work that leads to it.

    Raises
    ------
    UsageError
        If it exists and is to be kept, is a folder, or its folder does not exist.
    """
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file in it")
    if existing == "keep" and path.exists():
        raise UsageError(f"{path}: exists; give --force to overwrite it, or another name")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; make it first")


@contextmanager
def new_file(path: Path, *, existing: Existing = "keep") -> Iterator[BinaryIO]:
    """Yield a file to be written; at the end of the block it takes its name, and after an error it is gone.

    Raises
    ------
    UsageError
        As `check_target`.
    """
    check_target(path, existing=existing)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        draft.chmod(_mode_of_new_files())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(text: str, path: Path, *, existing: Existing = "keep") -> None:
    """Write a file; a reader sees the old one or the new one, never a part.

    Raises
    ------
    UsageError
        As `check_target`.
    """
    with new_file(path, existing=existing) as file:
        file.write(text.encode("utf-8"))


def _mode_of_new_files() -> int:
    """Return the mode that the process gives to new files; temporary ones are for their owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
