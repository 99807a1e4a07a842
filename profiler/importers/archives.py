"""Archives: their members, each as an input of its own, or the tree of ``/sys`` that they are of."""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput
from profiler.importers.contents import head_of, inflated, kind_of
from profiler.importers.inputs import Input, Unread
from profiler.importers.spools import pieces_of, spooled
from profiler.importers.trees import names_tree
from profiler.importers.treetars import unpacked_tar

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["is_archive", "members_of"]

_BUFFER_BYTES: Final = 1 << 20
_PEEKED_MEMBERS: Final = 64
"""Members of an archive by which a tree of ``/sys`` is told; its folders come first."""


def is_archive(path: Path) -> bool:
    """Return whether a file is a tar archive, compressed or not."""
    try:
        return kind_of(head_of(path)) == "tar archive"
    except BadInput:  # whoever reads it will say what is wrong with it
        return False


def members_of(
    path: Path, *, name: str, advance: Callable[[int], object], modified_s: float | None = None
) -> Iterator[Input | Unread]:
    """Yield the members of an archive, each in a temporary file that lives until the next step; see `inputs_of`.

    Raises
    ------
    BadInput
        After the sound members, if the archive is damaged.
    """
    if _is_tree(path, name=name):
        unread: list[Unread] = []
        with unpacked_tar(_unpacking(path, name=name, advance=advance), name=name, unread=unread) as folder:
            yield from unread
            yield Input(name=name, path=folder, modified_s=modified_s)
        return
    try:
        with tarfile.open(fileobj=_unpacking(path, name=name, advance=advance), mode="r|") as archive:
            for member in archive:
                yield from _inputs_of_member(member, archive, name=f"{name}!{member.name}")
    except tarfile.TarError as error:
        raise BadInput(f"{name}: tar archive damaged ({error}); members before were read; fetch it again") from error


def _inputs_of_member(member: tarfile.TarInfo, archive: tarfile.TarFile, *, name: str) -> Iterator[Input | Unread]:
    if member.isdir():
        return
    if Path(member.name).name.startswith("."):
        yield Unread(name=name, why="hidden; unpack it and name it to have it read")
        return
    content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
    if content is None:
        yield Unread(name=name, why="no plain file but a link, device or file with holes; unpack the archive")
        return
    with spooled(pieces_of(content), name=name) as spool:
        yield Input(name=name, path=spool, asked=False, modified_s=float(member.mtime))


def _is_tree(path: Path, *, name: str) -> bool:
    """Return whether an archive is of a tree of ``/sys``, by the names of its first members."""
    try:
        with tarfile.open(fileobj=_unpacking(path, name=name), mode="r|") as archive:
            return any(names_tree(member.name) for member in itertools.islice(archive, _PEEKED_MEMBERS))
    except (tarfile.TarError, BadInput):  # whoever reads it will say what is wrong with it
        return False


def _unpacking(path: Path, *, name: str, advance: Callable[[int], object] = int) -> io.BufferedReader:
    return io.BufferedReader(_PieceReader(inflated(path, name=name, advance=advance)), _BUFFER_BYTES)


class _PieceReader(io.RawIOBase):
    """A readable stream over pieces of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        target = memoryview(buffer)
        size = min(len(target), len(self._rest))
        target[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
