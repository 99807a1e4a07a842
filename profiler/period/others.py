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
from profiler.period.choice import weighed
from profiler.period.clock import clocked_starts
from profiler.period.comb import find_combs
from profiler.period.folding import Fold
from profiler.period.prepare import prepare
from profiler.period.rivals import settled
from profiler.period.spectrum import line_spectrum

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from profiler.period.choice import Choice
    from profiler.period.prepare import Prepared
    from profiler.signals import UniformRate

__all__ = ["Heard", "are_a_sum", "hear_other", "is_multiple", "leaves_little", "without_job"]

MIN_EVIDENCE: Final = 8.0
MIN_LEFT_FRAC: Final = 0.05
"""What a first job leaves over must be at least this part of the variance to be looked at."""
QUIET_FRAC: Final = 0.04
"""A second job heard at all, Up for a tenth of its iteration or more, varies by more than this part of the first's
swing."""
SILENT_FRAC: Final = 0.4
"""A job is silent in this part of its iteration, where it moves least."""
MIN_AGREEMENT: Final = 0.8
"""Correlation of the second job's iteration as heard while the first is silent, and while it is not."""
MIN_HEARD_FRAC: Final = 0.2
"""The second job's swing while the first is silent, over the first one's own."""
MAX_SWING_RATIO: Final = 2.0
MIN_COVERED: Final = 0.9
MIN_CYCLES: Final = 5.0
SAME_FRAC: Final = 0.025
"""Periods closer to a whole multiple of one another than this, for each time that one holds the other, are not told
from one."""
MAX_SLACK: Final = 0.2
SHUNNED_FRAC: Final = 0.02
SHUNNED_ORDERS: Final = range(1, 5)
MAX_PARTS: Final = 48
MIN_PARTS: Final = 6
WHOLE_FRAC: Final = 0.7
"""One iteration of the common multiple explains at least this part of the series."""
N_DELAYS: Final = 64
MIN_STARTS: Final = 8
LATE_TOGETHER: Final = 0.007
"""Parts of one iteration stay this close, over the shorter period, however it wanders."""
N_BACKFITS: Final = 3
SUM_FRAC: Final = 0.95
"""Two jobs together explain at least this part of what one iteration of their common multiple does."""
EACH_FRAC: Final = 0.2
"""Without either one, at least this part of it goes unexplained."""
N_TRIED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heard:
    """A second job: its period with what speaks for it, and the starts of its iterations (s, shape (n_starts,))."""

    choice: Choice
    starts_s: NDArray[np.float64]


def leaves_little(prepared: Prepared, starts_s: NDArray[np.float64], *, period_s: float) -> bool:
    """Return whether a job with these iterations explains a series nearly in full, or its silence is one."""
    fold = _fold(prepared.n_bins, starts_s, dt_s=prepared.dt_s, period_s=period_s)
    shape = fold.means(prepared.x, prepared.weight)
    left = (prepared.x - fold.spread(shape)) * prepared.weight
    if np.dot(left, left) < MIN_LEFT_FRAC * np.dot(prepared.x, prepared.x):
        return True
    silent = (fold.spread(shape) <= np.quantile(shape, SILENT_FRAC)) & (prepared.weight > 0)
    return bool(np.std(prepared.x[silent]) < QUIET_FRAC * np.ptp(shape))


def hear_other(
    prepared: Prepared, starts_s: NDArray[np.float64], *, period_s: float, shunned_s: Collection[float] = ()
) -> Heard | None:
    """Return a second job on a series whose first one is known, or None if none is heard.

    Parameters
    ----------
    prepared
        The series.
    starts_s
        Starts of the first job's iterations in seconds after the series begins, shape (n_starts,).
    period_s
        Its period in seconds.
    shunned_s
        Periods in seconds that are no job's: those at which gaps between polls repeat.
    """
    first = _fold(prepared.n_bins, starts_s, dt_s=prepared.dt_s, period_s=period_s)
    shape = first.means(prepared.x, prepared.weight)
    left = (prepared.x - first.spread(shape)) * prepared.weight
    if np.dot(left, left) < MIN_LEFT_FRAC * np.dot(prepared.x, prepared.x):
        return None
    silent = first.spread(shape) <= np.quantile(shape, SILENT_FRAC)
    rest = replace(prepared, x=left)
    combs = settled(find_combs(line_spectrum(rest), N_TRIED), rest, disturbed=False)
    for comb in combs:
        other_s = comb.period_bins * prepared.dt_s
        if comb.evidence < MIN_EVIDENCE or prepared.duration_s < MIN_CYCLES * other_s:
            continue
        if _is_shunned(other_s, shunned_s) or is_multiple(other_s, period_s, duration_s=prepared.duration_s):
            continue
        other_starts_s = clocked_starts(rest, other_s)
        second = _fold(prepared.n_bins, other_starts_s, dt_s=prepared.dt_s, period_s=other_s)
        if _agreement(prepared, rest, second, silent=silent, swing=float(np.ptp(shape))) >= MIN_AGREEMENT:
            return Heard(choice=weighed(comb, combs, prepared=rest), starts_s=other_starts_s)
    return None


