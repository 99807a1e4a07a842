"""`repetitions`: blocks of symbols that a sequence repeats, the shortest first.

Collectives come in the same order in every iteration, so that an iteration is a period of the sequence of their keys:
exact, whatever their times do. What a program does rarely (a checkpoint, a validation) breaks the sequence; it goes on
in step afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

__all__ = ["NOWHERE", "Repetition", "match_counts", "repetitions"]

NOWHERE: Final = -1
"""Place of a symbol that belongs to no repetition."""
MAX_SYMBOLS: Final = 1 << 17
"""A block is looked for in so many symbols: five iterations of 26,000 collectives, more than any program known."""
MAX_COUNTED_KEYS: Final = 64
"""Matches are counted for the most frequent keys; each costs two Fourier transforms."""
MIN_MATCH_FRAC: Final = 0.4
"""Lags at which fewer symbols match are not tried: one break in two blocks leaves about half of the matches."""
NEAR_BEST_FRAC: Final = 0.9
"""Nor those at which clearly fewer match than at a shorter one: a block that explains less by saying more."""
MIN_COVERED_FRAC: Final = 0.8
"""A block that explains fewer of the symbols is not the program's loop."""
MAX_BLOCKS: Final = 64
"""So many of the shortest blocks are tried; real programs have two or three, one for each of their loops."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repetition:
    """A block that a sequence repeats.

    Parameters
    ----------
    length
        Symbols in the block.
    n_keys
        Different symbols in the block.
    place
        Place of each symbol in the block, 0 to ``length - 1``, or `NOWHERE`; shape (n_symbols,).
    run
        Number of the unbroken run of repetitions that each symbol belongs to, or `NOWHERE`; shape (n_symbols,).
    """

    length: int
    n_keys: int
    place: NDArray[np.int64]
    run: NDArray[np.int64]

    @property
    def covered_frac(self) -> float:
        """Part of the symbols that the block explains."""
        return float(np.mean(self.place != NOWHERE))

    @property
    def is_exact(self) -> bool:
        """Whether the whole sequence is one run."""
        return bool((self.run == 0).all())

    def follows(self) -> NDArray[np.bool_]:
        """Return which symbols are followed, a block later, by the same of the next; shape (n_symbols - length,)."""
        before, after = self.run[: -self.length], self.run[self.length :]
        follows: NDArray[np.bool_] = (before == after) & (before != NOWHERE)
        return follows


def repetitions(symbols: NDArray[np.int64]) -> Iterator[Repetition]:
    """Yield the blocks that a sequence repeats, the shortest first.

    Parameters
    ----------
    symbols
        Small non-negative integers, shape (n_symbols,).

    Notes
    -----
    Candidates are the lags at which more of the sequence matches itself than at the lags around. A run is a stretch
    that matches itself for at least one block, so that it holds two; runs of one block, at whatever turn, belong
    together. Cost is that of `match_counts`.

    Examples
    --------
    >>> [(found.length, found.is_exact) for found in repetitions(np.array([1, 2, 3, 1, 2, 3, 1, 2]))]
    [(3, True)]
    """
    for length in _likely_lengths(symbols[:MAX_SYMBOLS]):
        found = _repetition(symbols, length)
        if found is not None and found.covered_frac >= MIN_COVERED_FRAC:
            yield found


def match_counts(symbols: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for every lag how many symbols are the same that much later; shape (n_symbols,).

    Notes
    -----
    The sum over keys of the autocorrelation of where the key stands, each by two Fourier transforms. Keys beyond the
    `MAX_COUNTED_KEYS` most frequent count as never matching.
    """
    n_fast = next_fast_len(2 * symbols.size, real=True)
    power = np.zeros(n_fast // 2 + 1)
    for key in np.argsort(-np.bincount(symbols), kind="stable")[:MAX_COUNTED_KEYS]:
        power += np.abs(rfft((symbols == key).astype(np.float64), n_fast)) ** 2
    counts: NDArray[np.int64] = np.rint(irfft(power, n_fast)[: symbols.size]).astype(np.int64)
    return counts


def _likely_lengths(symbols: NDArray[np.int64]) -> list[int]:
    """Return the lags up to half the sequence at which it matches itself best, the shortest first."""
    n_lags = symbols.size // 2
    if n_lags < 1:
        return []
    matching_frac = match_counts(symbols)[: n_lags + 1] / (symbols.size - np.arange(n_lags + 1))
    counted_frac = np.sort(np.bincount(symbols))[-MAX_COUNTED_KEYS:].sum() / symbols.size
    padded = np.concatenate((matching_frac, [0.0]))
    padded[0] = 0.0
    is_peak = (padded[1:-1] > padded[:-2]) & (padded[1:-1] >= padded[2:])
    peaks = np.flatnonzero(is_peak) + 1
    least = np.maximum(NEAR_BEST_FRAC * np.maximum.accumulate(padded[peaks]), MIN_MATCH_FRAC * counted_frac)
    lengths: list[int] = []
    for length in peaks[padded[peaks] >= least].tolist():
        is_multiple = any(length % other == 0 and padded[other] >= padded[length] for other in lengths)
        if not is_multiple and len(lengths) < MAX_BLOCKS:
            lengths.append(length)
    return lengths


def _repetition(symbols: NDArray[np.int64], length: int) -> Repetition | None:
    runs = _runs(symbols, length)
    if not runs:
        return None
    longest = max(runs, key=lambda bounds: bounds[1] - bounds[0])
    block = symbols[longest[0] : longest[0] + length]
    place = np.full(symbols.size, NOWHERE)
    run = np.full(symbols.size, NOWHERE)
    free_from = i_run = 0
    for start, stop in runs:
        turn = _turn(block, symbols[start : start + length])
        if turn is None:
            continue
        first = max(start, free_from)
        place[first:stop] = (turn + np.arange(first - start, stop - start)) % length
        run[first:stop] = i_run
        free_from, i_run = stop, i_run + 1
    return Repetition(length=length, n_keys=np.unique(block).size, place=place, run=run)


def _runs(symbols: NDArray[np.int64], length: int) -> list[tuple[int, int]]:
    """Return [start, stop) of every stretch that repeats itself after ``length`` symbols for a block or more."""
    same = np.concatenate(([False], symbols[length:] == symbols[:-length], [False]))
    turns = np.flatnonzero(same[1:] != same[:-1])
    return [(int(a), int(b) + length) for a, b in zip(turns[::2], turns[1::2], strict=True) if b - a >= length]


def _turn(block: NDArray[np.int64], turned: NDArray[np.int64]) -> int | None:
    """Return the place in a block at which another begins that is the same but turned; None if it is another block."""
    twice, wanted = np.tile(block, 2).tobytes(), turned.tobytes()
    at = twice.find(wanted)
    while at >= 0 and at % block.itemsize:
        at = twice.find(wanted, at + 1)
    return at // block.itemsize if at >= 0 else None
