"""Whether a clock is none: the silences of a job taken for the beat between polls and clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.refresh.clock import Refresh

__all__ = ["has_partial_borders", "is_own_beat"]

MOST_BURSTS: Final = 4
"""Silences of an iteration, each of which the false clock takes for one of its own."""
MAX_EXPLAINED: Final = 0.25
"""Part of the variance of bytes a tick, beyond chance, that their place in the beat may explain."""
MOST_BINS: Final = 64
"""Places in the beat that are told apart; an iteration of more ticks would by chance be a multiple of a job's own."""
CLIP: Final = 4.0
"""Ticks of more than this many typical ones count as so many: one reset must not be the whole variance."""
PARTIAL: Final = 0.85
"""Polls beside a stale one that see less than this part of what those further off do have a silence beside them."""
SURE: Final = 4.0
"""Standard errors by which they must."""
MIN_BORDERS: Final = 20
USUAL_GAP: Final = 1.3
"""Longer gaps between polls, over the typical one, may hold several ticks."""


def has_partial_borders(t_s: NDArray[np.float64], delta_bytes: NDArray[np.float64]) -> bool:
    """Return whether polls beside single ones at which nothing moved see less than those further off.

    Parameters
    ----------
    t_s
        Times of the polls in seconds, increasing, shape (n_polls,).
    delta_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).

    Notes
    -----
    A poll sees all bytes of the tick that it is the first to read, whether or not the poll before was stale. The
    silence of a job that is longer than the gap between polls takes away from the polls at its ends.
    """
    moved = delta_bytes != 0
    gaps_s = np.diff(t_s)
    one_tick = gaps_s < USUAL_GAP * np.median(gaps_s)
    single = 2 + np.flatnonzero(moved[1:-3] & ~moved[2:-2] & moved[3:-1])
    usual = CLIP * float(np.median(delta_bytes[moved])) if moved.any() else 0.0
    x = np.clip(delta_bytes, 0.0, usual)
    i_beside = np.concatenate((single - 1, single + 1))
    i_further = np.concatenate((single - 2, single + 2))
    beside = x[i_beside[one_tick[i_beside]]]
    further = x[i_further[one_tick[i_further] & (x[i_further] > 0)]]
    if min(beside.size, further.size) < MIN_BORDERS:
        return False
    less = PARTIAL * float(further.mean()) - float(beside.mean())
    error = np.hypot(PARTIAL * further.std() / np.sqrt(further.size), beside.std() / np.sqrt(beside.size))
    return bool(less > SURE * error)


def is_own_beat(clock: Refresh, t_s: NDArray[np.float64], *, delta_bytes: NDArray[np.float64]) -> bool:
    """Return whether bytes a tick beat with the polls.

    Notes
    -----
    To even polls every ``g`` seconds, a job of period T that is silent for a poll ``k`` times in each looks like a
    clock of interval R with 1/R = 1/g - k/T. But bytes rebuilt at true ticks have nothing of the beat left, and at
    false ones they have all of the job.
    """
    gaps_s = np.diff(t_s)
    beat_hz = 1 / float(gaps_s[gaps_s < 2 * np.median(gaps_s)].mean()) - 1 / clock.interval_s
    if beat_hz <= 0:
        return False
    ticks = np.floor(clock.ticks(t_s[1:])).astype(np.int64)
    of_tick = np.bincount(ticks - ticks[0], weights=np.maximum(delta_bytes, 0.0))
    some = of_tick[of_tick > 0]
    x = np.minimum(of_tick, CLIP * np.median(some)) if some.size else of_tick
    x = x - x.mean()
    beat_ticks = 1 / (beat_hz * clock.interval_s)
    most = max(1, min(MOST_BURSTS, int(MOST_BINS / beat_ticks)))
    return any(_explained(x, np.arange(x.size) / (n * beat_ticks)) > MAX_EXPLAINED for n in range(1, most + 1))


def _explained(x: NDArray[np.float64], turns: NDArray[np.float64]) -> float:
    """Return the part of the variance that the mean over each place in a turn explains, less what chance would."""
    n_bins = int(min(MOST_BINS, max(4, np.ceil(x.size / max(turns[-1], 1.0)))))
    place = (turns % 1.0 * n_bins).astype(np.int64)
    n_of = np.bincount(place, minlength=n_bins)
    mean = np.bincount(place, weights=x, minlength=n_bins) / np.maximum(n_of, 1)
    total = float(np.sum(x**2))
    if total <= 0 or n_bins >= x.size:
        return 0.0
    chance = n_bins / x.size
    return (float(np.sum(n_of * mean**2)) / total - chance) / (1 - chance)
