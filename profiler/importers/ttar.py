"""Archives of prometheus/procfs's ttar, which keeps a tree of ``/sys`` as text.

Each file is ``Path: NAME``, ``Lines: N``, the lines and ``Mode: 644``; ``EOF`` at the end of the last line says that it
has no end of line.

References
----------
.. [1] R. Luethi, ttar, https://github.com/ideaship/ttar
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from profiler.errors import BadInput
from profiler.importers.inputs import Unread
from profiler.importers.spools import is_full, no_room, temporary_folder
from profiler.importers.trees import LARGEST_FILE

__all__ = ["is_ttar", "unpacked_ttar"]

_BEGINNINGS: Final = (b"# Archive created by ttar", b"# ttar - -")
_FIRST_LINES: Final = 20
"""Lines among which one must be of the archive, of a file that may have lost its beginning."""
_MOST_DIGITS: Final = 18
"""No file has more lines than a number of so many digits says, and Python refuses those of thousands."""
_NO_END: Final = b"EOF\n"


class _Member(NamedTuple):
    """A file of an archive: its content, or None and why there is none."""

    path: PurePosixPath
    content: bytes | None
    why: str = ""


def is_ttar(head: bytes) -> bool:
    """Return whether a file that begins so is an archive of ttar."""
    return any(line.startswith(_BEGINNINGS) for line in head.splitlines()[:_FIRST_LINES])


@contextmanager
def unpacked_ttar(lines: Iterator[bytes], *, name: str, unread: list[Unread]) -> Iterator[Path]:
    """Yield a temporary folder with the files of an archive.

    Parameters
    ----------
    lines
        Of the archive, without their ends.
    name
        What messages call it.
    unread
        Takes, before the folder is yielded, what could not be unpacked, and that links were left out.

    Raises
    ------
    BadInput
        If a member would be written outside of the folder, or there is no room for it.
    """
    with temporary_folder(name=name) as folder:
        for member in _members(lines, unread=unread):
            if member.path.is_absolute() or ".." in member.path.parts or "\0" in str(member.path):
                raise BadInput(f"{name}: member {str(member.path)!r}: would lie outside of the archive; it is not read")
            why = member.why if member.content is None else _write(folder / member.path, member.content, name=name)
            if why:
                unread.append(Unread(name=f"{name}!{member.path}", why=f"{why}; save it again", is_fault=True))
        yield folder


def _write(path: Path, content: bytes, *, name: str) -> str:
    """Write a file, and return why that is not possible, or nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        if is_full(error):
            raise no_room(name, error) from error
        return f"cannot be unpacked: {error.strerror or error}"
    return ""


def _members(lines: Iterator[bytes], *, unread: list[Unread]) -> Iterator[_Member]:
    """Yield each file of an archive, once the line after it shows that it is whole."""
    path, n_links = PurePosixPath(), 0
    for line in lines:
        key, _, value = line.partition(b": ")
        if key == b"Path":
            path = PurePosixPath(value.decode("utf-8", errors="replace"))
        elif key == b"SymlinkTo":
            n_links += 1
        elif key == b"Lines" and value.isdigit():
            content = _content(lines, int(value[:_MOST_DIGITS]))
            if content is None or next(lines, None) is None:
                yield _Member(
                    path, None, f"the archive is cut, or damaged: it has not the {_shown(value)} lines it tells"
                )
                break
            yield _Member(path, content)
    if n_links:
        unread.append(Unread(name=f"links ({n_links})", why="of an archive of ttar are not followed; use tar"))


def _shown(digits: bytes) -> str:
    return digits.decode() if len(digits) <= _MOST_DIGITS else f"{digits[:_MOST_DIGITS].decode()}..."


def _content(lines: Iterator[bytes], n_lines: int) -> bytes | None:
    """Return so many lines; None if there are fewer, or more than a file of ``/sys`` holds."""
    content = bytearray()
    for _ in range(n_lines):
        line = next(lines, None)
        if line is None or len(content) > LARGEST_FILE:
            return None
        content += line + b"\n"
    return bytes(content).removesuffix(_NO_END)
