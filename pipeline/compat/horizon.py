"""The best shifts of a link and the time over which they are the best.

Periods that are exact, or that agree within their errors, have a common circle: the shifts hold as long as the
relations do. Over a given horizon with well-known periods the excess is evaluated on that very stretch of time,
whatever the ratios. Beyond what the periods' errors let one foresee there is no such stretch: then the answer is the
one for ever, and it says how long its shifts are the best and how long they help.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pipeline.compat.classes import fits_circle, place_classes, seen_by
from pipeline.compat.commensurate import commensurate_classes
from pipeline.compat.drift import drifts_between
from pipeline.compat.hold import PlacedJobs, drift_hold_s, hold_s, window_hold_s
from pipeline.compat.levels import independent_levels, levels_of
from pipeline.compat.relations import tie_periods
from pipeline.compat.timeline import Circle, Window
from pipeline.compat.turns import Turns
from pipeline.compat.window_bound import window_bound
from pipeline.compat.window_search import WORTH_FRAC, place_in_window
from pipeline.deadline import NEVER
from profiler.errors import UsageError
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import numpy as np

    from pipeline.compat.classes import ClassedPlacement
    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess
    from pipeline.compat.relations import Beat, TiedJobs
    from pipeline.compat.timeline import Timeline
    from pipeline.deadline import Deadline

__all__ = ["BestShifts", "best_shifts", "independent_excess"]

MAX_BEAT: Final = 12
"""Jobs that come round together only after more iterations than this of the slowest have no beat in common."""

PROVED_FRAC: Final = 1e-11
"""A gap of less than this share of the rates that are added up is rounding."""

KNOWN_PHASE: Final = 0.05
"""Periods are known well enough for a horizon if at its end the relative phase is off by at most this many cycles."""

INDEPENDENT: Final = "independent phases"
OVER_HORIZON: Final = " over the horizon"

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
        Time over which they are the best; infinite where the periods are exact. It is the horizon that was asked for,
        but for two jobs whose common circle has too many edges: then as many whole circles as that holds; and where
        periods are not known well enough for the horizon: then as without one.
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
    def is_proved(self) -> bool:
        """Whether no shifts are better but for rounding."""
        scale_bps = sum(demand.peak_bps for demand in self.demands)
        return self.excess_bps - self.bound_bps <= PROVED_FRAC * scale_bps

    @property
    def shares_beat(self) -> bool:
        """Whether all jobs come round together after a few iterations of the slowest."""
        periods_ns = [demand.period_ns for demand in self.demands]
        return len(self.classes) == 1 and math.lcm(*periods_ns) <= MAX_BEAT * max(periods_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """What is given, and how long it may take."""

    excess: Excess
    beats: Sequence[Beat]
    rng: np.random.Generator
    deadline: Deadline


def best_shifts(
    demands: Sequence[Demand],
    *,
    beats: Sequence[Beat],
    excess: Excess,
    horizon_s: float | None,
    rng: np.random.Generator,
    deadline: Deadline = NEVER,
) -> BestShifts:
    """Return the best shifts over a horizon, or for as long as they last if none is given.

    Parameters
    ----------
    demands, beats
        One a job.
    excess
        What a rate costs.
    horizon_s
        The excess is the mean over the time from 0 to here; None, or later than phases can be foreseen: over all of
        time.
    rng
        Source of the random starts.
    deadline
        When to give the best so far, with its gap.

    Raises
    ------
    UsageError
        If the jobs change their rates too often within the horizon.
    """
    search = _Search(excess=excess, beats=beats, rng=rng, deadline=deadline)
    tied = tie_periods(demands, beats)
    if horizon_s is None or len(demands) < 2:
        return _for_ever(tied, search)
    horizon_ns = round(horizon_s * NS_PER_S)
    best = None
    if len(tied.pools) == 1 and _comes_round(tied.demands, horizon_ns=horizon_ns):
        best = _for_ever(tied, search)
        if horizon_ns <= best.horizon_s * NS_PER_S:
            return _over_turns(best, search, horizon_ns=horizon_ns)
    if _phase_error(beats) * horizon_s <= KNOWN_PHASE:
        return _over_window(Window(demands=demands, excess=excess, length_ns=horizon_ns), search)
    return _for_ever(tied, search) if best is None else best


def independent_excess(demands: Sequence[Demand], *, excess: Excess) -> float:
    """Return the mean excess of jobs whose phases have nothing to do with each other."""
    total = independent_levels(levels_of(demand) for demand in demands)
    return float(total.weight @ excess(total.rate_bps))


def _comes_round(demands: Sequence[Demand], *, horizon_ns: int) -> bool:
    """Return whether jobs of one pool are one class, and their common circle is over by the horizon."""
    length_ns = math.lcm(*(demand.period_ns for demand in demands))
    return length_ns <= horizon_ns and len(commensurate_classes(demands, pool=range(len(demands)))) == 1


def _for_ever(tied: TiedJobs, search: _Search) -> BestShifts:
    demands, excess = tied.demands, search.excess
    found = place_classes(demands, pools=tied.pools, excess=excess, rng=search.rng, deadline=search.deadline)
    placed = _placed(found, demands=demands, search=search)
    keeps_phase = len(demands) == 1 or any(len(members) > 1 for members in found.classes)
    has_circle = len(found.classes) == 1 or (len(tied.pools) == 1 and fits_circle(demands))
    return BestShifts(
        demands=demands,
        shifts_ns=found.placement.shifts_ns,
        excess_bps=found.placement.excess_bps,
        bound_bps=found.bound_bps,
        horizon_s=min(map(drift_hold_s, placed), default=math.inf),
        hold_s=min(map(hold_s, placed), default=math.inf if keeps_phase else 0.0),
        classes=found.classes,
        timeline=Circle(demands=demands, excess=excess) if has_circle else None,
        method=found.placement.method if keeps_phase else INDEPENDENT,
    )


def _placed(found: ClassedPlacement, *, demands: Sequence[Demand], search: _Search) -> list[PlacedJobs]:
    """Return the jobs of each class at their shifts, if these can move: without error and jitter they stay for ever."""
    if not any(beat.error_s or beat.jitter_s for beat in search.beats):
        return []
    shifts_ns = found.placement.shifts_ns
    placed = []
    for i_class, members in enumerate(found.classes):
        if len(members) > 1:
            seen = seen_by(i_class, found.classes, demands=demands, shifts=shifts_ns, excess=search.excess)
            circle = Circle(demands=[demands[i] for i in members], excess=seen)
            of_class = [shifts_ns[i] for i in members]
            placed.append(PlacedJobs(timeline=circle, shifts_ns=of_class, beats=[search.beats[i] for i in members]))
    return placed


def _over_turns(best: BestShifts, search: _Search, *, horizon_ns: int) -> BestShifts:
    """Return shifts for all of time with what they cost up to the horizon, where the last circle is cut off.

    Of two jobs whose circle cannot be laid out only whole circles count: their horizon is rounded down to these.
    """
    circle_ns = math.lcm(*(demand.period_ns for demand in best.demands))
    if not fits_circle(best.demands):
        horizon_ns -= horizon_ns % circle_ns
    turns = Turns(demands=best.demands, excess=search.excess, length_ns=horizon_ns, circle_ns=circle_ns)
    best = replace(best, horizon_s=horizon_ns / NS_PER_S)
    if turns.rest is None:
        return best
    bound_bps = turns.mean(circle_bps=best.bound_bps, rest_bps=window_bound(turns.rest, deadline=search.deadline))
    shifts_ns, excess_bps = _begun_best(turns, best.shifts_ns)
    best = replace(
        best, shifts_ns=shifts_ns, excess_bps=excess_bps, bound_bps=min(bound_bps, excess_bps), timeline=turns
    )
    # The last circle, cut off, may have better shifts of its own, which no kernel looked for.
    return replace(best, method=(best.method if best.is_proved else "coordinate descent") + OVER_HORIZON)


def _begun_best(turns: Turns, shifts_ns: tuple[int, ...]) -> tuple[tuple[int, ...], float]:
    """Return the shifts with their excess, all later by as much as is best for the last circle if that gains enough."""
    excess_bps = turns.at(shifts_ns)
    later_ns = turns.best_begin_ns(shifts_ns)
    begun_ns = tuple((shift + later_ns) % d.period_ns for shift, d in zip(shifts_ns, turns.demands, strict=True))
    begun_bps = turns.at(begun_ns)
    if begun_bps < excess_bps - WORTH_FRAC * turns.excess.capacity_bps:
        return begun_ns, begun_bps
    return shifts_ns, excess_bps


def _over_window(window: Window, search: _Search) -> BestShifts:
    """Solve on the horizon itself, with the periods as they are."""
    _check_size(window)
    length_s = window.length_ns / NS_PER_S
    bound_bps = window_bound(window, deadline=search.deadline)
    found = place_in_window(window, bound_bps=bound_bps, rng=search.rng, deadline=search.deadline)
    placed = PlacedJobs(timeline=window, shifts_ns=found.shifts_ns, beats=search.beats)
    return BestShifts(
        demands=tuple(window.demands),
        shifts_ns=found.shifts_ns,
        excess_bps=found.excess_bps,
        bound_bps=min(bound_bps, found.excess_bps),
        horizon_s=length_s,
        hold_s=window_hold_s(placed, length_s=length_s),
        classes=(tuple(range(len(window.demands))),),
        timeline=window,
        method=found.method + OVER_HORIZON,
    )


def _phase_error(beats: Sequence[Beat]) -> float:
    """Return how fast the relative phase of two jobs becomes uncertain, two standard errors, in cycles a second."""
    return float(drifts_between(beats).unforeseen_hz.max())


def _check_size(window: Window) -> None:
    n_edges = sum(window.length_ns // demand.period_ns * demand.edges_ns.size for demand in window.demands)
    n_meetings = n_edges * max(demand.edges_ns.size for demand in window.demands)
    if n_meetings > MAX_MEETINGS:
        longest_s = window.length_ns / NS_PER_S * MAX_MEETINGS / n_meetings
        raise UsageError(
            f"compat: horizon_s {window.length_ns / NS_PER_S:g}: these jobs change their rate {n_edges} times in it, "
            f"too often to try; give at most {longest_s:.2g} s, or no horizon for ever"
        )
