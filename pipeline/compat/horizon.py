"""The best shifts of a link and the time over which they are the best.

Three cases. Periods that are exact, or that agree within their errors, have a common circle: the shifts hold as long
as the relations do. Over a given horizon with well-known periods the excess is evaluated on that very stretch of
time, whatever the ratios. Otherwise phases are lost before the horizon ends, and every shift scores as chance does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.bounds import coupling_bound
from pipeline.compat.classes import place_classes, seen_by
from pipeline.compat.hold import PlacedJobs, drift_hold_s, hold_s, window_hold_s
from pipeline.compat.levels import independent_levels, levels_of
from pipeline.compat.relations import relation_between, tie_periods
from pipeline.compat.solver import place_jobs
from pipeline.compat.timeline import Circle, Window
from profiler.errors import UsageError
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess
    from pipeline.compat.relations import Beat
    from pipeline.compat.timeline import Timeline

__all__ = ["BestShifts", "best_shifts", "independent_excess"]

MAX_BEAT: Final = 12
"""Jobs that come round together only after more iterations than this of the slowest have no beat in common."""

KNOWN_PHASE: Final = 0.05
"""Periods are known well enough for a horizon if at its end the relative phase is off by at most this many cycles."""

MAX_MEETINGS: Final = 4_000_000
"""Edges of all jobs within a window, times those of one: more would take gigabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestShifts:
    """The best shifts found for all jobs.

    Parameters
    ----------
    demands
        The demands as solved: measured periods that agree within their errors on a common clock.
    shifts_ns
        One a job; 0 where no shift matters.
    excess_bps, bound_bps
        Mean excess at these shifts over the horizon, and the least that any shifts could have.
    horizon_s
        Time over which they are the best; infinite where the periods are exact.
    hold_s
        Time after which drift and jitter have used up half of what the shifts gain; 0 where no jobs keep a phase.
    classes
        Jobs, by index, that keep a phase relative to each other.
    timeline
        Where shifts of these demands can be judged; None where not all jobs keep a phase.
    """

    demands: tuple[Demand, ...]
    shifts_ns: tuple[int, ...]
    excess_bps: float
    bound_bps: float
    horizon_s: float
    hold_s: float
    classes: tuple[tuple[int, ...], ...]
    timeline: Timeline | None
    method: str

    @property
    def shares_beat(self) -> bool:
        """Whether all jobs come round together after a few iterations of the slowest."""
        periods_ns = [demand.period_ns for demand in self.demands]
        return len(self.classes) == 1 and math.lcm(*periods_ns) <= MAX_BEAT * max(periods_ns)


def best_shifts(
    demands: Sequence[Demand],
    *,
    beats: Sequence[Beat],
    excess: Excess,
    horizon_s: float | None,
    rng: np.random.Generator,
) -> BestShifts:
    """Return the best shifts over a horizon, or for as long as they last if none is given."""
    best = _for_ever(demands, beats=beats, excess=excess, rng=rng)
    if horizon_s is None or len(demands) < 2:
        return best
    common_ns = math.lcm(*(demand.period_ns for demand in best.demands))
    if len(best.classes) == 1 and common_ns <= horizon_s * NS_PER_S <= best.horizon_s * NS_PER_S:
        return replace(best, horizon_s=horizon_s)
    if _phase_error(beats) * horizon_s <= KNOWN_PHASE:
        window = Window(demands=demands, excess=excess, length_ns=round(horizon_s * NS_PER_S))
        return _over_window(best, window, beats=beats, rng=rng)
    return _by_chance(best, excess=excess, horizon_s=horizon_s)


def independent_excess(demands: Sequence[Demand], *, excess: Excess) -> float:
    """Return the mean excess of jobs whose phases have nothing to do with each other."""
    total = independent_levels(levels_of(demand) for demand in demands)
    return float(total.weight @ excess(total.rate_bps))


