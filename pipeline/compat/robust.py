"""`under_jitter`: what shifts are worth when no job keeps them exactly, on average and at the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.standing import Standing
from pipeline.compat.timeline import Circle, excess_at
from pipeline.deadline import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.timeline import Timeline
    from pipeline.deadline import Deadline

__all__ = ["JITTER_FRAC", "UnderJitter", "hammersley", "under_jitter"]

JITTER_FRAC: Final = 0.05
"""Each job is off its shift by up to this fraction of its period, uniformly (DESIGN section 5)."""

N_POINTS: Final = 64
N_CLIMBS: Final = 4
N_ROUNDS: Final = 16
FULL_EFFORT_JOBS: Final = 16
"""With more jobs than this points, climbs and rounds become fewer in proportion."""

LEAST_REACH: Final = 1e-5
"""Errors that reach over less of a curve's period than this are none: rounding would outgrow what they change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderJitter:
    """Mean excess with every shift off by an error: its expectation, and the worst of all errors.

    ``is_worst_proved`` tells whether no errors are worse; else it is the worst that was found.
    """

    expected_bps: float
    worst_bps: float
    is_worst_proved: bool


def under_jitter(
    timeline: Timeline,
    shifts_ns: Sequence[int],
    *,
    jitter_frac: float = JITTER_FRAC,
    deadline: Deadline = NEVER,
) -> UnderJitter:
    """Return what becomes of the mean excess if each shift has an independent uniform error of up to ±jitter_frac T.

    Parameters
    ----------
    timeline, shifts_ns
        The jobs, and when each begins.
    jitter_frac
        Largest error as a fraction of each job's period.
    deadline
        When it is over, fewer errors are tried.

    Notes
    -----
    Of two jobs that go on for ever only the difference of the errors counts: the expectation is a second difference of
    the shift curve's second antiderivative, and the worst one of its kinks within reach; both are exact. Else the
    expectation is exact over the first job's error and averaged over a Hammersley set [1]_ of the others', which fills
    their cube evenly, and the worst is climbed to, one job after the other, from the worst of these points: no random
    part in either.

    References
    ----------
    .. [1] H. Niederreiter, "Random Number Generation and Quasi-Monte Carlo Methods", 1992, section 3.
    """
    reach_ns = [round(jitter_frac * demand.period_ns) for demand in timeline.demands]
    if len(reach_ns) == 1 or max(reach_ns) == 0:
        excess_bps = excess_at(timeline, shifts_ns)
        return UnderJitter(expected_bps=excess_bps, worst_bps=excess_bps, is_worst_proved=True)
    if len(reach_ns) == 2 and isinstance(timeline, Circle):
        curve = timeline.curve(1, shifts_ns=shifts_ns, beside=(0,))
        return UnderJitter(
            expected_bps=_expected(curve, shifts_ns[1], reach_ns=reach_ns),
            worst_bps=_worst(curve, shifts_ns[1], reach_ns=sum(reach_ns))[1],
            is_worst_proved=True,
        )
    return _tried(timeline, list(shifts_ns), reach_ns=reach_ns, deadline=deadline)


def _tried(timeline: Timeline, shifts_ns: list[int], *, reach_ns: list[int], deadline: Deadline) -> UnderJitter:
    n_jobs = len(shifts_ns)
    points: list[tuple[float, list[int]]] = []
    means_bps: list[float] = []
    for error in 2 * hammersley(_effort(N_POINTS, n_jobs), n_jobs - 1) - 1:
        moves_ns = np.rint(error * reach_ns[1:]).astype(np.int64).tolist()
        moved = [shifts_ns[0], *(shift + move for shift, move in zip(shifts_ns[1:], moves_ns, strict=True))]
        curve = timeline.curve(0, shifts_ns=moved, beside=range(1, n_jobs))
        means_bps.append(curve.mean_over(shifts_ns[0] - reach_ns[0], width_ns=2 * reach_ns[0]))
        at_ns, worst_bps = _worst(curve, shifts_ns[0], reach_ns=reach_ns[0])
        points.append((worst_bps, [at_ns, *moved[1:]]))
        if deadline.is_over():
            break
    points.sort(key=lambda point: -point[0])
    tops_bps = [
        _climbed(timeline, moved, around_ns=shifts_ns, reach_ns=reach_ns, deadline=deadline)
        for _, moved in points[: _effort(N_CLIMBS, n_jobs)]
    ]
    worst_bps = max(points[0][0], *tops_bps)
    return UnderJitter(expected_bps=float(np.mean(means_bps)), worst_bps=worst_bps, is_worst_proved=False)


