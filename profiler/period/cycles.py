"""Follow a series from iteration to iteration: where each one begins, however the job wanders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy.fft
from numba import njit
from numpy.typing import NDArray

from profiler.period.medians import upper_quartile
from profiler.period.peaks import vertices
from profiler.period.prepare import Prepared, pool

__all__ = ["MIN_TRACKED_BINS", "Cycles", "track"]

MIN_TRACKED_BINS: Final = 6.0
"""Shorter iterations are not followed one by one: their starts cannot be told within a bin."""
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
        good: NDArray[np.bool_] = self.fit > GOOD_FRAC * max(0.0, upper_quartile(self.fit))
        return good


def track(prepared: Prepared, period_s: float) -> Cycles:
    """Follow the iterations of a series whose period is roughly known.

    Notes
    -----
    A template of one period is matched against the series at every shift at once (FFT), the iterations are the best
    matches about one period apart, and the template is their mean; three rounds, or fewer once nothing moves. The
    first template is the mean of a few consecutive periods, where jitter has not yet blurred it.
    """
    fine = pool(prepared, max(1, int(period_s / prepared.dt_s / BINS_PER_PERIOD)))
    n_template = min(max(2, round(period_s / fine.dt_s)), fine.n_bins)
    matcher = _matcher(fine.x, n_template)
    template = _seed(fine.x, n_template)
    starts = np.zeros(0, dtype=np.int64)
    match = np.zeros(0)
    for _ in range(N_ROUNDS):
        match = _match(matcher, template)
        before, starts = starts, _walk(match, n_template, max(1, round(REACH_FRAC * n_template)))
        if np.array_equal(starts, before):
            break
        template = _mean_cycle(fine.x, starts, fit=match[starts], n_template=n_template)
    return Cycles(
        starts_s=vertices(match, starts) * fine.dt_s,
        fit=match[starts],
        shape=template,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Matcher:
    """A series made ready to be matched with templates: its transform, and the norm of every stretch of it."""

    transform: NDArray[np.complex128]
    norms: NDArray[np.float64]
    n_fft: int


def _matcher(x: NDArray[np.float64], n_template: int) -> _Matcher:
    n_fft = scipy.fft.next_fast_len(x.size, real=True)
    total = np.concatenate(([0.0], np.cumsum(x)))
    squares = np.concatenate(([0.0], np.cumsum(x**2)))
    n = n_template
    variance = squares[n:] - squares[:-n] - (total[n:] - total[:-n]) ** 2 / n
    norms = np.sqrt(np.maximum(variance, 1e-9 * n))
    return _Matcher(transform=scipy.fft.rfft(x, n_fft), norms=norms, n_fft=n_fft)


def _seed(x: NDArray[np.float64], n_template: int) -> NDArray[np.float64]:
    """Return the mean of the consecutive periods that vary most: a stretch in which the job was running."""
    n_cycles = x.size // n_template
    cycles = x[: n_cycles * n_template].reshape(n_cycles, n_template)
    n_seed = min(SEED_CYCLES, n_cycles)
    total = np.concatenate((np.zeros((1, n_template)), np.cumsum(cycles, axis=0)))
    means = (total[n_seed:] - total[:-n_seed]) / n_seed
    seed: NDArray[np.float64] = means[int(np.argmax(means.var(axis=1)))]
    return seed


def _mean_cycle(
    x: NDArray[np.float64], starts: NDArray[np.int64], *, fit: NDArray[np.float64], n_template: int
) -> NDArray[np.float64]:
    """Return the mean of the cycles that match well; the job need not run all the time."""
    good = starts[fit >= GOOD_FRAC * upper_quartile(fit)]
    mean: NDArray[np.float64] = x[good[:, None] + np.arange(n_template)].mean(axis=0)
    return mean


def _match(matcher: _Matcher, template: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlation of the template with the series at every start that leaves room for it."""
    centred = template - template.mean()
    norm = float(np.sqrt(np.sum(centred**2)))
    if norm == 0:
        return np.zeros(matcher.norms.size)
    products = scipy.fft.irfft(matcher.transform * np.conj(scipy.fft.rfft(centred, matcher.n_fft)), matcher.n_fft)
    correlation: NDArray[np.float64] = products[: matcher.norms.size] / (norm * matcher.norms)
    return np.clip(correlation, -1.0, 1.0)


@njit(cache=True, nogil=True)
def _walk(match: NDArray[np.float64], step: int, reach: int) -> NDArray[np.int64]:
    """Return the best matches about one period apart, from the best match on to both ends, in order of time."""
    found = np.empty(2 * (match.size // max(1, step - reach)) + 3, dtype=np.int64)
    here = int(np.argmax(match))
    n_found = 0
    while here - step >= 0:
        first, end = max(0, here - step - reach), here - step + reach + 1
        here = first + int(np.argmax(match[first:end]))
        found[n_found] = here
        n_found += 1
    found[:n_found] = found[:n_found][::-1].copy()
    here = int(np.argmax(match))
    while True:
        found[n_found] = here
        n_found += 1
        if here + step >= match.size:
            return found[:n_found]
        first, end = max(0, here + step - reach), min(match.size, here + step + reach + 1)
        here = first + int(np.argmax(match[first:end]))
