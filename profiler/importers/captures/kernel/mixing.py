"""One step of a hash: keys of one rack differ in a few bits, and a weak step would make long chains of them."""

from __future__ import annotations

import numpy as np

from profiler.importers.captures.kernel.compiling import Whole, compiled

__all__ = ["mixed"]


@compiled
def mixed(state: np.uint64, word: Whole) -> np.uint64:
    """Return a state that every bit of a word has changed."""
    state = (state ^ np.uint64(word)) * np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(32))
