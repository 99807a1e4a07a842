"""What an RDMA flow does: packets by class, payload, and sequence numbers that come again."""

from __future__ import annotations

import numpy as np

from profiler.importers.captures.flow_words import (
    NEWEST,
    RDMA_WORDS,
    READ_BYTES,
    REPEATED,
    SEEN,
    SEEN_WORDS,
)
from profiler.importers.captures.kernel.compiling import Whole, Words, compiled
from profiler.importers.captures.layout import OPCODE, OPCODES_AT, PAYLOAD, PSN, RDMA_AT
from profiler.importers.captures.opcodes import READ_RESPONSE

__all__ = ["count_rdma"]

_NUMBERS = 1 << 24
_HALF = 1 << 23
_REMEMBERED = SEEN_WORDS * 64


@compiled
def count_rdma(words: Words, number: Whole) -> None:
    """Count the packet at hand to a row of the table of RDMA."""
    row = words[RDMA_AT] + number * RDMA_WORDS
    entry = words[words[OPCODES_AT] + words[OPCODE]]
    kind, space = entry & 0xFF, entry >> 16
    words[row + kind] += 1
    if kind == READ_RESPONSE:
        words[row + READ_BYTES] += words[PAYLOAD]
    if space and _is_repeated(words, row + NEWEST + space - 1, row + SEEN + (space - 1) * SEEN_WORDS):
        words[row + REPEATED] += 1


@compiled
def _is_repeated(words: Words, newest_at: Whole, seen: Whole) -> bool:
    """Return whether a number came before; one too old for the bitmap did: a sender goes back only to what it sent."""
    psn = words[PSN]
    if words[newest_at] == 0:
        words[newest_at] = psn + 1
        words[seen + (psn >> 6 & SEEN_WORDS - 1)] = np.int64(1) << (psn & 63)
        return False
    ahead = (psn + 1 - words[newest_at]) & (_NUMBERS - 1)
    if 0 < ahead < _HALF:
        _forget(words, seen, words[newest_at], min(ahead, np.int64(_REMEMBERED)))
        words[newest_at] = psn + 1
    elif _NUMBERS - ahead >= _REMEMBERED and ahead:
        return True
    word, bit = seen + (psn >> 6 & SEEN_WORDS - 1), np.int64(1) << (psn & 63)
    if words[word] & bit:
        return True
    words[word] |= bit
    return False


@compiled
def _forget(words: Words, seen: Whole, first: Whole, n: Whole) -> None:
    """Clear the bits of numbers that are not yet reached, from one on."""
    while n > 0:
        in_word = min(np.int64(64) - (first & 63), n)
        ones = np.int64(-1) if in_word == 64 else (np.int64(1) << in_word) - 1
        words[seen + (first >> 6 & SEEN_WORDS - 1)] &= ~(ones << (first & 63))
        first += in_word
        n -= in_word
