"""`ranges_of`: for each job the shifts that serve as well as its own, the other jobs standing still."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pipeline.deadline import NEVER
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.groups import Group
    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.result import JobShift
    from pipeline.deadline import Deadline

__all__ = ["TOLERANCE_FRAC", "ShiftRanges", "ranges_of", "with_ranges"]

TOLERANCE_FRAC: Final = 0.01
"""Of the capacity: shifts whose score is lower by at most this are good ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftRanges:
    """Shifts of one job that serve as well, in seconds.

    Parameters
    ----------
    repeat_s
        Shifts that differ by this are the same.
    plateau_s
        First and last of the shifts around the job's own that score as well as the best.
    good_shifts_s
        First and last of every stretch of shifts that score so within a tolerance, shape (n_stretches, 2), the
        stretch of the job's own shift first, the others by their width; one may begin before 0 or end after
        ``repeat_s``.
    """

    repeat_s: float
    plateau_s: tuple[float, float]
    good_shifts_s: tuple[tuple[float, float], ...]


def ranges_of(
    demands: Sequence[Demand], groups: Iterable[Group], *, within_bps: float, deadline: Deadline = NEVER
) -> tuple[ShiftRanges | None, ...]:
    """Return the ranges of all jobs; a job in no group may begin at any time.

    Parameters
    ----------
    demands
        One a job.
    groups
        Those that keep a phase, at their shifts.
    within_bps
        Mean excess above the least that a good shift may have.
    deadline
        When it is over, what is left is not looked for: None.
    """
    ranges: list[ShiftRanges | None] = [_anywhere(demand.period_ns / NS_PER_S) for demand in demands]
    for group in groups:
        if len(group.members) < 2:
            continue
        for i_job in group.members:
            ranges[i_job] = None
        for i_job, shift_ns, curve in zip(group.members, group.shifts_ns, group.curves(), strict=True):
            ranges[i_job] = _ranges(curve, shift_ns, within_bps=within_bps)
            if deadline.is_over():
                break
    return tuple(ranges)


def with_ranges(shift: JobShift, ranges: ShiftRanges | None) -> JobShift:
    """Return a job's advice with the shifts that serve as well, if they are known."""
    if ranges is None:
        return shift
    return replace(shift, repeat_s=ranges.repeat_s, plateau_s=ranges.plateau_s, good_shifts_s=ranges.good_shifts_s)


def _anywhere(period_s: float) -> ShiftRanges:
    return ShiftRanges(repeat_s=period_s, plateau_s=(0.0, period_s), good_shifts_s=((0.0, period_s),))


def _ranges(curve: ShiftCurve, shift_ns: int, *, within_bps: float) -> ShiftRanges:
    own_bps = max(0.0, float(curve.at(shift_ns)) - curve.minimum_bps)
    plateau, _ = _stretches(curve, shift_ns, within_bps=own_bps)
    good, others = _stretches(curve, shift_ns, within_bps=max(within_bps, own_bps))
    return ShiftRanges(repeat_s=curve.period_ns / NS_PER_S, plateau_s=plateau, good_shifts_s=(good, *others))


def _stretches(
    curve: ShiftCurve, shift_ns: int, *, within_bps: float
) -> tuple[tuple[float, float], list[tuple[float, float]]]:
    """Return the stretch around a shift with at most so much more excess than the least, and the other stretches."""
    around = (shift_ns / NS_PER_S, shift_ns / NS_PER_S)
    others: list[tuple[float, float]] = []
    for plateau in curve.plateaus(within_bps=within_bps):
        if plateau.width_ns == curve.period_ns:
            return (0.0, curve.period_ns / NS_PER_S), []
        into_ns = (shift_ns - plateau.start_ns) % curve.period_ns
        start_ns = shift_ns - into_ns if into_ns <= plateau.width_ns else plateau.start_ns
        stretch = (start_ns / NS_PER_S, (start_ns + plateau.width_ns) / NS_PER_S)
        if into_ns <= plateau.width_ns:
            around = stretch
        else:
            others.append(stretch)
    return around, others
