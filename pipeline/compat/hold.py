"""How long shifts last when nobody holds them: periods drift apart, and the jitter of every iteration adds up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Final

from pipeline.compat.relations import relation_between
from pipeline.compat.timeline import Circle
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess
    from pipeline.compat.relations import Beat

__all__ = ["PlacedJobs", "drift_hold_s", "hold_s", "time_to_leave_s"]

BEST_SHARE: Final = 0.01
"""Shifts that lose at most this share of the gain over chance serve as well as the best."""

HALF_SHARE: Final = 0.5
"""A shift that has lost half of its gain is said to hold no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedJobs:
    """Jobs that keep a phase relative to each other, at their shifts."""

    demands: Sequence[Demand]
    shifts_ns: Sequence[int]
    beats: Sequence[Beat]
    excess: Excess


def drift_hold_s(jobs: PlacedJobs) -> float:
    """Return how long the relations of the periods are held: ``(|nu| + 2 u_nu) t <= a`` for every pair (DESIGN section 5)."""
    slacks_s = _slacks_s(jobs, lost_share=BEST_SHARE)
    times_s = [
        time_to_leave_s(slack_s=slacks_s[i], drift_s_per_s=_drift(jobs.beats[i], jobs.beats[j]), diffusion_s=0.0)
        for i, j in permutations(range(len(jobs.beats)), 2)
    ]
    return min(times_s, default=math.inf)


def hold_s(jobs: PlacedJobs) -> float:
    """Return how long the jobs keep at least half of what their shifts gain over chance, through drift and jitter."""
    slacks_s = _slacks_s(jobs, lost_share=HALF_SHARE)
    times_s = [
        time_to_leave_s(
            slack_s=slacks_s[i],
            drift_s_per_s=_drift(jobs.beats[i], jobs.beats[j]),
            diffusion_s=jobs.beats[i].diffusion_s + jobs.beats[j].diffusion_s,
        )
        for i, j in permutations(range(len(jobs.beats)), 2)
    ]
    return min(times_s, default=math.inf)


def time_to_leave_s(*, slack_s: float, drift_s_per_s: float, diffusion_s: float) -> float:
    """Return when a relative phase leaves its slack: the solution of ``drift t + sqrt(diffusion t) = slack``.

    Parameters
    ----------
    slack_s
        How far it may move.
    drift_s_per_s
        By how much it moves steadily, in seconds a second.
    diffusion_s
        Variance that it gains, in s² a second: a random walk in which every iteration adds its jitter.

    Examples
    --------
    >>> time_to_leave_s(slack_s=0.01, drift_s_per_s=0.001, diffusion_s=0.0)
    10.0
    >>> time_to_leave_s(slack_s=0.01, drift_s_per_s=0.0, diffusion_s=1e-6)
    100.0
    """
    if drift_s_per_s == 0:
        return slack_s**2 / diffusion_s if diffusion_s else math.inf
    root = math.sqrt(diffusion_s + 4 * drift_s_per_s * slack_s) - math.sqrt(diffusion_s)
    return (root / (2 * drift_s_per_s)) ** 2


def _drift(beat: Beat, other: Beat) -> float:
    """Return how fast the phase of one job may move against another's, in seconds a second."""
    relation = relation_between(beat, other)
    return relation.fastest_hz * beat.period_s / relation.p


def _slacks_s(jobs: PlacedJobs, *, lost_share: float) -> list[float]:
    """Return how far each job may move, the others standing still, before that share of the gain over chance is lost."""
    circle = Circle(demands=jobs.demands, excess=jobs.excess)
    places = range(len(jobs.demands))
    slacks_s = []
    for i in places:
        curve = circle.curve(i, shifts_ns=jobs.shifts_ns, beside=[j for j in places if j != i])
        within_bps = lost_share * max(0.0, curve.mean_bps - curve.minimum_bps)
        slacks_s.append(curve.slack_ns(jobs.shifts_ns[i], within_bps=within_bps) / NS_PER_S)
    return slacks_s
