"""Shifts of n jobs on one timeline: coordinate descent whose every step is exact, from many starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pipeline.compat.kernel import FLAT_FRAC
from pipeline.compat.timeline import excess_at

if TYPE_CHECKING:
    import numpy as np

    from pipeline.compat.timeline import Timeline

__all__ = ["Placement", "descend", "place_jobs"]

N_STARTS: Final = 16
MAX_ROUNDS: Final = 64
N_CENTRING_ROUNDS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Shifts of some jobs, in the order of their demands, and the mean excess at them."""

    shifts_ns: tuple[int, ...]
    excess_bps: float


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
    The first start places the largest job first and each next one where it does least harm; the others are uniform.
    With two jobs the first step is already the optimum.
    """
    best = descend(timeline, _greedy_shifts(timeline))
    tolerance_bps = FLAT_FRAC * sum(demand.peak_bps for demand in timeline.demands)
    for _ in range(N_STARTS - 1):
        if len(timeline.demands) <= 2 or best.excess_bps <= bound_bps + tolerance_bps:
            break
        start = [0, *(int(rng.integers(demand.period_ns)) for demand in timeline.demands[1:])]
        found = descend(timeline, start)
        if found.excess_bps < best.excess_bps - tolerance_bps:
            best = found
    return _centred(timeline, best)


def descend(timeline: Timeline, shifts_ns: Sequence[int]) -> Placement:
    """Move one job after the other to its best shift until no job can improve.

    Each step is exact, so the excess never rises; the end is a point that no single job can leave for a better one.
    """
    shifts = list(shifts_ns)
    excess_bps = excess_at(timeline, shifts)
    tolerance_bps = FLAT_FRAC * sum(demand.peak_bps for demand in timeline.demands)
    for _ in range(MAX_ROUNDS):
        reached_bps = _round(timeline, shifts)
        if reached_bps >= excess_bps - tolerance_bps:
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


def _round(timeline: Timeline, shifts: list[int]) -> float:
    """Move each job but the first to the middle of its best plateau, in place; return the excess reached."""
    excess_bps = timeline.alone(0)
    jobs = range(len(shifts))
    for i_job in jobs[1:]:
        curve = timeline.curve(i_job, shifts_ns=shifts, beside=[i for i in jobs if i != i_job])
        shifts[i_job] = curve.best_shift_ns()
        excess_bps = curve.minimum_bps
    return excess_bps


def _centred(timeline: Timeline, placement: Placement) -> Placement:
    """Share the slack: move each job to the middle of its plateau until the middles agree."""
    shifts = list(placement.shifts_ns)
    excess_bps = placement.excess_bps
    for _ in range(N_CENTRING_ROUNDS if len(shifts) > 2 else 1):
        before = list(shifts)
        excess_bps = _round(timeline, shifts)
        if shifts == before:
            break
    return Placement(shifts_ns=tuple(shifts), excess_bps=excess_bps)
