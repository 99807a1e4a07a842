"""The bytes of a capture as a window that slides over them, so that a record is never cut at a block's end."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ByteWindow", "MappedWindow"]

WINDOW_BYTES: Final = 1 << 20
MAPPED_BYTES: Final = 4 << 20
"""Bytes of a file that are looked at in one step; those before are given back, so that memory stays small."""


class ByteWindow:
    """Bytes ``data[start:stop]`` of a stream, of which ``data[0]`` is byte ``offset``.

    Parameters
    ----------
    pieces
        The stream, piece by piece. When it ends in `BadInput`, the bytes before count, and `damage` tells why.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.data: NDArray[np.uint8] = np.empty(2 * WINDOW_BYTES, dtype=np.uint8)
        self.start = 0
        self.stop = 0
        self.damage: BadInput | None = None
        self._offset = 0
        self._pieces = pieces

    @property
    def position(self) -> int:
        """Offset of ``data[start]`` in the stream."""
        return self._offset + self.start

    @property
    def n_bytes(self) -> int:
        """Bytes in the window."""
        return self.stop - self.start

    def take(self, n_bytes: int) -> bytes:
        """Return the first bytes of the window, and move past them; fewer only at the end of the stream."""
        while self.n_bytes < n_bytes and self.slide():
            pass
        taken = self.data[self.start : min(self.stop, self.start + n_bytes)].tobytes()
        self.start += len(taken)
        return taken

    def peek(self, n_bytes: int) -> bytes:
        """Return the first bytes of the window; fewer only at the end of the stream."""
        taken = self.take(n_bytes)
        self.start -= len(taken)
        return taken

    def slide(self) -> bool:
        """Let go of the bytes before ``start`` and append about `WINDOW_BYTES`; return whether there may be more.

        An empty piece is one that is not there yet: what there is can be looked at meanwhile.
        """
        kept = self.data[self.start : self.stop].copy()
        self._offset += self.start
        self.start, self.stop = 0, 0
        self._append(kept)
        try:
            for piece in self._pieces:
                self._append(np.frombuffer(piece, dtype=np.uint8))
                if not piece or self.stop >= kept.size + WINDOW_BYTES:
                    return True
        except BadInput as damage:
            self.damage = damage
        return self.stop > kept.size

    def _append(self, piece: NDArray[np.uint8]) -> None:
        stop = self.stop + piece.size
        if stop > self.data.size:
            grown = np.empty(max(stop, 2 * self.data.size), dtype=np.uint8)
            grown[: self.stop] = self.data[: self.stop]
            self.data = grown
        self.data[self.stop : stop] = piece
        self.stop = stop


class MappedWindow(ByteWindow):
    """The same of a file that is not compressed, whose pages are used where the system keeps them.

    Parameters
    ----------
    path
        A regular file that is not empty.
    advance
        Called with the number of bytes that each step has read.

    Raises
    ------
    OSError, ValueError
        If it cannot be mapped.
    """

    def __init__(self, path: Path, *, advance: Callable[[int], object] = int) -> None:
        super().__init__(iter(()))
        with path.open("rb", buffering=0) as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._map.madvise(mmap.MADV_SEQUENTIAL)
        self._advance = advance
        self._released = 0
        self.data = np.frombuffer(self._map, dtype=np.uint8)

    def slide(self) -> bool:
        """Give back the pages before ``start``, and look at `MAPPED_BYTES` more; return whether there were any.

        A file that was cut since it was mapped ends where it now ends: no page behind that may be touched.
        """
        whole = self.start - self.start % mmap.PAGESIZE
        if whole > self._released:
            self._map.madvise(mmap.MADV_DONTNEED, self._released, whole - self._released)
            self._released = whole
        size = min(self.data.size, self._map.size())
        stop = max(self.start, min(size, self.stop + MAPPED_BYTES))
        n_new, self.stop = stop - self.stop, stop
        if n_new > 0:
            self._advance(n_new)
        return n_new > 0
