"""Shifts of n jobs on one timeline: coordinate descent whose every step is exact, from many starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pipeline.compat.coincidences import MAX_COINCIDENCES, best_of_three, n_coincidences
from pipeline.compat.kernel import ShiftCurve
from pipeline.compat.placement import Placement, tolerance_bps
from pipeline.compat.timeline import Circle, excess_at

if TYPE_CHECKING:
    import numpy as np

    from pipeline.compat.timeline import Timeline

__all__ = ["descend", "place_jobs"]

N_STARTS: Final = 16
N_CENTRING_ROUNDS: Final = 12
MAX_ROUNDS: Final = 64

FULL_EFFORT_JOBS: Final = 16
"""With more jobs than this, starts and centring rounds become fewer in proportion: a round costs n² already."""


def place_jobs(timeline: Timeline, *, bound_bps: float, rng: np.random.Generator) -> Placement:
    """Return the best shifts found, that of the first job being 0.

    Parameters
    ----------
    timeline
        The demands, and the time over which they are judged.
    bound_bps
        A lower bound of the mean excess: the search ends once it is attained.
    rng
        Source of the random starts.

    Notes
    -----
    The first start places the largest job first and each next one where it does least harm; the others are uniform. Of
    two jobs the first step is already the optimum; of three the optimum is proved, unless they have very many edges.
    """
    n_jobs = len(timeline.demands)
    best = descend(timeline, _greedy_shifts(timeline), choose=ShiftCurve.best_shift_ns)
    is_proved = n_jobs <= 2 or best.excess_bps <= bound_bps + tolerance_bps(timeline)
    if not is_proved and n_jobs == 3 and isinstance(timeline, Circle) and n_coincidences(timeline) <= MAX_COINCIDENCES:
        best, is_proved = best_of_three(timeline, start=best), True
    if not is_proved:
        best = _search(timeline, best, bound_bps=bound_bps, rng=rng)
    return replace(_centred(timeline, best), is_proved=is_proved)


def _search(timeline: Timeline, best: Placement, *, bound_bps: float, rng: np.random.Generator) -> Placement:
    """Return the best of a placement and of several descents from random shifts."""
    tolerance = tolerance_bps(timeline)
    for _ in range(_effort(N_STARTS, timeline) - 1):
        start = [0, *(int(rng.integers(demand.period_ns)) for demand in timeline.demands[1:])]
        found = descend(timeline, start, choose=ShiftCurve.best_shift_ns)
        if found.excess_bps < best.excess_bps - tolerance:
            best = found
        if best.excess_bps <= bound_bps + tolerance:
            return best
    # Middles of plateaus are rounded to whole ns, and a job that has to fit next to one may miss by that.
    return descend(timeline, best.shifts_ns, choose=ShiftCurve.edge_shift_ns)


def descend(timeline: Timeline, shifts_ns: Sequence[int], *, choose: Callable[[ShiftCurve], int]) -> Placement:
    """Move one job after the other to a best shift until no job can improve.

    Each step is exact, so the excess never rises; the end is a point that no single job can leave for a better one.

    Parameters
    ----------
    timeline, shifts_ns
        The jobs, and where they begin.
    choose
        Which of a job's best shifts to take.
    """
    shifts = list(shifts_ns)
    excess_bps = excess_at(timeline, shifts)
    tolerance = tolerance_bps(timeline)
    for _ in range(MAX_ROUNDS):
        reached_bps = _round(timeline, shifts, choose=choose)
        if reached_bps >= excess_bps - tolerance:
            break
        excess_bps = reached_bps
    return Placement(shifts_ns=tuple(shifts), excess_bps=min(excess_bps, reached_bps))


def _greedy_shifts(timeline: Timeline) -> list[int]:
    """Return shifts found by placing one job after the other, the largest first."""
    order = sorted(range(len(timeline.demands)), key=lambda i: (-timeline.demands[i].mean_bps, i))
    shifts = [0] * len(order)
    for place, i_job in enumerate(order[1:], start=1):
        shifts[i_job] = timeline.curve(i_job, shifts_ns=shifts, beside=order[:place]).best_shift_ns()
    return [
        (shift_ns - shifts[0]) % demand.period_ns for shift_ns, demand in zip(shifts, timeline.demands, strict=True)
    ]


def _round(timeline: Timeline, shifts: list[int], *, choose: Callable[[ShiftCurve], int]) -> float:
    """Move each job but the first to a best shift, in place; return the excess reached."""
    excess_bps = timeline.alone(0)
    jobs = range(len(shifts))
    for i_job in jobs[1:]:
        curve = timeline.curve(i_job, shifts_ns=shifts, beside=[i for i in jobs if i != i_job])
        shifts[i_job] = choose(curve)
        excess_bps = curve.minimum_bps
    return excess_bps


def _centred(timeline: Timeline, placement: Placement) -> Placement:
    """Share the slack: move each job to the middle of its plateau until the middles agree."""
    shifts = list(placement.shifts_ns)
    excess_bps = placement.excess_bps
    for _ in range(_effort(N_CENTRING_ROUNDS, timeline) if len(shifts) > 2 else 1):
        before = list(shifts)
        excess_bps = _round(timeline, shifts, choose=ShiftCurve.best_shift_ns)
        if shifts == before:
            break
    return Placement(shifts_ns=tuple(shifts), excess_bps=excess_bps)


def _effort(full: int, timeline: Timeline) -> int:
    return max(1, full * FULL_EFFORT_JOBS // max(FULL_EFFORT_JOBS, len(timeline.demands)))
