"""What an RDMA flow does: packets by class, payload, and sequence numbers that come again."""

from __future__ import annotations

import numpy as np

from profiler.importers.captures.flow_words import (
    LATE,
    NEWEST,
    RDMA_WORDS,
    READ_BYTES,
    REPEATED,
    SEEN,
    SEEN_WORDS,
    SPAN,
)
from profiler.importers.captures.kernel.compiling import Whole, Words, compiled
from profiler.importers.captures.layout import OPCODE, OPCODES_AT, PAYLOAD, PSN, RDMA_AT
from profiler.importers.captures.opcodes import READ_RESPONSE

__all__ = ["count_rdma"]

_NUMBERS = 1 << 24
_HALF = 1 << 23
_REMEMBERED = SEEN_WORDS * 64
_WINDOW = 1 << 16
"""Numbers that a sender goes back at most: 256 MiB of 4 KiB packets, more than any network has under way."""


@compiled
def count_rdma(words: Words, number: Whole) -> None:
    """Count the packet at hand to a row of the table of RDMA."""
    row = words[RDMA_AT] + number * RDMA_WORDS
    entry = words[words[OPCODES_AT] + words[OPCODE]]
    kind, space = entry & 0xFF, entry >> 16
    words[row + kind] += 1
    if kind == READ_RESPONSE:
        words[row + READ_BYTES] += words[PAYLOAD]
    if space:
        words[row + REPEATED] += _repeats(words, row, space - 1)


@compiled
def _repeats(words: Words, row: Whole, space: Whole) -> Whole:
    """Return how many packets are now known to have come before: the one at hand, and one that waited for it."""
    psn, newest_at, seen = words[PSN], row + NEWEST + space, row + SEEN + space * SEEN_WORDS
    if words[newest_at] == 0:
        _start(words, row, space, psn)
        return np.int64(0)
    ahead = (psn + 1 - words[newest_at]) & (_NUMBERS - 1)
    if 0 < ahead < _HALF:
        _forget(words, seen, words[newest_at], min(ahead, np.int64(_REMEMBERED)))
        words[newest_at] = psn + 1
        span = words[row + SPAN + space] + ahead
        words[row + SPAN + space] = min(span, np.int64(_WINDOW)) if ahead <= _WINDOW else 1
    elif ahead and _NUMBERS - ahead >= _REMEMBERED:
        return _late_repeats(words, row, space, _NUMBERS - ahead)
    words[row + LATE + space] = 0
    return _mark(words, seen, psn)


@compiled
def _late_repeats(words: Words, row: Whole, space: Whole, behind: Whole) -> Whole:
    """Return the same of a number too old for the bitmap.

    One that stands alone may be late and new. Where the next goes on from it, a sender went back, if it had sent that
    far, or a new connection has started, if no sender goes back that far.
    """
    psn, late, late_at = words[PSN], words[row + LATE + space], row + LATE + space
    step = (psn + 1 - (late >> 1)) & (_NUMBERS - 1)
    if late and step == 0:
        return np.int64(1)
    goes_on = late != 0 and step <= _REMEMBERED
    is_sent = behind < words[row + SPAN + space]
    words[late_at] = psn + 1 << 1 | (1 if goes_on and is_sent else 0)
    if not goes_on:
        return np.int64(0)
    if behind >= _WINDOW:
        _start(words, row, space, (late >> 1) - 1)
        words[row + NEWEST + space], words[row + SPAN + space] = psn + 1, 1 + step
        return _mark(words, row + SEEN + space * SEEN_WORDS, psn)
    if not is_sent:
        return np.int64(0)
    waited = late & 1 == 0 and behind + step < words[row + SPAN + space]
    return np.int64(2) if waited else np.int64(1)


@compiled
def _start(words: Words, row: Whole, space: Whole, psn: Whole) -> None:
    """Begin a space of numbers anew with its first."""
    seen = row + SEEN + space * SEEN_WORDS
    for i in range(SEEN_WORDS):
        words[seen + i] = 0
    words[row + NEWEST + space], words[row + SPAN + space], words[row + LATE + space] = psn + 1, 1, 0
    _mark(words, seen, psn)


@compiled
def _mark(words: Words, seen: Whole, psn: Whole) -> Whole:
    """Put a number into a bitmap; return 1 if it was there, else 0."""
    word, bit = seen + (psn >> 6 & SEEN_WORDS - 1), np.int64(1) << (psn & 63)
    if words[word] & bit:
        return np.int64(1)
    words[word] |= bit
    return np.int64(0)


@compiled
def _forget(words: Words, seen: Whole, first: Whole, n: Whole) -> None:
    """Clear the bits of numbers that are not yet reached, from one on."""
    while n > 0:
        in_word = min(np.int64(64) - (first & 63), n)
        ones = np.int64(-1) if in_word == 64 else (np.int64(1) << in_word) - 1
        words[seen + (first >> 6 & SEEN_WORDS - 1)] &= ~(ones << (first & 63))
        first += in_word
        n -= in_word
