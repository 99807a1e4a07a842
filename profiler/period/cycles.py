"""Follow a series from iteration to iteration: where each one begins, however the job wanders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.signal import correlate

from profiler.period.peaks import vertex
from profiler.period.prepare import Prepared, pool

__all__ = ["Cycles", "track"]

BINS_PER_PERIOD: Final = 128
"""Cycles are followed on bins of at most this many a period: finer ones cost time and show only texture."""
REACH_FRAC: Final = 0.3
"""An iteration may begin this fraction of a period earlier or later than the one before it lets expect."""
N_ROUNDS: Final = 3
GOOD_FRAC: Final = 0.5
SEED_CYCLES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cycles:
    """Iterations of a series.

    ``starts_s`` are seconds after the series begins, shape (n_cycles,), all at the same point of the iteration;
    ``fit`` is how well each follows the common shape (correlation, -1 to 1), shape (n_cycles,); ``shape`` is that
    shape, from one start to a period later, shape (n_bins,).
    """

    starts_s: NDArray[np.float64]
    fit: NDArray[np.float64]
    shape: NDArray[np.float64]

    @property
    def good(self) -> NDArray[np.bool_]:
        """Which iterations follow the common shape about as well as the better ones do; bool, shape (n_cycles,)."""
        good: NDArray[np.bool_] = self.fit > GOOD_FRAC * max(0.0, float(np.quantile(self.fit, 0.75)))
        return good


def track(prepared: Prepared, period_s: float) -> Cycles:
    """Follow the iterations of a series whose period is roughly known.

    Notes
    -----
    A template of one period is matched against the series at every shift at once (FFT), the iterations are the best
    matches about one period apart, and the template is their mean; three rounds. The first template is the mean of a
    few consecutive periods, where jitter has not yet blurred it.
    """
    fine = pool(prepared, max(1, int(period_s / prepared.dt_s / BINS_PER_PERIOD)))
    n_template = max(2, round(period_s / fine.dt_s))
    template = _seed(fine.x, n_template)
    starts = np.zeros(0, dtype=np.int64)
    match = np.zeros(0)
    for _ in range(N_ROUNDS):
        match = _match(fine, template)
        starts = _walk(match, n_template)
        template = _mean_cycle(fine.x, starts, match=match, n_template=n_template)
    return Cycles(
        starts_s=np.array([vertex(match, int(i)) for i in starts]) * fine.dt_s,
        fit=match[starts],
        shape=template,
    )


def _seed(x: NDArray[np.float64], n_template: int) -> NDArray[np.float64]:
    """Return the mean of the consecutive periods that vary most: a stretch in which the job was running."""
    n_cycles = x.size // n_template
    cycles = x[: n_cycles * n_template].reshape(n_cycles, n_template)
    n_seed = min(SEED_CYCLES, n_cycles)
    means = np.array([cycles[i : i + n_seed].mean(axis=0) for i in range(n_cycles - n_seed + 1)])
    seed: NDArray[np.float64] = means[int(np.argmax(means.var(axis=1)))]
    return seed


def _mean_cycle(
    x: NDArray[np.float64], starts: NDArray[np.int64], *, match: NDArray[np.float64], n_template: int
) -> NDArray[np.float64]:
    """Return the mean of the cycles that match well; the job need not run all the time."""
    good = starts[match[starts] >= GOOD_FRAC * np.quantile(match[starts], 0.75)]
    mean: NDArray[np.float64] = np.mean([x[i : i + n_template] for i in good], axis=0)
    return mean


def _match(fine: Prepared, template: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlation of the template with the series at every start that leaves room for it."""
    centred = template - template.mean()
    norm = float(np.sqrt(np.sum(centred**2)))
    if norm == 0:
        return np.zeros(max(1, fine.x.size - template.size + 1))
    products = correlate(fine.x, centred, mode="valid", method="fft") / norm
    total = np.concatenate(([0.0], np.cumsum(fine.x)))
    squares = np.concatenate(([0.0], np.cumsum(fine.x**2)))
    n = template.size
    variance = squares[n:] - squares[:-n] - (total[n:] - total[:-n]) ** 2 / n
    correlation: NDArray[np.float64] = products / np.sqrt(np.maximum(variance, 1e-9 * n))
    return np.clip(correlation, -1.0, 1.0)


def _walk(match: NDArray[np.float64], n_template: int) -> NDArray[np.int64]:
    """Return the best matches about one period apart, from the best match on to both ends."""
    reach = max(1, round(REACH_FRAC * n_template))
    first = int(np.argmax(match))
    forward = _one_way(match, first, step=n_template, reach=reach)
    backward = _one_way(match, first, step=-n_template, reach=reach)
    return np.array([*backward[::-1], first, *forward], dtype=np.int64)


def _one_way(match: NDArray[np.float64], first: int, *, step: int, reach: int) -> list[int]:
    found: list[int] = []
    here = first
    while True:
        expected = here + step
        low, high = max(0, expected - reach), min(match.size, expected + reach + 1)
        if low >= high or not 0 <= expected < match.size:
            return found
        here = low + int(np.argmax(match[low:high]))
        found.append(here)
