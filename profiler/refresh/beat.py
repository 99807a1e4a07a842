"""Whether a clock is none: the silences of a job taken for the beat between polls and clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.refresh.clock import Refresh

__all__ = ["are_streams", "has_partial_borders", "has_place", "in_streams"]

MAX_EXPLAINED: Final = 0.2
"""Part of the variance of bytes a poll, beyond chance, that its place between ticks may explain: 0.06 at most on real
ports, and more than 0.3 for jobs."""
MOST_PLACES: Final = 48
"""Places that are told apart."""
POLLS_A_PLACE: Final = 20
"""Each must be met so often."""
MOST_SILENCES: Final = 4
"""Silences of an iteration, each of which a false clock takes for one of its own."""
CLIP: Final = 4.0
"""Polls of more than this many typical ones count as so many: one reset must not be the whole variance."""
PARTIAL: Final = 0.85
"""Polls beside a stale one that see less than this part of what those further off do have a silence beside them."""
LEVEL: Final = 0.99
"""Polls of which the least sees this part of what the most does see the same rate."""
MIN_STREAM_FRAC: Final = 0.3
"""Where more of the stale polls than this stand amid the same rate, bursts are steady streams: of nine ticks' length,
half of those in one are near its ends."""
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
    single = _single(moved)
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


def in_streams(delta_bytes: NDArray[np.float64]) -> bool:
    """Return whether single polls at which nothing moved stand amid steady streams, but for those at their ends.

    Parameters
    ----------
    delta_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).

    Notes
    -----
    The poll before and the one after see the same then, and none further off more, of which one at least is not stale.
    What the silence of a job takes from the polls at its ends is hardly ever the same on both sides.
    """
    single = _single(delta_bytes != 0)
    if single.size < MIN_BORDERS:
        return False
    near = np.minimum(delta_bytes[single - 1], delta_bytes[single + 1])
    far = np.maximum(delta_bytes[single - 2], delta_bytes[single + 2])
    most = np.maximum(far, np.maximum(delta_bytes[single - 1], delta_bytes[single + 1]))
    return bool(np.mean((near >= LEVEL * most) & (far > 0)) > MIN_STREAM_FRAC)


def are_streams(delta_bytes: NDArray[np.float64]) -> bool:
    """Return whether the changes of a counter that hardly ever moves at two polls in a row are those of steady streams.

    Parameters
    ----------
    delta_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).

    Notes
    -----
    Each change is a tick's bytes then, the same as of the tick before and of the one after but for the ends of a burst.
    """
    steps = delta_bytes[delta_bytes != 0]
    if steps.size < MIN_BORDERS:
        return False
    three = np.stack([steps[:-2], steps[1:-1], steps[2:]])
    return bool(np.mean(three.min(axis=0) >= LEVEL * three.max(axis=0)) > MIN_STREAM_FRAC)


def _single(moved: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the polls at which nothing moved between two at which something did."""
    return 2 + np.flatnonzero(moved[1:-3] & ~moved[2:-2] & moved[3:-1])


def has_place(
    clock: Refresh, t_s: NDArray[np.float64], *, seen_bytes: NDArray[np.float64], counted: NDArray[np.bool_]
) -> bool:
    """Return whether what a poll sees depends on its place between the ticks of a clock, or in their beat with polls.

    Parameters
    ----------
    clock
        What is taken to copy the counter.
    t_s
        Times of the polls in seconds, increasing, shape (n_polls,).
    seen_bytes
        What polls saw from each to the next, shape (n_polls - 1,).
    counted
        Which of them are looked at, shape (n_polls - 1,).

    Notes
    -----
    A poll sees the bytes of a tick, wherever after it the poll comes. The clock by which the silences of a job gather
    is the job's own beat with the polls, so that its bursts have a place there too: to even polls every ``g``
    seconds, a job of period T that is silent for a poll ``k`` times in each looks like a clock of interval R with
    1/R = 1/g - k/T.
    """
    gaps_s = np.diff(t_s)
    counted = counted & (gaps_s < USUAL_GAP * np.median(gaps_s))
    seen = seen_bytes[counted]
    if not seen.any():
        return False
    x = np.minimum(seen, CLIP * np.median(seen[seen > 0]))
    x -= x.mean()
    ticks = clock.ticks(t_s[1:])
    beat = (ticks - t_s[1:] / float(gaps_s[gaps_s < 2 * np.median(gaps_s)].mean()))[counted]
    turns = (ticks[counted], ticks[counted] / 2, *(beat / n for n in range(2, MOST_SILENCES + 1)))
    return any(_explained(x, turn) > MAX_EXPLAINED for turn in turns)


def _explained(x: NDArray[np.float64], turns: NDArray[np.float64]) -> float:
    """Return the part of the variance that the mean over each place in a turn explains, less what chance would."""
    n_places = min(MOST_PLACES, x.size // POLLS_A_PLACE)
    total = float(np.sum(x**2))
    if total <= 0 or n_places < 2:
        return 0.0
    place = (turns % 1.0 * n_places).astype(np.int64)
    n_of = np.bincount(place, minlength=n_places)
    mean = np.bincount(place, weights=x, minlength=n_places) / np.maximum(n_of, 1)
    chance = n_places / x.size
    return (float(np.sum(n_of * mean**2)) / total - chance) / (1 - chance)
