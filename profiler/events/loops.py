"""`read_loop`: whether a block of collectives is an iteration, or one of several that make an iteration.

The layers of a model may all do the same collective, so that the order of collectives alone would call every layer an
iteration. Their times tell: between layers there is a short pause, between iterations a long one, every so many layers.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Loop", "read_loop"]

ODD_FRAC: Final = 0.3
"""A block that takes so much more or less than the median one is unlike it: checkpoints add more, jitter less."""
MAX_ODD_FRAC: Final = 0.2
"""Where more blocks are unlike the median one, there is no typical block."""
MIN_PAUSES: Final = 3
"""Long pauses that must come at equal distances: two equal distances are no chance."""
SAME_FRAC: Final = 0.15
"""Groups of blocks that are iterations take the same time, within this fraction, nine of ten."""
LAYER_LENGTH: Final = 2
"""Blocks up to this length may be layers (all-gather; all-gather and reduce-scatter), which no long one is."""
MAX_MICROBATCHES: Final = 8
"""Blocks of more collectives than a layer's may be micro-batches, at most so many; a rarer pause is a checkpoint."""


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
    typical_s = float(np.median(lengths_s)) if lengths_s.size else 0.0
    odd = np.abs(lengths_s - typical_s) > ODD_FRAC * typical_s
    if not odd.any():
        return Loop("steady")
    may_be_layers = length <= LAYER_LENGTH
    nested = _nested(lengths_s)
    if nested is not None and (may_be_layers or nested.n_blocks <= MAX_MICROBATCHES):
        return nested
    if may_be_layers and np.count_nonzero(lengths_s > (1 + ODD_FRAC) * typical_s) < MIN_PAUSES:
        return Loop("unclear")
    return Loop("steady" if odd.mean() <= MAX_ODD_FRAC else "erratic")


def _nested(lengths_s: NDArray[np.float64]) -> Loop | None:
    """Return the widest loop whose pauses come every so many blocks; None if there is none."""
    longest_first = np.sort(lengths_s)[::-1]
    breaks = np.flatnonzero(longest_first[:-1] > (1 + ODD_FRAC) * longest_first[1:])
    for least_s in longest_first[breaks]:
        pauses = np.flatnonzero(lengths_s >= least_s)
        n_blocks = _distance(pauses, n_blocks=lengths_s.size + 1)
        if n_blocks is not None and _are_alike(lengths_s, n_blocks):
            return Loop("nested", n_blocks=n_blocks, first=int(pauses[0]) + 1)
    return None


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


def _are_alike(lengths_s: NDArray[np.float64], n_blocks: int) -> bool:
    total_s = np.concatenate(([0.0], np.cumsum(lengths_s)))
    groups_s = total_s[n_blocks:] - total_s[:-n_blocks]
    typical_s = np.median(groups_s)
    return bool(np.mean(np.abs(groups_s - typical_s) <= SAME_FRAC * typical_s) >= 0.9)
