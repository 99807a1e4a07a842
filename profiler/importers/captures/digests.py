"""`capture_digest`: what tells the content of a capture, at the speed at which its packets are read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.errors import BadInput
from profiler.importers.captures import layout
from profiler.importers.captures.machine_code import load_kernel
from profiler.importers.captures.window import MappedWindow
from profiler.store import file_digest

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["capture_digest"]

_SMALL_BYTES: Final = 64 << 20
"""Files up to this size have the digest of all others, SHA-256: it takes 40 ms."""
_SEEDS: Final = (0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0, 0x61C8864E7A143579)
"""Accumulators of XXH64 before the first stripe, seed 0."""


def capture_digest(path: Path) -> str:
    """Return a digest of all bytes of a file: of a large one, SHA-256 of the accumulators of XXH64, its size and rest.

    It tells files apart that differ by accident, which is what a lake needs of it; not those that somebody made equal.

    Raises
    ------
    BadInput
        If the file is missing or cannot be read.
    """
    try:
        size = path.stat().st_size
        if size <= _SMALL_BYTES:
            return file_digest(path)
        return _large_digest(MappedWindow(path), size)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; check the path and its permissions") from error


def _large_digest(window: MappedWindow, size: int) -> str:
    enter = load_kernel()
    state = np.zeros(layout.N_STATE, dtype=np.int64)
    state[layout.LANES : layout.LANES + len(_SEEDS)] = np.array(_SEEDS, dtype=np.uint64).astype(np.int64)
    state[layout.FORMAT] = layout.DIGEST
    while window.slide():
        window.start = enter(window.data.ctypes.data, state.ctypes.data, window.start, window.stop)
    lanes = state[layout.LANES : layout.LANES + len(_SEEDS)].tobytes()
    return hashlib.sha256(lanes + size.to_bytes(8, "little") + window.take(layout.STRIPE_BYTES)).hexdigest()
