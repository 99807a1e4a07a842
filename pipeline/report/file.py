"""Writes a page to disk, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Literal

from profiler.errors import UsageError

__all__ = ["write_page"]


def write_page(page: str, path: Path, *, existing: Literal["keep", "replace"] = "keep") -> None:
    """Write a page; a reader sees the old file or the new one, never a part.

    Raises
    ------
    UsageError
        If the file exists and is to be kept, or its folder does not exist.
    """
    if existing == "keep" and path.exists():
        raise UsageError(f"{path}: exists; give --force to overwrite it, or another name")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; make it first")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(page)
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
