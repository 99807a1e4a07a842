"""A digest of all bytes of a capture, as fast as memory: cryptographic ones take twice as long as reading the packets.

References
----------
.. [1] Y. Collet, "xxHash fast digest algorithm", https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md:
   the stripes of XXH64, of which the four accumulators are kept apart.
"""

from __future__ import annotations

import numpy as np

from profiler.importers.captures.kernel.compiling import Bytes, Whole, Words, compiled
from profiler.importers.captures.layout import LANES, STRIPE_BYTES

__all__ = ["digest_stripes"]


@compiled
def digest_stripes(data: Bytes, words: Words, at: Whole, stop: Whole) -> Whole:
    """Take whole stripes into the four accumulators; return where the rest, shorter than one, starts."""
    a, b = np.uint64(words[LANES]), np.uint64(words[LANES + 1])
    c, d = np.uint64(words[LANES + 2]), np.uint64(words[LANES + 3])
    while at + STRIPE_BYTES <= stop:
        a, b = _round(a, _u64(data, at)), _round(b, _u64(data, at + 8))
        c, d = _round(c, _u64(data, at + 16)), _round(d, _u64(data, at + 24))
        at += STRIPE_BYTES
    words[LANES], words[LANES + 1] = np.int64(a), np.int64(b)
    words[LANES + 2], words[LANES + 3] = np.int64(c), np.int64(d)
    return at


@compiled
def _round(lane: np.uint64, word: np.uint64) -> np.uint64:
    lane += word * np.uint64(0xC2B2AE3D27D4EB4F)
    lane = lane << np.uint64(31) | lane >> np.uint64(33)
    return lane * np.uint64(0x9E3779B185EBCA87)


@compiled
def _u64(data: Bytes, at: Whole) -> np.uint64:
    """Return the little-endian integer in eight bytes."""
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word
