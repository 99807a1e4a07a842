"""Later fragments of a datagram, which have no ports: to the flow of the first fragment, if that was seen before."""

from __future__ import annotations

import numpy as np

from profiler.importers.captures.flow_words import FRAGMENT_LIFETIME_NS, FRAGMENT_SLOTS, FRAGMENT_WORDS
from profiler.importers.captures.kernel.carried import NOTHING, UNKNOWN_FRAGMENT
from profiler.importers.captures.kernel.compiling import Whole, Words, compiled
from profiler.importers.captures.kernel.mixing import mixed
from profiler.importers.captures.layout import (
    DATAGRAM_END,
    FRAGMENT,
    FRAGMENTS_AT,
    INTERFACE,
    KEY,
    N_FRAGMENTS,
    N_KEY,
    PAYLOAD,
    STRANGE,
    TIME,
)

__all__ = ["find_fragment", "fragment_hash", "keep_fragment"]


@compiled
def fragment_hash(words: Words, identification: Whole) -> Whole:
    """Return what the fragments of one datagram have in common: its addresses, protocol, identification and place."""
    state = np.uint64(identification + 1)
    for i in range(N_KEY):
        state = mixed(state, words[KEY + i])
    state = mixed(state, words[INTERFACE])
    found = np.int64(state)
    return found if found else np.int64(1)


@compiled
def keep_fragment(words: Words) -> None:
    """Remember the key of the packet at hand for the fragments that follow."""
    slot = _slot(words, words[FRAGMENT])
    words[slot], words[slot + 1] = words[FRAGMENT], words[TIME]
    for i in range(N_KEY):
        words[slot + 2 + i] = words[KEY + i]


@compiled
def find_fragment(words: Words, datagram: Whole, at: Whole) -> tuple[Whole, Whole]:
    """Take the key of the first fragment of a datagram, of which a later one's payload is at a place.

    If that is not remembered, the fragment is put aside: the first may come after it.
    """
    words[PAYLOAD] = max(np.int64(0), words[DATAGRAM_END] - at)
    slot = _slot(words, datagram)
    if words[slot] != datagram or abs(words[TIME] - words[slot + 1]) > FRAGMENT_LIFETIME_NS:
        words[STRANGE], words[FRAGMENT] = UNKNOWN_FRAGMENT, datagram
        return at, np.int64(NOTHING)
    words[N_FRAGMENTS] += 1
    words[FRAGMENT] = 0
    for i in range(N_KEY):
        words[KEY + i] = words[slot + 2 + i]
    return at, np.int64(NOTHING)


@compiled
def _slot(words: Words, datagram: Whole) -> Whole:
    return words[FRAGMENTS_AT] + (datagram & (FRAGMENT_SLOTS - 1)) * FRAGMENT_WORDS
