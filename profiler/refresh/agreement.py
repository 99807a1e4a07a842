"""How well a clock says at which polls a value moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.refresh.clock import Refresh

__all__ = ["agreement"]

NEXT_TICK: Final = 1.1
"""Changes further apart than this many ticks, and the polls' own error, have a tick without traffic between them."""
MIN_SAID: Final = 20
"""Fewer polls than this that a clock says to be stale, or to be not, are no evidence."""


def agreement(clock: Refresh, t_s: NDArray[np.float64], *, moved: NDArray[np.bool_]) -> float:
    """Return the part of the way from chance (0) to certainty (1) by which a clock tells when the value moves.

    Parameters
    ----------
    clock
        Says that the value moves from one poll to the next if a tick is between them.
    t_s
        Times of the polls in seconds, increasing, shape (n_polls,).
    moved
        Whether the value did, shape (n_polls - 1,).

    Notes
    -----
    Polls between two changes that are more than a tick apart are left out: there was no traffic that could move
    the value. The measure is Cohen's kappa [1]_.

    References
    ----------
    .. [1] Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20, 1960.
    """
    changes = np.flatnonzero(moved)
    mid_s, error_s = 0.5 * (t_s[changes] + t_s[changes + 1]), 0.5 * (t_s[changes + 1] - t_s[changes])
    is_idle = np.diff(mid_s) > NEXT_TICK * clock.interval_s + error_s[:-1] + error_s[1:]
    # Each change begins a run of polls, up to the next.
    is_counted = np.repeat(~is_idle, np.diff(changes))
    said = (np.diff(np.floor(clock.ticks(t_s))) > 0)[changes[0] : changes[-1]][is_counted]
    seen = moved[changes[0] : changes[-1]][is_counted]
    n_said = int(np.count_nonzero(said))
    if min(n_said, said.size - n_said) < MIN_SAID:
        return 0.0
    said_frac, seen_frac = n_said / said.size, float(seen.mean())
    by_chance = said_frac * seen_frac + (1 - said_frac) * (1 - seen_frac)
    return float((said == seen).mean() - by_chance) / (1 - by_chance) if by_chance < 1 else 0.0
