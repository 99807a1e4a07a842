"""A second job on the same counter.

What a first job leaves over has a comb of its own if a second job is there, but also if the first one's iterations
vary, or if it is slowed by a job on another port. The second is told apart by when it is heard: a job of its own keeps
its beat while the first is silent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.bursts import threshold
from profiler.period.clock import clocked_starts
from profiler.period.comb import find_combs
from profiler.period.folding import Fold
from profiler.period.prepare import prepare
from profiler.period.spectrum import line_spectrum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.period.comb import Comb
    from profiler.period.prepare import Prepared
    from profiler.signals import UniformRate

__all__ = ["Heard", "hear_other", "leaves_little", "without_job"]

MIN_EVIDENCE: Final = 8.0
MIN_LEFT_FRAC: Final = 0.05
"""What a first job leaves over must be at least this part of the variance to be looked at."""
SILENT_FRAC: Final = 0.4
"""A job is silent in this part of its iteration, where it moves least."""
MIN_AGREEMENT: Final = 0.8
"""Correlation of the second job's iteration as heard while the first is silent, and while it is not."""
MIN_HEARD_FRAC: Final = 0.2
"""The second job's swing while the first is silent, over the first one's own."""
MAX_SWING_RATIO: Final = 2.0
MIN_COVERED: Final = 0.9
MIN_CYCLES: Final = 5.0
SAME_FRAC: Final = 0.03
MAX_PARTS: Final = 48
MIN_PARTS: Final = 6
N_TRIED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heard:
    """A second job: its period, starts of its iterations (s, shape (n_starts,)), comb, and how well it agrees."""

    period_s: float
    starts_s: NDArray[np.float64]
    comb: Comb
    agreement: float


def leaves_little(prepared: Prepared, starts_s: NDArray[np.float64], *, period_s: float) -> bool:
    """Return whether a job with these iterations explains a series nearly in full."""
    fold = _fold(prepared, starts_s, period_s=period_s)
    left = prepared.x - fold.spread(fold.means(prepared.x, prepared.weight))
    return bool(np.dot(left * left, prepared.weight) < MIN_LEFT_FRAC * np.dot(prepared.x, prepared.x))


def hear_other(prepared: Prepared, starts_s: NDArray[np.float64], *, period_s: float) -> Heard | None:
    """Return a second job on a series whose first one is known, or None if none is heard.

    Parameters
    ----------
    prepared
        The series.
    starts_s
        Starts of the first job's iterations in seconds after the series begins, shape (n_starts,).
    period_s
        Its period in seconds.
    """
    first = _fold(prepared, starts_s, period_s=period_s)
    shape = first.means(prepared.x, prepared.weight)
    left = (prepared.x - first.spread(shape)) * prepared.weight
    if np.dot(left, left) < MIN_LEFT_FRAC * np.dot(prepared.x, prepared.x):
        return None
    silent = first.spread(shape) <= np.quantile(shape, SILENT_FRAC)
    rest = replace(prepared, x=left)
    for comb in find_combs(line_spectrum(rest), N_TRIED):
        other_s = comb.period_bins * prepared.dt_s
        if comb.evidence < MIN_EVIDENCE or prepared.duration_s < MIN_CYCLES * other_s:
            continue
        if _is_multiple(other_s, period_s, duration_s=prepared.duration_s):
            continue
        other_starts_s = clocked_starts(rest, other_s)
        second = _fold(prepared, other_starts_s, period_s=other_s)
        agreement = _agreement(prepared, rest, second, silent=silent, swing=float(np.ptp(shape)))
        if agreement >= MIN_AGREEMENT:
            return Heard(period_s=other_s, starts_s=other_starts_s, comb=comb, agreement=agreement)
    return None


def without_job(
    uniform: UniformRate, starts_s: NDArray[np.float64], *, period_s: float
) -> tuple[UniformRate, Prepared]:
    """Return the rate that a job with these iterations leaves over, and the same ready for correlation.

    The job's typical iteration, above its own lowest rate, is taken off each of its iterations.
    """
    times_s = (np.arange(uniform.rate_bps.size, dtype=np.float64) + 0.5) * uniform.dt_s
    n_parts = int(np.clip(period_s / uniform.dt_s, MIN_PARTS, MAX_PARTS))
    fold = Fold.of(starts_s, times_s, period_s=period_s, n_parts=n_parts)
    shape_bps = fold.means(uniform.rate_bps, uniform.known.astype(np.float64))
    left_bps = np.maximum(uniform.rate_bps - fold.spread(shape_bps - shape_bps.min()), 0.0) * uniform.known
    left = replace(uniform, rate_bps=left_bps)
    return left, prepare(left, cut_bps=threshold(left_bps[left.known]))


def _is_multiple(one_s: float, other_s: float, *, duration_s: float) -> bool:
    """Return whether one period is a whole multiple of the other, as far as the series' length can tell."""
    order = max(one_s, other_s) / min(one_s, other_s)
    return abs(order - round(order)) < max(SAME_FRAC, min(0.2, max(one_s, other_s) / duration_s))


def _fold(prepared: Prepared, starts_s: NDArray[np.float64], *, period_s: float) -> Fold:
    times_s = (np.arange(prepared.n_bins, dtype=np.float64) + 0.5) * prepared.dt_s
    n_parts = int(np.clip(period_s / prepared.dt_s, MIN_PARTS, MAX_PARTS))
    return Fold.of(starts_s, times_s, period_s=period_s, n_parts=n_parts)


def _agreement(prepared: Prepared, rest: Prepared, second: Fold, *, silent: NDArray[np.bool_], swing: float) -> float:
    """Return how well a second job's iteration, heard while the first is silent, agrees with what is left otherwise.

    0 where it is not heard in nearly all of its iteration, too quiet, or of another size.
    """
    while_silent, while_loud = prepared.weight * silent, prepared.weight * ~silent
    covered = (second.counts(while_silent) > 0) & (second.counts(while_loud) > 0)
    if np.count_nonzero(covered) < max(MIN_PARTS / 2, MIN_COVERED * second.n_parts):
        return 0.0
    heard = second.means(prepared.x, while_silent)[covered]
    otherwise = second.means(rest.x, while_loud)[covered]
    heard_swing, other_swing = float(np.ptp(heard)), float(np.ptp(otherwise))
    too_quiet = heard_swing < MIN_HEARD_FRAC * swing or other_swing <= 0
    if too_quiet or not 1 / MAX_SWING_RATIO < heard_swing / other_swing < MAX_SWING_RATIO:
        return 0.0
    return float(np.corrcoef(heard, otherwise)[0, 1])
