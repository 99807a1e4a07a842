"""A capture between two pages that must not be touched: whoever reads a byte beyond it is killed on the spot."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import numpy as np

from profiler.importers.captures.window import ByteWindow

__all__ = ["GuardedWindow", "guarded"]

_NO_ACCESS = 0
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_libc = ctypes.CDLL(None, use_errno=True)


class GuardedWindow(ByteWindow):
    """All bytes of a capture at once, in memory that nothing follows or precedes."""

    def slide(self) -> bool:
        """Say that there is no more."""
        return False


@contextmanager
def guarded(data: bytes, *, against: Literal["start", "end"]) -> Iterator[GuardedWindow]:
    """Give a window whose first or last byte stands next to a forbidden page."""
    n_inside = max(1, -(-len(data) // mmap.PAGESIZE)) * mmap.PAGESIZE
    memory = mmap.mmap(-1, n_inside + 2 * mmap.PAGESIZE)
    view = np.frombuffer(memory, dtype=np.uint8)
    at = mmap.PAGESIZE if against == "start" else mmap.PAGESIZE + n_inside - len(data)
    view[at : at + len(data)] = np.frombuffer(data, dtype=np.uint8)
    edges = view.ctypes.data, view.ctypes.data + mmap.PAGESIZE + n_inside
    _protect(edges, _NO_ACCESS)
    window = GuardedWindow(iter(()))
    window.data, window.stop = view[at : at + len(data)], len(data)
    try:
        yield window
    finally:
        _protect(edges, _READ_WRITE)


def _protect(pages: tuple[int, ...], access: int) -> None:
    for address in pages:
        if _libc.mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, access):
            raise OSError(ctypes.get_errno(), "mprotect failed")
