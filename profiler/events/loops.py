"""`read_loop`: whether a block of collectives is an iteration, or one of several that make an iteration.

The layers of a model may all do the same collective, so that the order of collectives alone would call every layer an
iteration. Their times tell: between layers there is a short pause, between iterations a long one, every so many layers.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from profiler.period.medians import robust_spread

__all__ = ["MAX_MICROBATCHES", "Loop", "read_loop"]

ODD_FRAC: Final = 0.3
"""A block that takes so much more or less than the median one is unlike it: checkpoints add more, jitter less."""
MAX_ODD_FRAC: Final = 0.2
"""Where more blocks are unlike the median one, there is no typical block."""
MIN_PAUSES: Final = 3
"""Long pauses that must come at equal distances: two equal distances are no chance."""
SAME_FRAC: Final = 0.15
"""Groups of blocks that are iterations take the same time, within this fraction, nine of ten."""
ALIKE_FRAC: Final = 0.9
PAUSE_SIGMAS: Final = 6.0
PAUSE_FRAC: Final = 0.03
"""Between layers that take the same time a slightly longer one is a pause: so much longer, and so far from jitter."""
LAYER_LENGTH: Final = 2
"""Blocks up to this length may be layers (all-gather; all-gather and reduce-scatter), which no long one is."""
MAX_MICROBATCHES: Final = 8
"""Blocks of more collectives than a layer's may be micro-batches, at most so many; a rarer pause is a checkpoint."""
MIN_LENGTHS: Final = 8
"""Blocks that alternate are told from blocks that jitter by so many."""
LEAST_SPREAD_FRAC: Final = 0.01
"""Blocks alike within this fraction do not alternate."""


class Loop(NamedTuple):
    """How blocks make iterations.

    ``steady``: each block is one. ``nested``: ``n_blocks`` of them are one, the first of which is ``first``.
    ``unclear``: they may be layers, and too few long pauses were seen to tell. ``erratic``: they take any time.
    """

    kind: Literal["steady", "nested", "unclear", "erratic"]
    n_blocks: int = 1
    first: int = 0


def read_loop(lengths_s: NDArray[np.float64], *, length: int) -> Loop:
    """Return how blocks make iterations.

    Parameters
    ----------
    lengths_s
        Time from the start of each block to the next one's, seconds, shape (n_blocks - 1,).
    length
        Collectives in a block.

    Examples
    --------
    >>> layers_s = np.tile([0.01, 0.01, 0.01, 0.2], 4)
    >>> read_loop(layers_s, length=1)
    Loop(kind='nested', n_blocks=4, first=4)
    """
    alternating = _alternating(lengths_s)
    if alternating is not None:
        return alternating
    typical_s = float(np.median(lengths_s)) if lengths_s.size else 0.0
    odd = np.abs(lengths_s - typical_s) > ODD_FRAC * typical_s
    if length <= LAYER_LENGTH:
        return _read_layers(lengths_s, odd)
    nested = _paused(lengths_s) if odd.any() else None
    if nested is not None and nested.n_blocks <= MAX_MICROBATCHES:
        return nested
    return _steady_or_erratic(odd)


def _read_layers(lengths_s: NDArray[np.float64], odd: NDArray[np.bool_]) -> Loop:
    """Return how blocks that may be layers make iterations."""
    nested = _paused(lengths_s)
    if nested is not None:
        return nested
    pauses = np.flatnonzero(lengths_s > _least_pause_s(lengths_s))
    if 0 < pauses.size < MIN_PAUSES:
        return Loop("unclear")
    if _distance(pauses, n_blocks=lengths_s.size + 1) is not None:
        return Loop("erratic")
    return _steady_or_erratic(odd)


def _steady_or_erratic(odd: NDArray[np.bool_]) -> Loop:
    return Loop("steady" if np.count_nonzero(odd) <= MAX_ODD_FRAC * odd.size else "erratic")


def _alternating(lengths_s: NDArray[np.float64]) -> Loop | None:
    """Return the shortest loop whose blocks take different times, each the same every time; None if there is none."""
    spread_frac = _spread_frac(lengths_s, 1)
    for n_blocks in range(2, MAX_MICROBATCHES + 1):
        if lengths_s.size < max(MIN_LENGTHS, 3 * n_blocks) or spread_frac < LEAST_SPREAD_FRAC:
            return None
        if _spread_frac(lengths_s, n_blocks) < spread_frac / (3 * n_blocks):
            typical_s = [float(np.median(lengths_s[i::n_blocks])) for i in range(n_blocks)]
            return Loop("nested", n_blocks=n_blocks, first=int(np.argmax(typical_s)) + 1)
    return None


def _paused(lengths_s: NDArray[np.float64]) -> Loop | None:
    """Return the widest loop whose pauses come every so many blocks; None if there is none."""
    if not lengths_s.size:
        return None
    longest_first = np.sort(lengths_s)[::-1]
    breaks = np.flatnonzero(longest_first[:-1] > (1 + ODD_FRAC) * longest_first[1:])
    for least_s in [*longest_first[breaks].tolist(), _least_pause_s(lengths_s)]:
        pauses = np.flatnonzero(lengths_s >= least_s)
        n_blocks = _distance(pauses, n_blocks=lengths_s.size + 1)
        if n_blocks is None or not _are_alike(_groups(lengths_s, n_blocks)):
            continue
        starts = int(pauses[0]) + 1
        groups_s = _groups(lengths_s, n_blocks)[starts % n_blocks :: n_blocks]
        in_turn = _alternating(groups_s)
        n_groups = 1 if in_turn is None else in_turn.n_blocks
        return Loop("nested", n_blocks=n_blocks * n_groups, first=starts)
    return None


def _least_pause_s(lengths_s: NDArray[np.float64]) -> float:
    """Return the time above which a block is followed by a pause, not only late."""
    typical_s = float(np.median(lengths_s)) if lengths_s.size else 0.0
    return typical_s + max(PAUSE_SIGMAS * robust_spread(lengths_s) if lengths_s.size else 0.0, PAUSE_FRAC * typical_s)


def _distance(pauses: NDArray[np.int64], *, n_blocks: int) -> int | None:
    """Return the number of blocks between pauses, if it is always the same; two pauses do if they cut thirds."""
    distances = np.diff(pauses)
    if not distances.size or distances[0] < 2 or (distances != distances[0]).any():
        return None
    distance = int(distances[0])
    n_before, n_after = int(pauses[0]) + 1, n_blocks - int(pauses[-1]) - 1
    if pauses.size < MIN_PAUSES and not n_before == distance == n_after:
        return None
    return distance if max(n_before, n_after) <= distance else None


def _are_alike(groups_s: NDArray[np.float64]) -> bool:
    """Return whether groups take the same time."""
    typical_s = np.median(groups_s)
    return bool(np.mean(np.abs(groups_s - typical_s) <= SAME_FRAC * typical_s) >= ALIKE_FRAC)


def _groups(lengths_s: NDArray[np.float64], n_blocks: int) -> NDArray[np.float64]:
    """Return the time of every ``n_blocks`` successive blocks, shape (n_lengths - n_blocks + 1,)."""
    total_s = np.concatenate(([0.0], np.cumsum(lengths_s)))
    groups_s: NDArray[np.float64] = total_s[n_blocks:] - total_s[:-n_blocks]
    return groups_s


def _spread_frac(lengths_s: NDArray[np.float64], n_blocks: int) -> float:
    groups_s = _groups(lengths_s, n_blocks)
    typical_s = float(np.median(groups_s)) if groups_s.size else 0.0
    return robust_spread(groups_s) / typical_s if typical_s > 0 else 0.0
