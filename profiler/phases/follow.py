"""Follow iterations by the shape of a profile: where each one of a series begins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.medians import median
from profiler.phases.joint import likeliest
from profiler.phases.timing import steadied

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.phases.shape import Shape
    from profiler.phases.traffic import Traffic

__all__ = ["follow", "realign"]

REACH_FRAC: Final = 0.3
"""An iteration may begin this fraction of a period earlier or later than the one before it lets expect."""
MIN_STEPS: Final = 96
"""Times tried in a period, at least: windows may be coarser, but what moved in them tells more of when."""
NUDGE_FRAC: Final = 0.15
"""Starts that are roughly known lie within this fraction of a period."""
NUDGE_PRICE: Final = 0.05
"""Part of the best fit's score that a start loses by moving as far as it may."""
NOISY_FRAC: Final = 0.35
"""Noise of this part of a burst's height hides where single iterations begin."""
COARSE_WINDOWS: Final = 16.0
"""Windows a period of which each one is longer than sound jitter."""
LEAST_PRICE: Final = 1e-3
"""Of equally good places the nearest to where the iteration is expected is taken."""
NORMAL_MEDIAN: Final = 0.6745
"""Median distance of a normal distribution from its middle, in standard deviations."""


def follow(
    traffic: Traffic, shape: Shape, *, period_s: float, anchor_s: float, jitter_frac: float
) -> NDArray[np.float64]:
    """Return the start of every iteration that touches the traffic, in seconds after it begins, shape (n_cycles,).

    Parameters
    ----------
    traffic
        The series' own traffic.
    shape
        The bursts of an iteration.
    period_s, jitter_frac
        How long an iteration is, and the standard deviation of that over it.
    anchor_s
        When one iteration began, before, in or after the traffic.

    Notes
    -----
    From the iteration nearest the anchor on to both ends: the next one is where the bits that move in Up stretches most
    exceed their share of the period, less the likelihood's price for a length so far from the period. In noise all are
    then placed together, and starts are freed of the error of reading them.
    """
    step_s = _step(traffic, period_s=period_s)
    n_before = _n_before(period_s, step_s)
    noise_bps = _noise(traffic)
    score = _score(traffic, shape, period_s=period_s, step_s=step_s)
    price_per_s2 = noise_bps**2 * traffic.dt_s / (2 * max(jitter_frac * period_s, traffic.dt_s) ** 2)
    least_per_s2 = LEAST_PRICE * float(np.abs(score).max()) / (REACH_FRAC * period_s) ** 2
    places = _walk(
        score,
        round(anchor_s / step_s) + n_before,
        length=period_s / step_s,
        price=max(price_per_s2, least_per_s2) * step_s**2,
    )
    if noise_bps > NOISY_FRAC * shape.height_bps:
        places = likeliest(score / (noise_bps**2 * traffic.dt_s), places, length=period_s / step_s)
    starts_s = (places - n_before) * step_s
    return steadied(starts_s, period_s=period_s) if _are_read_roughly(traffic, shape, period_s=period_s) else starts_s


def _are_read_roughly(traffic: Traffic, shape: Shape, *, period_s: float) -> bool:
    """Return whether noise or long windows leave starts an error that their own jitter may be less than."""
    return _noise(traffic) > NOISY_FRAC * shape.height_bps or period_s < COARSE_WINDOWS * traffic.dt_s


def _walk(score: NDArray[np.float64], first: int, *, length: float, price: float) -> NDArray[np.float64]:
    """Return the best places about ``length`` apart, from the one near ``first`` on; d off costs ``price d**2``."""
    step = round(length)
    reach = max(1, round(REACH_FRAC * length))
    if 0 <= first < score.size:
        away = np.arange(-min(reach, first), min(reach, score.size - 1 - first) + 1)
        first += int(away[np.argmax(score[first + away] - price * away**2)])
    else:
        first = int(np.argmax(score))
    prices = np.asarray(price * (np.arange(-reach, reach + 1) + (step - length)) ** 2, dtype=np.float64)
    forward = _one_way(score, first, length=step, price=prices)
    backward = _one_way(score[::-1], score.size - 1 - first, length=step, price=prices)
    return np.array([*(score.size - 1 - i for i in reversed(backward)), first, *forward], dtype=np.float64)


def realign(traffic: Traffic, shape: Shape, *, starts_s: NDArray[np.float64], period_s: float) -> NDArray[np.float64]:
    """Return starts of iterations, each moved to where the shape fits best near by; increasing, shape (n_starts,).

    Parameters
    ----------
    traffic
        The series' own traffic.
    shape
        The bursts of an iteration.
    starts_s
        Roughly where iterations begin, in seconds after the traffic does, shape (n_starts,).
    period_s
        How far apart they typically are.
    """
    step_s = _step(traffic, period_s=period_s)
    score = _score(traffic, shape, period_s=period_s, step_s=step_s)
    reach = max(1, round(NUDGE_FRAC * period_s / step_s))
    away = np.arange(-reach, reach + 1)
    n_before = _n_before(period_s, step_s)
    near = np.rint(starts_s / step_s).astype(np.int64) + n_before
    at = np.clip(near[:, None] + away, 0, score.size - 1)
    price = NUDGE_PRICE * float(score.max()) * (away / reach) ** 2
    best = np.take_along_axis(at, np.argmax(score[at] - price, axis=1)[:, None], axis=1)[:, 0]
    return np.unique(steadied(np.unique((best - n_before) * step_s), period_s=period_s))


def _score(traffic: Traffic, shape: Shape, *, period_s: float, step_s: float) -> NDArray[np.float64]:
    """Return how well an iteration fits that begins at each of many times, ``step_s`` apart, from a period before."""
    last = math.ceil(traffic.n_bins * traffic.dt_s / step_s)
    at_s: NDArray[np.float64] = np.arange(-_n_before(period_s, step_s), last, dtype=np.float64) * step_s
    up_bits = sum(burst.width_s * (burst.rate_bps - shape.down_bps) for burst in shape.bursts)
    score = -(up_bits / period_s) * (traffic.bits_at(at_s + period_s) - traffic.bits_at(at_s))
    for burst in shape.bursts:
        moved = traffic.bits_at(at_s + burst.end_s) - traffic.bits_at(at_s + burst.start_s)
        score += (burst.rate_bps - shape.down_bps) * moved
    return score


def _step(traffic: Traffic, *, period_s: float) -> float:
    """Return how far apart the times are at which an iteration is tried to begin."""
    return max(min(1.0, period_s / traffic.dt_s / MIN_STEPS), 1 / MIN_STEPS) * traffic.dt_s


def _n_before(period_s: float, step_s: float) -> int:
    """Return how many times before the traffic are tried, since an iteration may have begun before it."""
    return math.ceil(period_s / step_s)


def _noise(traffic: Traffic) -> float:
    """Return the standard deviation of white noise, by how much neighbouring windows typically differ."""
    steps_bps = np.abs(np.diff(traffic.bits, n=2)) / traffic.dt_s
    return median(steps_bps) / (NORMAL_MEDIAN * float(np.sqrt(2))) if steps_bps.size else 0.0


def _one_way(score: NDArray[np.float64], first: int, *, length: int, price: NDArray[np.float64]) -> list[int]:
    found: list[int] = []
    reach = price.size // 2
    here = first
    while here + length < score.size:
        low, high = max(0, here + length - reach), min(score.size, here + length + reach + 1)
        skipped = low - (here + length - reach)
        here = low + int(np.argmax(score[low:high] - price[skipped : skipped + high - low]))
        found.append(here)
    return found
