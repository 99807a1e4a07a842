"""`find_iterations`: which collectives are those of one iteration, and how long an iteration takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.events.loops import read_loop
from profiler.events.repetition import NOWHERE, Repetition, repetitions
from profiler.period.length import robust_spread
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.events.loops import Loop

__all__ = ["Iterations", "Unclear", "find_iterations"]

MIN_OUTSIDE_FRAC: Final = 0.001
"""A gradient's sync after some micro-batches moves more than this part of the bytes, a log's or a check's far less."""
MEDIAN_ERROR: Final = 1.2533
"""Standard error of a median over that of a mean, sqrt(pi / 2), of normal values."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iterations:
    """The iterations of a program.

    Parameters
    ----------
    block
        The collectives of an iteration in the sequence of all.
    first
        Place in the block of an iteration's first collective: the one after the longest pause.
    again_s
        Time from each collective to the same one of the next iteration; shape (n_pairs,).
    starts_s
        Starts of iterations, seconds after the first event; shape (n_starts,).
    n_blocks
        Equal blocks in an iteration, told apart by the pauses between them; 1 where the order of collectives tells.
    """

    block: Repetition
    first: int
    again_s: NDArray[np.float64]
    starts_s: NDArray[np.float64]
    n_blocks: int = 1

    @property
    def period_s(self) -> float:
        """Median time between starts of the same collective."""
        return float(np.median(self.again_s))

    @property
    def spread_s(self) -> float:
        """Robust standard deviation of the time between starts of the same collective."""
        return robust_spread(self.again_s)

    @property
    def n_cycles(self) -> float:
        """Iterations seen."""
        return float(np.count_nonzero(self.block.place != NOWHERE)) / self.block.length

    @property
    def error_s(self) -> float:
        """Standard error of the period; the collectives of one iteration are late together, so it counts once."""
        return MEDIAN_ERROR * self.spread_s / math.sqrt(max(1.0, self.n_cycles - 1))

    @property
    def one_collective(self) -> bool:
        """Whether an iteration is a single collective, as far as can be told."""
        return self.block.length == 1

    def whole_blocks(self) -> NDArray[np.int64]:
        """Return the events of every whole block, from its place 0 on; shape (n_blocks, length)."""
        run, length = self.block.run, self.block.length
        starts = np.flatnonzero(self.block.place == 0)
        starts = starts[starts + length <= run.size]
        whole = run[starts + length - 1] == run[starts]
        return starts[whole, None] + np.arange(length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """Why iterations cannot be told: ``may_be_layers`` if one block repeats that may be a layer; else no order does."""

    may_be_layers: bool


def find_iterations(events: CollectiveEvents) -> Iterations | Unclear:
    """Return the iterations of a program, or why they cannot be told.

    Parameters
    ----------
    events
        At least two collectives of one rank and process group.

    Notes
    -----
    The shortest block of keys that explains the sequence is the iteration, if the times agree (see
    `profiler.events.loops`). A collective that comes once in ten iterations, as for a log, makes no longer iteration
    unless it moves bytes that matter, and one that ends a row of equal ones always does: a block of one key needs all
    of the sequence.
    """
    symbols = np.unique(events.key, return_inverse=True)[1].ravel().astype(np.int64)
    may_be_layers = False
    shorter: Iterations | None = None
    for block in repetitions(symbols):
        if (block.n_keys == 1 or shorter is not None) and not block.is_exact:
            continue
        first = _after_pause(events, block)
        loop = read_loop(np.diff(events.t_s[block.place == first]), length=block.length)
        if loop.kind == "steady" and not block.is_exact:
            shorter = _iterations(events, block, first)
        elif loop.kind == "steady":
            longer = _iterations(events, block, first)
            return longer if shorter is None or _moves_more(events, outside=shorter.block) else shorter
        elif loop.kind == "nested" and block.is_exact and shorter is None:
            return _iterations(events, _joined(block, loop, first=first), 0, n_blocks=loop.n_blocks)
        may_be_layers |= loop.kind == "unclear"
    return shorter or Unclear(may_be_layers=may_be_layers)


def _moves_more(events: CollectiveEvents, *, outside: Repetition) -> bool:
    """Return whether the collectives outside a block move so much that they are part of the program's loop."""
    outside_bytes = events.bytes[outside.place == NOWHERE].sum()
    return bool(outside_bytes > MIN_OUTSIDE_FRAC * events.bytes.sum())


def _iterations(events: CollectiveEvents, block: Repetition, first: int, *, n_blocks: int = 1) -> Iterations:
    t_s, length = events.t_s, block.length
    return Iterations(
        block=block,
        first=first,
        again_s=(t_s[length:] - t_s[:-length])[block.follows()],
        starts_s=t_s[block.place == first],
        n_blocks=n_blocks,
    )


def _joined(block: Repetition, loop: Loop, *, first: int) -> Repetition:
    """Return the block that several equal ones make, which begins with the first of them after a long pause."""
    length = block.length * loop.n_blocks
    begin = int(np.flatnonzero(block.place == first)[loop.first])
    place = (np.arange(block.place.size) - begin) % length
    return Repetition(length=length, n_keys=block.n_keys, place=place, run=block.run)


def _after_pause(events: CollectiveEvents, block: Repetition) -> int:
    """Return the place in the block that comes after the longest pause, by the median over blocks."""
    reached_ns = np.maximum.accumulate(events.end_ns)
    pause_s = events.t_s[1:] - reached_ns[:-1] / NS_PER_S
    follows = (block.run[1:] == block.run[:-1]) & (block.run[1:] != NOWHERE)
    place, pause_s = block.place[1:][follows], pause_s[follows]
    order = np.lexsort((pause_s, place))
    place, pause_s = place[order], pause_s[order]
    bounds = np.searchsorted(place, np.arange(block.length + 1))
    medians_s = pause_s[(bounds[:-1] + bounds[1:] - 1) // 2]
    return int(np.argmax(medians_s))
