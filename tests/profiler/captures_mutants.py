"""Captures that no tool wrote: the traps with bytes changed, cut, doubled, and lengths that a parser trips over."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tests.profiler.captures_traps import TRAPS

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CORPUS", "mutant"]

LARGEST_BYTES: Final = 20_000
"""Of the traps that are mutated: long ones take time and teach no more."""
MOST_EDITS: Final = 6
CORPUS: Final = [
    trap.data for trap in TRAPS.values() if len(trap.data) <= LARGEST_BYTES and not trap.name.endswith((".gz", ".zst"))
]
TRICKY: Final = (0, 1, 2, 3, 4, 7, 8, 11, 12, 15, 16, 20, 24, 28, 31, 32, 40, 41, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000)
TRICKY_LONG: Final = (*TRICKY, 0xFFFF, 262_143, 262_144, 262_145, 1 << 26, (1 << 26) + 4, 2**31 - 1, 2**31, 2**32 - 4)
"""Numbers at the edges of fields and of what readers allow."""


def mutant(rng: np.random.Generator) -> bytes:
    """Return a capture that was changed in a few places."""
    data = bytearray(_drawn(rng))
    for _ in range(rng.integers(1, MOST_EDITS + 1)):
        EDITS[rng.integers(len(EDITS))](rng, data)
    return bytes(data)


def _drawn(rng: np.random.Generator) -> bytes:
    return CORPUS[rng.integers(len(CORPUS))]


def _place(rng: np.random.Generator, data: bytearray) -> int:
    """Return a place in a capture; half of all places are in its first 200 bytes, where its headers are."""
    n_bytes = len(data) if rng.random() < 0.5 else min(len(data), 200)
    return int(rng.integers(n_bytes)) if n_bytes else 0


def _flip(rng: np.random.Generator, data: bytearray) -> None:
    at = _place(rng, data)
    data[at : at + 1] = rng.bytes(1)


def _number(rng: np.random.Generator, data: bytearray) -> None:
    n_bytes = (1, 2, 4)[rng.integers(3)]
    tricky = TRICKY_LONG[rng.integers(len(TRICKY_LONG))] & (1 << 8 * n_bytes) - 1
    at = _place(rng, data) // n_bytes * n_bytes if rng.random() < 0.7 else _place(rng, data)
    data[at : at + n_bytes] = tricky.to_bytes(n_bytes, "little" if rng.random() < 0.5 else "big")


def _nudge(rng: np.random.Generator, data: bytearray) -> None:
    """Make a byte one more or one less: lengths that are nearly right."""
    if data:
        at = _place(rng, data)
        data[at] = (data[at] + (1, -1)[rng.integers(2)]) % 256


def _cut(rng: np.random.Generator, data: bytearray) -> None:
    at = _place(rng, data)
    del data[at : at + int(rng.integers(1, 64))]


def _end(rng: np.random.Generator, data: bytearray) -> None:
    del data[int(rng.integers(len(data) + 1)) :]


def _insert(rng: np.random.Generator, data: bytearray) -> None:
    at = _place(rng, data)
    data[at:at] = rng.bytes(int(rng.integers(1, 64)))


def _double(rng: np.random.Generator, data: bytearray) -> None:
    start = _place(rng, data)
    at = _place(rng, data)
    data[at:at] = data[start : start + int(rng.integers(1, 400))]


def _splice(rng: np.random.Generator, data: bytearray) -> None:
    """Go on with the rest of another capture."""
    other = _drawn(rng)
    del data[_place(rng, data) :]
    data += other[int(rng.integers(len(other) + 1)) :] if rng.random() < 0.5 else other


Edit = Callable[["np.random.Generator", bytearray], None]
EDITS: Final[tuple[Edit, ...]] = (
    _flip,
    _flip,
    _number,
    _number,
    _number,
    _nudge,
    _nudge,
    _cut,
    _end,
    _insert,
    _double,
    _splice,
)
