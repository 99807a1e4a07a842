"""Trees kept as ttar text, the archive form of prometheus/procfs and node_exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["read_ttar", "unpack_ttar"]


def read_ttar(archive: Path) -> dict[str, str]:
    """Return the text of each file of an archive, by path."""
    return {path: text for path, text in _entries(archive) if text is not None}


def unpack_ttar(archive: Path, folder: Path) -> None:
    """Write the files and folders of an archive below a folder; links are left out."""
    for path, text in _entries(archive):
        target = folder / path
        if text is None:
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def _entries(archive: Path) -> Iterator[tuple[str, str | None]]:
    """Yield path and text of each file, and path and None of each folder."""
    lines = iter(archive.read_text().splitlines())
    path = ""
    for line in lines:
        key, _, value = line.partition(": ")
        if key == "Path":
            path = value
        elif key == "Directory":
            yield value, None
        elif key == "Lines":
            yield path, "".join(next(lines) + "\n" for _ in range(int(value)))
