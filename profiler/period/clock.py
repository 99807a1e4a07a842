"""Iterations that keep time but are too short, or too mixed with others, to be told one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from profiler.period.prepare import Prepared

__all__ = ["clocked_starts", "coherence"]

N_HARMONICS: Final = 6
SEGMENT_CYCLES: Final = 12.0
"""Cycles over which a phase is measured: enough to average, few enough to follow a clock that wanders."""
MIN_SEGMENTS: Final = 5
N_SHIFTS: Final = 96
MAX_STEP_CYCLES: Final = 0.15
"""The phase may move this far from one segment to the next, half a segment later."""


def clocked_starts(prepared: Prepared, period_s: float) -> NDArray[np.float64]:
    """Return the start of each iteration of a job that keeps time, up to a slow wander.

    Parameters
    ----------
    prepared
        The series.
    period_s
        The job's mean period.

    Returns
    -------
    ndarray of float64, shape (n_starts,)
        Seconds after the series begins at which the folded iteration rises most, one a period.

    Notes
    -----
    The harmonics of the whole series are the template; that of each segment, of `SEGMENT_CYCLES` cycles, is turned by
    the shift at which it correlates best with the template, and shifts are interpolated between segments.
    """
    n_bins, per_bin = prepared.n_bins, prepared.dt_s / period_s
    orders = np.arange(1, max(2, min(N_HARMONICS, int(1 / per_bin)) + 1))
    half = max(1, min(round(0.5 * SEGMENT_CYCLES / per_bin), n_bins // 2))
    halves = _harmonics(prepared.x, per_bin, half, orders.size)
    template = halves.sum(axis=1)
    segments = halves[:, :-1] + halves[:, 1:]
    centres = half * np.arange(1, halves.shape[1])
    shifts = _wander(template, segments, orders=orders)
    steepest = _steepest(template, orders=orders)
    cycles = np.arange(np.floor(n_bins * per_bin) + 1) + steepest
    at = np.interp(cycles / per_bin, centres, shifts)
    starts_s: NDArray[np.float64] = (cycles + at) * period_s
    return starts_s[(starts_s >= 0) & (starts_s < prepared.duration_s)]


def coherence(prepared: Prepared, period_s: float) -> float:
    """Return how well segments of a series agree on the phase of a period, 0 to 1.

    The length of the sum of the segments' fundamentals over the sum of their lengths: 1 for a clock, about one over the
    square root of the number of segments where each begins anew; 0 where there are too few to tell.
    """
    per_bin = prepared.dt_s / period_s
    n_each = max(1, round(SEGMENT_CYCLES / per_bin))
    if prepared.n_bins < MIN_SEGMENTS * n_each:
        return 0.0
    segments = _harmonics(prepared.x[: prepared.n_bins // n_each * n_each], per_bin, n_each, 1)[0]
    lengths = float(np.abs(segments).sum())
    return float(np.abs(segments.sum())) / lengths if lengths > 0 else 0.0


@njit(cache=True, nogil=True)
def _harmonics(x: NDArray[np.float64], per_bin: float, n_each: int, n_orders: int) -> NDArray[np.complex128]:
    """Sum x times each harmonic's wave over stretches of ``n_each`` bins, shape (n_orders, n_stretches)."""
    n_stretches = (x.size + n_each - 1) // n_each
    sums = np.zeros((n_orders, n_stretches), dtype=np.complex128)
    for i in range(x.size):
        wave = np.exp(-2j * np.pi * (i + 0.5) * per_bin)
        power = x[i] + 0j
        for h in range(n_orders):
            power *= wave
            sums[h, i // n_each] += power
    return sums


def _steepest(template: NDArray[np.complex128], *, orders: NDArray[np.int64]) -> float:
    """Return the phase (0 to 1) at which the folded iteration rises most."""
    grid = np.arange(N_SHIFTS) / N_SHIFTS
    slope = np.real((2j * np.pi * orders * template) @ np.exp(2j * np.pi * orders[:, None] * grid))
    return float(grid[int(np.argmax(slope))])


def _wander(
    template: NDArray[np.complex128], segments: NDArray[np.complex128], *, orders: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return by how many cycles each segment comes late, shape (n_segments,), followed from one to the next."""
    grid = np.arange(N_SHIFTS) / N_SHIFTS
    match = np.real((np.conj(template)[:, None] * segments).T @ np.exp(2j * np.pi * orders[:, None] * grid))
    return _follow_best(match)


@njit(cache=True, nogil=True)
def _follow_best(match: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the best shift of each segment within reach of the one before it, in cycles; shape (n_segments,)."""
    n_reach = int(MAX_STEP_CYCLES * N_SHIFTS)
    shifts = np.zeros(match.shape[0])
    here = 0
    for i in range(1, match.shape[0]):
        best = here
        for near in range(here - n_reach, here + n_reach + 1):
            if match[i, near % N_SHIFTS] > match[i, best % N_SHIFTS]:
                best = near
        here = best
        shifts[i] = here / N_SHIFTS
    return shifts
