"""`find_iterations`: which collectives are those of one iteration, and how long an iteration takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.events.loops import MAX_MICROBATCHES, read_loop
from profiler.events.repetition import NOWHERE, Repetition, repetitions
from profiler.period.medians import robust_spread
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.events.loops import Loop

__all__ = ["Iterations", "Unclear", "find_iterations"]

MIN_OUTSIDE_FRAC: Final = 0.5
"""A gradient's sync after some micro-batches moves more than this part of what one does; a log or a check far less."""
LEAST_GAIN_FRAC: Final = 0.001
"""A longer block must explain more of the collectives."""
SURE_CYCLES: Final = 3.0
"""Iterations that a block needs where a shorter one explains the order too, and only its times do not fit."""
FEW_LENGTHS: Final = 6
"""Of fewer iterations the median deviation says too little: their standard deviation serves, without the odd ones."""
ODD_FRAC: Final = 0.3
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
        """Standard deviation of an iteration's length, robust; of a single length, that of the collectives' own."""
        lengths_s = np.diff(self.starts_s)
        if lengths_s.size >= FEW_LENGTHS:
            return robust_spread(lengths_s)
        usual_s = lengths_s[np.abs(lengths_s - self.period_s) <= ODD_FRAC * self.period_s]
        return float(usual_s.std(ddof=1)) if usual_s.size > 1 else robust_spread(self.again_s)

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
    least_cycles = 2.0
    best: Iterations | None = None
    for block in repetitions(symbols):
        if best is not None and block.covered_frac < best.block.covered_frac + LEAST_GAIN_FRAC:
            continue
        loop, found = _read(events, block)
        may_be_layers |= loop.kind == "unclear"
        if found is None and loop.kind != "unclear":
            least_cycles = SURE_CYCLES
        if found is None or found.n_cycles < least_cycles:
            continue
        if best is None or _is_fuller(events, found, than=best):
            best = found
        if block.is_exact:
            break
    return best or Unclear(may_be_layers=may_be_layers)


def _read(events: CollectiveEvents, block: Repetition) -> tuple[Loop, Iterations | None]:
    """Return how a block makes iterations, and those, if it does and one of them is whole."""
    first = _after_pause(events, block)
    loop = read_loop(np.diff(events.t_s[block.place == first]), length=block.length)
    if loop.kind == "nested":
        found = _iterations(events, _joined(block, loop, first=first), 0, n_blocks=loop.n_blocks)
    elif loop.kind == "steady" and (block.n_keys > 1 or block.is_exact):
        found = _iterations(events, block, first)
    else:
        return loop, None
    return loop, found if found.again_s.size and found.whole_blocks().size else None


def _is_fuller(events: CollectiveEvents, found: Iterations, *, than: Iterations) -> bool:
    """Return whether the collectives outside a shorter block are part of the program's loop.

    They are if the longer block is but a few of the shorter, or if what is outside comes often enough to be no chance
    and moves as much as half a shorter block does.
    """
    if found.period_s <= MAX_MICROBATCHES * than.period_s:
        return True
    if found.n_cycles < SURE_CYCLES:
        return False
    outside_bytes = float(events.bytes[than.block.place == NOWHERE].sum()) / found.n_cycles
    inside_bytes = float(events.bytes[than.block.place != NOWHERE].sum()) / than.n_cycles
    return outside_bytes > MIN_OUTSIDE_FRAC * inside_bytes


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
    i_block = np.cumsum(block.place == first) - 1 - loop.first
    place = (i_block % loop.n_blocks) * block.length + (block.place - first) % block.length
    return Repetition(
        length=block.length * loop.n_blocks,
        n_keys=block.n_keys,
        place=np.where(block.place == NOWHERE, NOWHERE, place),
        run=block.run,
    )


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