def are_a_sum(prepared: Prepared, *, one_s: float, other_s: float, whole_s: float) -> bool:
    """Return whether a period is but the common multiple of two others, whose jobs together explain the series.

    Parameters
    ----------
    prepared
        The series.
    one_s, other_s
        Periods in seconds, parts of the whole one.
    whole_s
        The period that the series seems to have, in seconds.

    Notes
    -----
    One iteration of the whole period can be of any shape; two jobs have one shape each, of which it must be the sum,
    and each must matter. And two jobs wander each by itself, while parts of one iteration come late together.
    """
    starts_s = [clocked_starts(prepared, period_s) for period_s in (one_s, other_s, whole_s)]
    if _come_late_together(starts_s[:2], (one_s, other_s), duration_s=prepared.duration_s):
        return False
    weight, power = prepared.weight, float(np.dot(prepared.x, prepared.x))
    folds = [
        _fold(prepared.n_bins, starts, dt_s=prepared.dt_s, period_s=period_s)
        for starts, period_s in zip(starts_s, (one_s, other_s, whole_s), strict=True)
    ]
    parts = [np.zeros(prepared.n_bins), np.zeros(prepared.n_bins)]
    for _ in range(N_BACKFITS):
        for i in (0, 1):
            left = prepared.x - parts[1 - i]
            parts[i] = folds[i].spread(folds[i].means(left, weight))
    whole = folds[2].spread(folds[2].means(prepared.x, weight))
    explained = [1 - float(np.dot(weight, (prepared.x - model) ** 2)) / power for model in (sum(parts), *parts, whole)]
    both, one, other, all_in_one = explained
    if all_in_one < WHOLE_FRAC:
        return False
    return both >= SUM_FRAC * all_in_one and min(both - one, both - other) >= EACH_FRAC * both


def _come_late_together(
    starts_s: Sequence[NDArray[np.float64]], periods_s: tuple[float, float], *, duration_s: float
) -> bool:
    """Return whether what begins at one set of starts and what begins at the other wander alike."""
    if min(starts.size for starts in starts_s) < MIN_STARTS:
        return True
    times_s = np.linspace(0.0, duration_s, N_DELAYS)
    delays_s = [
        np.interp(times_s, starts, starts - np.arange(starts.size) * period_s)
        for starts, period_s in zip(starts_s, periods_s, strict=True)
    ]
    apart_s = delays_s[0] - delays_s[1]
    slope_s, level_s = np.polyfit(times_s, apart_s, 1)
    return bool(np.std(apart_s - (slope_s * times_s + level_s)) < LATE_TOGETHER * min(periods_s))


def without_job(
    uniform: UniformRate, starts_s: NDArray[np.float64], *, period_s: float
) -> tuple[UniformRate, Prepared]:
    """Return the rate that a job with these iterations leaves over, and the same ready for correlation.

    The job's typical iteration, above its own lowest rate, is taken off each of its iterations.
    """
    fold = _fold(uniform.rate_bps.size, starts_s, dt_s=uniform.dt_s, period_s=period_s)
    shape_bps = fold.means(uniform.rate_bps, uniform.known.astype(np.float64))
    left_bps = np.maximum(uniform.rate_bps - fold.spread(shape_bps - shape_bps.min()), 0.0) * uniform.known
    left = replace(uniform, rate_bps=left_bps)
    return left, prepare(left, cut_bps=threshold(left_bps[left.known]))


def _is_shunned(period_s: float, shunned_s: Collection[float]) -> bool:
    """Return whether a period is one of those to be shunned, or a small multiple of one."""
    orders = [period_s / shunned for shunned in shunned_s]
    return any(round(order) in SHUNNED_ORDERS and abs(order / round(order) - 1) < SHUNNED_FRAC for order in orders)


def is_multiple(one_s: float, other_s: float, *, duration_s: float) -> bool:
    """Return whether one period is a whole multiple of the other, as far as the series' length can tell."""
    order = max(one_s, other_s) / min(one_s, other_s)
    slack = max(SAME_FRAC * round(order), min(MAX_SLACK, max(one_s, other_s) / duration_s))
    return abs(order - round(order)) < slack


def _fold(n_bins: int, starts_s: NDArray[np.float64], *, dt_s: float, period_s: float) -> Fold:
    times_s = (np.arange(n_bins, dtype=np.float64) + 0.5) * dt_s
    n_parts = int(np.clip(period_s / dt_s, MIN_PARTS, MAX_PARTS))
    return Fold.of(starts_s, times_s, period_s=period_s, n_parts=n_parts)


def _agreement(
    prepared: Prepared,
    rest: Prepared,
    second: Fold,
    *,
    silent: NDArray[np.bool_],
    swing: float,
) -> float:
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
