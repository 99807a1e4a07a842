"""What the charts show, as numbers: stacked demand over time, the unified circle, a folded profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pipeline.report.demand import Demand

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["Arc", "Circle", "Fold", "Stack", "fold", "shared_span_s", "stack", "unified_circle"]

MAX_BURSTS = 30
"""A fast job beside a slow one is drawn for this many iterations at most; more is a comb that nobody can read."""
MAX_TURNS = 6
_EDGE_DIGITS = 9
"""Edges that agree to this many digits of the picture's width are one; else rounding makes slivers of them."""
MAX_SLIP_TURNS = 0.05
"""Periods share a circle if, in one turn of it, none slips by more than this part of itself against a whole number."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stack:
    """Demands piled up over time.

    Parameters
    ----------
    edges_s
        Ends of the pieces; float64, shape (n_pieces + 1,).
    levels_bps
        Upper edge of each job's layer in each piece; float64, shape (n_jobs, n_pieces).
    """

    jobs: tuple[str, ...]
    edges_s: NDArray[np.float64]
    levels_bps: NDArray[np.float64]

    @property
    def total_bps(self) -> NDArray[np.float64]:
        """Demand of all jobs in each piece, shape (n_pieces,)."""
        total_bps: NDArray[np.float64] = self.levels_bps[-1]
        return total_bps


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """Part of a circle: from and to in turns from twelve o'clock, and the height of the arc between 0 and 1."""

    job: str
    start_turn: float
    end_turn: float
    height_frac: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """Up phases of each job around one circle.

    ``perimeter_s`` is None where the periods have no short common multiple: each ring is then an iteration of its own
    job, and where rings meet says nothing. ``excess`` are the parts in which the demand exceeds the capacity.
    """

    jobs: tuple[str, ...]
    perimeter_s: float | None
    arcs: tuple[Arc, ...]
    excess: tuple[Arc, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """Rate over one iteration: ends of the bins (n_bins + 1,) and the rate in each (n_bins,)."""

    edges_s: NDArray[np.float64]
    rates_bps: NDArray[np.float64]


def shared_span_s(placed: Sequence[Sequence[Demand]], *, n_iterations: float = 2.5) -> float:
    """Return the time that pictures of the same jobs should span to show some iterations of the slowest."""
    periods_s = [demand.repeat_s for demands in placed for demand in demands if demand.natural_s is not None]
    if not periods_s:
        return 1.0
    return min(n_iterations * max(periods_s), MAX_BURSTS * min(periods_s))


def stack(demands: Sequence[Demand], *, span_s: float) -> Stack:
    """Pile up demands over ``[0, span_s]``, the first at the bottom."""
    ends_s = np.array([0.0, span_s])
    edges_s = np.concatenate([ends_s, *(demand.edges_within(span_s) for demand in demands)])
    edges_s = np.unique(np.round(edges_s / span_s, _EDGE_DIGITS)) * span_s
    middles_s = (edges_s[:-1] + edges_s[1:]) / 2
    rates_bps = np.array([demand.rate_at(middles_s) for demand in demands]).reshape(len(demands), middles_s.size)
    return Stack(jobs=tuple(demand.job for demand in demands), edges_s=edges_s, levels_bps=np.cumsum(rates_bps, axis=0))


def unified_circle(demands: Sequence[Demand], *, capacity_bps: float) -> Circle:
    """Lay the Up phases of periodic jobs around one circle (CASSINI's unified circle).

    The perimeter is the least common multiple of the periods, if they slip by `MAX_SLIP_TURNS` at most.

    References
    ----------
    .. [1] S. Rajasekaran, M. Ghobadi, A. Akella, "CASSINI: Network-Aware Job Scheduling in Machine Learning
       Clusters", NSDI 2024, section 3.
    """
    periodic = [demand for demand in demands if demand.natural_s is not None]
    perimeter_s = _perimeter_s([demand.repeat_s for demand in periodic])
    tallest_bps = max((rate_bps for demand in periodic for _, _, rate_bps in demand.ups), default=0.0)
    arcs = [
        arc for demand in periodic for arc in _arcs(demand, perimeter_s or demand.repeat_s, tallest_bps=tallest_bps)
    ]
    return Circle(
        jobs=tuple(demand.job for demand in periodic),
        perimeter_s=perimeter_s,
        arcs=tuple(arcs),
        excess=() if perimeter_s is None else _excess(demands, perimeter_s, capacity_bps=capacity_bps),
    )


def fold(profile: TrafficProfile) -> Fold:
    """Return the rate over one iteration of a periodic profile: as folded if that was kept, else by its phases."""
    times_s, rates_bps = profile.steps()
    if not profile.fold_bps.size and profile.period_s is not None:
        demand = Demand.from_profile("", profile)
        return Fold(edges_s=demand.edges_s, rates_bps=demand.rates_bps)
    return Fold(edges_s=np.array(times_s), rates_bps=np.array(rates_bps[:-1]))


def _perimeter_s(periods_s: Sequence[float]) -> float | None:
    """Return the shortest multiple of the longest period that is nearly a whole multiple of every period."""
    if not periods_s:
        return None
    for turns in range(1, MAX_TURNS + 1):
        perimeter_s = turns * max(periods_s)
        ratios = np.array([perimeter_s / period_s for period_s in periods_s])
        if np.all(np.abs(ratios - np.round(ratios)) <= MAX_SLIP_TURNS):
            return perimeter_s
    return None


def _arcs(demand: Demand, perimeter_s: float, *, tallest_bps: float) -> list[Arc]:
    n_turns = max(1, round(perimeter_s / demand.repeat_s))
    scale = 1 / (n_turns * demand.repeat_s)
    arcs = []
    for k in range(n_turns):
        for start_s, width_s, rate_bps in demand.ups:
            start = (demand.offset_s + k * demand.repeat_s + start_s) * scale % 1.0
            height = rate_bps / tallest_bps if tallest_bps > 0 else 1.0
            arcs.extend(_split(demand.job, start=start, end=start + width_s * scale, height=height))
    return arcs


def _split(job: str, *, start: float, end: float, height: float) -> list[Arc]:
    """Return an arc as one, or as two where it passes twelve o'clock."""
    if end <= 1.0:
        return [Arc(job=job, start_turn=start, end_turn=end, height_frac=height)]
    return [
        Arc(job=job, start_turn=start, end_turn=1.0, height_frac=height),
        Arc(job=job, start_turn=0.0, end_turn=end - 1.0, height_frac=height),
    ]


def _excess(demands: Sequence[Demand], perimeter_s: float, *, capacity_bps: float) -> tuple[Arc, ...]:
    piled = stack([_rounded(demand, perimeter_s) for demand in demands], span_s=perimeter_s)
    over = piled.total_bps > capacity_bps * (1 + 1e-9)
    turns = piled.edges_s / perimeter_s
    return tuple(
        Arc(job="", start_turn=float(turns[i]), end_turn=float(turns[i + 1]), height_frac=1.0)
        for i in np.flatnonzero(over)
    )


def _rounded(demand: Demand, perimeter_s: float) -> Demand:
    """Return a demand with its period stretched a little, so that a whole number of them fills the circle."""
    if demand.natural_s is None:
        return demand
    stretch = perimeter_s / (max(1, round(perimeter_s / demand.repeat_s)) * demand.repeat_s)
    return Demand(
        job=demand.job,
        repeat_s=demand.repeat_s * stretch,
        natural_s=demand.natural_s,
        offset_s=demand.offset_s * stretch,
        edges_s=demand.edges_s * stretch,
        rates_bps=demand.rates_bps,
        ups=demand.ups,
    )