def _for_ever(
    demands: Sequence[Demand], *, beats: Sequence[Beat], excess: Excess, rng: np.random.Generator
) -> BestShifts:
    tied = tie_periods(demands, beats)
    found = place_classes(tied.demands, pools=tied.pools, excess=excess, rng=rng)
    shifts_ns = found.placement.shifts_ns
    placed = []
    for i_class, members in enumerate(found.classes):
        if len(members) > 1:
            seen = seen_by(i_class, found.classes, demands=tied.demands, shifts=shifts_ns, excess=excess)
            circle = Circle(demands=[tied.demands[i] for i in members], excess=seen)
            of_class = [shifts_ns[i] for i in members]
            placed.append(PlacedJobs(timeline=circle, shifts_ns=of_class, beats=[beats[i] for i in members]))
    return BestShifts(
        demands=tied.demands,
        shifts_ns=shifts_ns,
        excess_bps=found.placement.excess_bps,
        bound_bps=found.bound_bps,
        horizon_s=min(map(drift_hold_s, placed), default=math.inf),
        hold_s=min(map(hold_s, placed), default=0.0 if len(demands) > 1 else math.inf),
        classes=found.classes,
        timeline=Circle(demands=tied.demands, excess=excess) if len(found.classes) == 1 else None,
        method="exact kernel" if len(demands) == 2 else "coordinate descent with exact steps",
    )


def _over_window(best: BestShifts, window: Window, *, beats: Sequence[Beat], rng: np.random.Generator) -> BestShifts:
    """Solve on the horizon itself, with the periods as they are."""
    _check_size(window)
    length_s = window.length_ns / NS_PER_S
    bound_bps = _window_bound(window)
    found = place_jobs(window, bound_bps=bound_bps, rng=rng)
    placed = PlacedJobs(timeline=window, shifts_ns=found.shifts_ns, beats=beats)
    return replace(
        best,
        demands=tuple(window.demands),
        shifts_ns=found.shifts_ns,
        excess_bps=found.excess_bps,
        bound_bps=min(bound_bps, found.excess_bps),
        horizon_s=length_s,
        hold_s=window_hold_s(placed, length_s=length_s),
        timeline=window,
        method="coordinate descent with exact steps over the horizon",
    )


def _by_chance(best: BestShifts, *, excess: Excess, horizon_s: float) -> BestShifts:
    """Phases are lost within the horizon: no shift is better than another."""
    excess_bps = independent_excess(best.demands, excess=excess)
    return replace(
        best,
        shifts_ns=(0,) * len(best.demands),
        excess_bps=excess_bps,
        bound_bps=excess_bps,
        horizon_s=horizon_s,
        timeline=None,
        method="independent phases",
    )


def _phase_error(beats: Sequence[Beat]) -> float:
    """Return how fast the relative phase of two jobs becomes uncertain, two standard errors, in cycles a second."""
    return max(2 * relation_between(a, b).error_hz for a, b in combinations(beats, 2))


def _check_size(window: Window) -> None:
    n_edges = sum(window.length_ns // demand.period_ns * demand.edges_ns.size for demand in window.demands)
    n_meetings = n_edges * max(demand.edges_ns.size for demand in window.demands)
    if n_meetings > MAX_MEETINGS:
        longest_s = window.length_ns / NS_PER_S * MAX_MEETINGS / n_meetings
        raise UsageError(
            f"compat: horizon_s {window.length_ns / NS_PER_S:g}: these jobs change their rate {n_edges} times in it, "
            f"too often to try; give at most {longest_s:.2g} s, or no horizon for ever"
        )


def _window_bound(window: Window) -> float:
    """Return a lower bound of the mean excess over a window.

    A window holds only whole periods and a rest: each job's share of time at a level differs from that of a whole
    period by at most the rest, and moving that much probability changes the expected excess by at most its largest
    value.
    """
    levels = [levels_of(demand) for demand in window.demands]
    rests = [window.length_ns % demand.period_ns / window.length_ns for demand in window.demands]
    largest_bps = float(window.excess(np.array([sum(demand.peak_bps for demand in window.demands)]))[0])
    whole = coupling_bound(levels, excess=window.excess) - sum(rests) * largest_bps
    means_bps = [demand.mean_bps - rest * demand.peak_bps for demand, rest in zip(window.demands, rests, strict=True)]
    return max(0.0, whole, float(window.excess(np.array([sum(means_bps)]))[0]))
