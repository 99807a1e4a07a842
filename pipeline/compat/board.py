"""`Board`: the jobs of one timeline as flat arrays, with room to work in, as the compiled loops take them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from profiler.errors import UsageError

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.levels import Excess

__all__ = [
    "FALLS",
    "RISES",
    "Board",
    "Cost",
    "Kinks",
    "Packed",
    "Steps",
    "board_of",
    "cost_of",
    "kinks_for",
    "packed_of",
    "steps_of",
]

RISES: Final = 1
FALLS: Final = 2
"""Bits of an edge's ``turns``: the rate of some job rises there, that of some job falls."""


MAX_MEETINGS: Final = 20_000_000
"""Edges of a layout times those of a job: a curve of more would take seconds and more than 340 MB."""


class Cost(NamedTuple):
    """`Excess` as arrays: ``slope[k] x - offset_bps[k]``, k being how many knots lie below x, and never below 0."""

    knots_bps: NDArray[np.float64]
    slope: NDArray[np.float64]
    offset_bps: NDArray[np.float64]


class Steps(NamedTuple):
    """A step function: the rate from each edge to the next, and which way each edge turns."""

    edges_ns: NDArray[np.int64]
    rate_bps: NDArray[np.float64]
    turns: NDArray[np.int8]
    period_ns: int


class Packed(NamedTuple):
    """Demands one after the other: job j has the edges from ``first[j]`` up to ``first[j + 1]``."""

    edges_ns: NDArray[np.int64]
    rate_bps: NDArray[np.float64]
    turns: NDArray[np.int8]
    first: NDArray[np.int64]
    period_ns: NDArray[np.int64]


class Kinks(NamedTuple):
    """A curve of excess against shift while it is made (`pipeline.compat.kinks`), and the room that this takes."""

    shift_ns: NDArray[np.int64]
    excess_bps: NDArray[np.float64]
    faces: NDArray[np.int8]
    before_bps: NDArray[np.float64]
    after_bps: NDArray[np.float64]


class Board(NamedTuple):
    """Jobs, the stretch of time on which they are laid out, what a rate costs, and room for a layout and a curve."""

    jobs: Packed
    length_ns: int
    is_window: bool
    cost: Cost
    layout: Steps
    kinks: Kinks


def cost_of(excess: Excess) -> Cost:
    """Return the arrays of an excess."""
    knots_bps = excess.capacity_bps - excess.others.rate_bps[::-1]
    if knots_bps.size == 1:
        return Cost(knots_bps=knots_bps, slope=np.array([0.0, 1.0]), offset_bps=np.array([0.0, knots_bps[0]]))
    weight = excess.others.weight[::-1]
    return Cost(
        knots_bps=np.ascontiguousarray(knots_bps),
        slope=np.concatenate([[0.0], np.cumsum(weight)]),
        offset_bps=np.concatenate([[0.0], np.cumsum(weight * knots_bps)]),
    )


def steps_of(demand: Demand) -> Steps:
    """Return a demand's arrays."""
    return Steps(
        # Compiled code is made anew for arrays that may not be written to.
        edges_ns=np.array(demand.edges_ns, dtype=np.int64),
        rate_bps=np.array(demand.rate_bps, dtype=np.float64),
        turns=_turns(demand.rate_bps),
        period_ns=demand.period_ns,
    )


def packed_of(demands: Sequence[Demand]) -> Packed:
    """Return the arrays of several demands, one after the other."""
    sizes = [demand.edges_ns.size for demand in demands]
    return Packed(
        edges_ns=np.concatenate([demand.edges_ns for demand in demands]).astype(np.int64),
        rate_bps=np.concatenate([demand.rate_bps for demand in demands]).astype(np.float64),
        turns=np.concatenate([_turns(demand.rate_bps) for demand in demands]),
        first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        period_ns=np.array([demand.period_ns for demand in demands], dtype=np.int64),
    )


def kinks_for(n_fixed: int, n_moving: int) -> Kinks:
    """Return room for the curve of a demand against a layout of so many edges, ends included.

    Raises
    ------
    UsageError
        If that is more than `MAX_MEETINGS`.
    """
    n_meetings = n_fixed * n_moving
    if n_meetings > MAX_MEETINGS:
        raise UsageError(
            f"compat: a job's rate changes {n_moving} times a period, that of the jobs beside it {n_fixed} times: too "
            f"often to try where they meet ({n_meetings} times, at most {MAX_MEETINGS}); give profiles of fewer phases"
        )
    return Kinks(
        shift_ns=np.empty(n_meetings + 1, dtype=np.int64),
        excess_bps=np.empty(n_meetings + 1),
        faces=np.empty(n_meetings + 1, dtype=np.int8),
        before_bps=np.empty(n_moving),
        after_bps=np.empty(n_moving),
    )


def board_of(demands: Sequence[Demand], *, excess: Excess, window_ns: int | None) -> Board:
    """Lay some demands out over a window, or on their common circle if none is given."""
    length_ns = math.lcm(*(demand.period_ns for demand in demands)) if window_ns is None else window_ns
    n_edges = 2 + sum(demand.edges_ns.size * -(-length_ns // demand.period_ns) for demand in demands)
    return Board(
        jobs=packed_of(demands),
        length_ns=length_ns,
        is_window=window_ns is not None,
        cost=cost_of(excess),
        layout=Steps(
            edges_ns=np.empty(n_edges, dtype=np.int64),
            rate_bps=np.empty(n_edges),
            turns=np.empty(n_edges, dtype=np.int8),
            period_ns=length_ns,
        ),
        kinks=kinks_for(n_edges, max(demand.edges_ns.size for demand in demands)),
    )


def _turns(rate_bps: NDArray[np.float64]) -> NDArray[np.int8]:
    step_bps = rate_bps - np.concatenate([rate_bps[-1:], rate_bps[:-1]])
    turns: NDArray[np.int8] = (RISES * (step_bps > 0) + FALLS * (step_bps < 0)).astype(np.int8)
    return turns
