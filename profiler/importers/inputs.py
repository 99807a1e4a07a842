"""What to read: files, folders, archives and standard input, each turned into plain files on disk."""

from __future__ import annotations

import io
import itertools
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from profiler.errors import BadInput
from profiler.importers.contents import HEAD_BYTES, head_of, inflated, kind_of
from profiler.importers.trees import names_tree, sys_root, unpacked_tar
from profiler.store.database import MANIFEST_NAME

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["STDIN", "Input", "inputs_of", "total_bytes"]

STDIN: Final = "-"
_COPY_BYTES: Final = 1 << 20
_PEEKED_MEMBERS: Final = 64
"""Members of an archive by which a tree of ``/sys`` is told; its folders come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One thing to read.

    Parameters
    ----------
    name
        As people know it: a path, ``-``, or ``archive!member``.
    path
        A file that holds its bytes, or the folder of a lake or of a saved tree of ``/sys``.
    asked
        Whether it was named by the caller; what was found in a folder or an archive may be passed over.
    advance
        Called with the number of bytes of ``path`` that each step has read.
    host
        Host of counters that name none; empty: `stem`.
    modified_s
        When it was modified, in s since the epoch; None where that is not known, as of standard input.
    """

    name: str
    path: Path
    asked: bool = True
    advance: Callable[[int], object] = int
    host: str = ""
    modified_s: float | None = None

    @property
    def is_lake(self) -> bool:
        """Whether it is the folder of a lake."""
        return (self.path / MANIFEST_NAME).is_file()

    @property
    def is_tree(self) -> bool:
        """Whether it is the folder of a saved tree of ``/sys``."""
        return self.path.is_dir() and not self.is_lake

    @property
    def stem(self) -> str:
        """Its name without folders and extensions, as in ``free`` for ``rig/free.csv.gz``."""
        return "stdin" if self.name == STDIN else Path(self.name.rpartition("!")[2]).name.split(".")[0]

    @property
    def default_host(self) -> str:
        """Host of counters that name none, if the caller does not tell it."""
        return self.host or self.stem

    def pieces(self) -> Iterator[bytes]:
        """Yield its bytes, decompressed; see `profiler.importers.contents.inflated`."""
        return inflated(self.path, name=self.name, advance=self.advance)

    def head(self, n_bytes: int = HEAD_BYTES) -> bytes:
        """Return its first bytes, decompressed; see `profiler.importers.contents.head_of`."""
        return head_of(self.path, n_bytes, name=self.name)


def inputs_of(path: str | Path, *, advance: Callable[[int], object] = int) -> Iterator[Input]:
    """Yield what a path stands for: itself, the files of a folder, the members of an archive, or standard input.

    Standard input, pipes and members of archives are copied to temporary files, which live until the next step.

    Raises
    ------
    BadInput
        If there is no such file, or an archive is damaged (after its sound members).
    """
    root = Path(path)
    if str(path) == STDIN:
        yield from _inputs_of_stream(sys.stdin.buffer, name=STDIN, advance=advance)
    elif root.is_fifo():
        with root.open("rb") as stream:
            yield from _inputs_of_stream(stream, name=str(path), advance=advance)
    elif root.is_dir():
        yield from _inputs_of_folder(root, advance=advance)
    elif root.is_file():
        yield from _inputs_of_file(root, name=str(path), advance=advance, asked=True)
    else:
        what = "neither a file nor a folder" if root.exists() else "no such file or folder"
        raise BadInput(f"{path}: {what}; check the path")


def total_bytes(paths: Iterable[str | Path]) -> int | None:
    """Return the bytes of all files of some paths, for a progress bar; None where standard input is among them."""
    if any(str(path) == STDIN for path in paths):
        return None
    files = (file for path in map(Path, paths) for file in (path.rglob("*") if path.is_dir() else (path,)))
    return sum(file.stat().st_size for file in files if file.is_file())


def _inputs_of_folder(root: Path, *, advance: Callable[[int], object]) -> Iterator[Input]:
    if (root / MANIFEST_NAME).is_file():
        yield Input(name=str(root), path=root, advance=advance)
        return
    if sys_root(root) is not None:
        yield Input(name=str(root), path=root, advance=advance, modified_s=root.stat().st_mtime)
        return
    for entry in sorted(root.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            if not entry.is_symlink():
                yield from _inputs_of_folder(entry, advance=advance)
        elif entry.is_file():
            yield from _inputs_of_file(entry, name=str(entry), advance=advance, asked=False)


def _inputs_of_stream(stream: IO[bytes], *, name: str, advance: Callable[[int], object]) -> Iterator[Input]:
    with _spooled(stream) as spool:
        if _is_archive(spool):
            yield from _members(spool, name=name, advance=advance)
        else:
            yield Input(name=name, path=spool, advance=advance)


def _inputs_of_file(path: Path, *, name: str, advance: Callable[[int], object], asked: bool) -> Iterator[Input]:
    if _is_archive(path):
        yield from _members(path, name=name, advance=advance, modified_s=path.stat().st_mtime)
    else:
        yield Input(name=name, path=path, asked=asked, advance=advance, modified_s=path.stat().st_mtime)


def _is_archive(path: Path) -> bool:
    try:
        return kind_of(head_of(path)) == "tar archive"
    except BadInput:  # whoever reads it will say what is wrong with it
        return False


def _members(
    path: Path, *, name: str, advance: Callable[[int], object], modified_s: float | None = None
) -> Iterator[Input]:
    if _is_tree(path, name=name):
        with unpacked_tar(_unpacking(path, name=name, advance=advance), name=name) as folder:
            yield Input(name=name, path=folder, modified_s=modified_s)
        return
    stream = _unpacking(path, name=name, advance=advance)
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if not member.isfile() or Path(member.name).name.startswith("."):
                    continue
                content = archive.extractfile(member)
                if content is not None:
                    with _spooled(content) as spool:
                        yield Input(
                            name=f"{name}!{member.name}", path=spool, asked=False, modified_s=float(member.mtime)
                        )
    except tarfile.TarError as error:
        raise BadInput(f"{name}: tar archive damaged ({error}); members before were read; fetch it again") from error


def _is_tree(path: Path, *, name: str) -> bool:
    """Return whether an archive is of a tree of ``/sys``, by the names of its first members."""
    try:
        with tarfile.open(fileobj=_unpacking(path, name=name), mode="r|") as archive:
            return any(names_tree(member.name) for member in itertools.islice(archive, _PEEKED_MEMBERS))
    except (tarfile.TarError, BadInput):  # whoever reads it will say what is wrong with it
        return False


def _unpacking(path: Path, *, name: str, advance: Callable[[int], object] = int) -> io.BufferedReader:
    return io.BufferedReader(_PieceReader(inflated(path, name=name, advance=advance)), _COPY_BYTES)


@contextmanager
def _spooled(stream: IO[bytes]) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(prefix="offbeat-") as spool:
        shutil.copyfileobj(stream, spool, _COPY_BYTES)
        spool.flush()
        yield Path(spool.name)


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
