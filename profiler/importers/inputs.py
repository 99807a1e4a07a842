"""`Input`: one thing to read, as a plain file on disk; `Unread`: one that is not read, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from profiler.importers.contents import HEAD_BYTES, head_of, inflated, is_packed
from profiler.importers.spools import spooled
from profiler.store.database import MANIFEST_NAME

__all__ = ["STDIN", "Input", "Unread"]

STDIN: Final = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Something on the way that is not read.

    Parameters
    ----------
    name
        As of an `Input`.
    why
        Reason and remedy.
    is_fault
        Whether it should have been read: something that its owner would miss.
    """

    name: str
    why: str
    is_fault: bool = False


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

    @property
    def dated_s(self) -> float:
        """When it was modified, in s since the epoch; of a stream when it arrived, for its copy was written then."""
        return self.path.stat().st_mtime if self.modified_s is None else self.modified_s

    def pieces(self) -> Iterator[bytes]:
        """Yield its bytes, decompressed; see `profiler.importers.contents.inflated`."""
        return inflated(self.path, name=self.name, advance=self.advance)

    def head(self, n_bytes: int = HEAD_BYTES) -> bytes:
        """Return its first bytes, decompressed; see `profiler.importers.contents.head_of`."""
        return head_of(self.path, n_bytes, name=self.name)

    @contextmanager
    def plain(self) -> Iterator[Path]:
        """Yield a file of its bytes, decompressed, for what cannot be read from a stream: itself, or a temporary copy.

        Raises
        ------
        BadInput
            If it is damaged, unpacks to more than any dump does, or there is no room for the copy.
        """
        if is_packed(self.path, name=self.name):
            with spooled(self.pieces(), name=self.name) as copy:
                yield copy
        else:
            yield self.path