def _climbed(
    timeline: Timeline, moved_ns: list[int], *, around_ns: list[int], reach_ns: list[int], deadline: Deadline
) -> float:
    """Move one job after the other to where it does most harm, until none can do more; return the excess there."""
    standing = Standing(timeline, moved_ns)
    excess_bps = 0.0
    for _ in range(_effort(N_ROUNDS, len(moved_ns))):
        before_bps = excess_bps
        for i_job, (centre_ns, reach) in enumerate(zip(around_ns, reach_ns, strict=True)):
            if deadline.is_over():
                return excess_bps
            worst_ns, excess_bps = _worst(standing.curve(i_job), centre_ns, reach_ns=reach)
            standing.move(i_job, worst_ns)
        if excess_bps <= before_bps:
            break
    return excess_bps


def _worst(curve: ShiftCurve, shift_ns: int, *, reach_ns: int) -> tuple[int, float]:
    """Return the shift of most excess within reach of another, and that excess."""
    into_ns = (curve.kinks_ns - (shift_ns - reach_ns)) % curve.period_ns
    inside_ns = shift_ns - reach_ns + into_ns[into_ns <= 2 * reach_ns]
    tried_ns = np.concatenate([[shift_ns - reach_ns, shift_ns, shift_ns + reach_ns], inside_ns])
    excess_bps = curve.at(tried_ns)
    place = int(np.argmax(excess_bps))
    return int(tried_ns[place]), float(excess_bps[place])


def _expected(curve: ShiftCurve, shift_ns: int, *, reach_ns: Sequence[int]) -> float:
    """Return the mean of a curve over the sum of two uniform errors around a shift."""
    first, second = (reach / curve.period_ns for reach in reach_ns)
    if min(first, second) < LEAST_REACH:
        return float(curve.at(shift_ns))
    ends = np.array([1, -1, -1, 1])
    errors_ns = [reach_ns[0] + reach_ns[1], reach_ns[0] - reach_ns[1], reach_ns[1] - reach_ns[0], -sum(reach_ns)]
    at_ns = (shift_ns + np.array(errors_ns)) % curve.period_ns
    expected_bps = curve.mean_bps + float(ends @ _twice_integrated(curve, at_ns)) / (4 * first * second)
    return float(np.clip(expected_bps, curve.minimum_bps, curve.excess_bps.max()))


def _twice_integrated(curve: ShiftCurve, at_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the periodic second antiderivative of a curve's deviation from its mean, time in periods of the curve."""
    widths = np.diff(curve.kinks_ns, append=curve.kinks_ns[0] + curve.period_ns) / curve.period_ns
    value = curve.excess_bps - curve.mean_bps
    slope = (np.roll(value, -1) - value) / widths
    once = np.concatenate([[0.0], np.cumsum(widths * (value + np.roll(value, -1)) / 2)])[:-1]
    once -= float(np.sum(once * widths + value * widths**2 / 2 + slope * widths**3 / 6))
    twice = np.concatenate(
        [[0.0], np.cumsum(once * widths + value * widths**2 / 2 + slope * widths**3 / 6)],
    )[:-1]
    place = np.searchsorted(curve.kinks_ns, at_ns, side="right") - 1
    into = (at_ns - curve.kinks_ns[place]) % curve.period_ns / curve.period_ns
    found: NDArray[np.float64] = twice[place] + into * (
        once[place] + into * (value[place] / 2 + into * slope[place] / 6)
    )
    return found


def _effort(full: int, n_jobs: int) -> int:
    return max(1, full * FULL_EFFORT_JOBS // max(FULL_EFFORT_JOBS, n_jobs))


def hammersley(n_points: int, n_dims: int) -> NDArray[np.float64]:
    """Return points in the unit cube, shape (n_points, n_dims): midpoints, then multiples of irrational steps.

    The steps are powers of a generalised golden ratio, the root of ``x^n = x + 1`` for n - 1 of them.
    """
    index = np.arange(n_points)[:, None]
    ratio = 1.5
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / n_dims)
    steps = ratio ** -np.arange(1.0, n_dims)
    return np.hstack([(index + 0.5) / n_points, (index + 0.5) * steps[None, :] % 1.0])
