"""Shifts of n jobs on one timeline: descents whose every step is exact, then branch and bound, and a bound of all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.bounds import coupling_bound
from pipeline.compat.branch import branch_and_bound
from pipeline.compat.layout import EDGES, MIDDLES, descend, move_job
from pipeline.compat.levels import levels_of
from pipeline.compat.placement import Placement, tolerance_bps
from pipeline.compat.starts import end_to_end, greedy_shifts
from pipeline.compat.timeline import Circle
from pipeline.deadline import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.timeline import Timeline
    from pipeline.deadline import Deadline

__all__ = ["place_jobs"]

N_STARTS: Final = 16
N_CENTRING_ROUNDS: Final = 12
MAX_ROUNDS: Final = 64

LIGHT_KINKS: Final = 200_000
"""Kinks of one round that take so little time (10 ms) that nobody looks at the deadline meanwhile."""

MAX_KINKS: Final = 1_000_000
"""About so many kinks are looked at in all descents: with many edges starts and centring rounds become fewer."""

ROUNDS_A_DESCENT: Final = 4
"""Rounds until a descent ends, as a rule."""


def place_jobs(
    timeline: Timeline, *, bound_bps: float, rng: np.random.Generator, deadline: Deadline = NEVER
) -> Placement:
    """Return the best shifts found, that of the first job being 0.

    Parameters
    ----------
    timeline
        The demands, and the time over which they are judged.
    bound_bps
        A lower bound of the mean excess: the search ends once it is attained.
    rng
        Source of the random starts.
    deadline
        When to give the best so far.

    Returns
    -------
    Placement
        With the best bound known: that handed in, or what branch and bound or the levels' couplings say.

    Notes
    -----
    The first start places the largest job first and each next one where it does least harm, the second lays the jobs
    end to end, the others are uniform. Of two jobs the first step is already the optimum. On a circle of more branch
    and bound (`pipeline.compat.branch`) proves the optimum, as far as its work allows.
    """
    if len(timeline.demands) == 1:
        return _exact(timeline.alone(0), shifts_ns=(0,))
    if len(timeline.demands) == 2:
        curve = timeline.curve(1, shifts_ns=(0, 0), beside=(0,))
        return _exact(curve.minimum_bps, shifts_ns=(0, curve.best_shift_ns()))
    search = _Search(timeline=timeline, deadline=deadline)
    best = search.descend_from_all(bound_bps=bound_bps, rng=rng)
    if isinstance(timeline, Circle) and not best.is_proved:
        best = branch_and_bound(timeline, start=best, deadline=deadline)
        if not best.is_proved:
            best = _bounded(best, timeline)
    return search.centred(best)


def _exact(excess_bps: float, *, shifts_ns: tuple[int, ...]) -> Placement:
    return Placement(
        shifts_ns=shifts_ns, excess_bps=excess_bps, bound_bps=excess_bps, is_proved=True, method="exact kernel"
    )


def _bounded(best: Placement, circle: Circle) -> Placement:
    """Return a placement with the bound by couplings too, which takes a linear programme."""
    levels = [levels_of(demand) for demand in circle.demands]
    bound_bps = min(best.excess_bps, max(best.bound_bps, coupling_bound(levels, excess=circle.excess)))
    is_proved = best.excess_bps <= bound_bps + tolerance_bps(circle)
    return replace(best, bound_bps=bound_bps, is_proved=is_proved)


class _Search:
    """Descents on one timeline, within a deadline."""

    def __init__(self, *, timeline: Timeline, deadline: Deadline) -> None:
        self._demands = timeline.demands
        self._board = timeline.board()
        self._deadline = deadline
        self._tolerance_bps = tolerance_bps(timeline)
        n_edges = [demand.edges_ns.size for demand in self._demands]
        self._round_kinks = self._board.layout.edges_ns.size * sum(n_edges)

    def descend_from_all(self, *, bound_bps: float, rng: np.random.Generator) -> Placement:
        """Return the best of descents from all starts, or the first that reaches the bound."""
        best_ns, best_bps = np.zeros(0, dtype=np.int64), math.inf
        for shifts_ns in self._starts(rng):
            reached_bps = self._descend(shifts_ns, choose=MIDDLES)
            if reached_bps < best_bps - self._tolerance_bps:
                best_ns, best_bps = shifts_ns, reached_bps
            if best_bps <= bound_bps + self._tolerance_bps or self._deadline.is_over():
                break
        else:
            # Middles of plateaus are rounded to whole ns, and a job that has to fit next to one may miss by that.
            best_bps = min(best_bps, self._descend(best_ns, choose=EDGES))
        return Placement(
            shifts_ns=tuple(best_ns.tolist()),
            excess_bps=best_bps,
            bound_bps=min(best_bps, bound_bps),
            is_proved=best_bps <= bound_bps + self._tolerance_bps,
        )

    def centred(self, best: Placement) -> Placement:
        """Share the slack: move each job to the middle of its plateau until the middles agree."""
        shifts_ns = np.array(best.shifts_ns, dtype=np.int64)
        excess_bps = best.excess_bps
        for _ in range(self._effort(N_CENTRING_ROUNDS)):
            if self._deadline.is_over():
                break
            before_ns = shifts_ns.copy()
            excess_bps = self._round(shifts_ns, choose=MIDDLES)
            if np.array_equal(shifts_ns, before_ns):
                break
        return replace(
            best,
            shifts_ns=tuple(shifts_ns.tolist()),
            excess_bps=excess_bps,
            bound_bps=excess_bps if best.is_proved else min(best.bound_bps, excess_bps),
        )

    def _starts(self, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        n_starts = self._effort(N_STARTS)
        yield greedy_shifts(self._board, self._demands, deadline=self._deadline)
        laid_ns = end_to_end(self._demands)
        if laid_ns is not None and n_starts > 1:
            yield laid_ns
        periods_ns = [demand.period_ns for demand in self._demands[1:]]
        for _ in range(n_starts - 1):
            yield np.array([0, *rng.integers(periods_ns)], dtype=np.int64)

    def _descend(self, shifts_ns: NDArray[np.int64], *, choose: int) -> float:
        """Move jobs in place until none can improve, or until the time is up; return the mean excess reached."""
        if self._round_kinks <= LIGHT_KINKS:
            return float(descend(self._board, shifts_ns, choose, self._tolerance_bps, MAX_ROUNDS))
        excess_bps = math.inf
        for _ in range(MAX_ROUNDS):
            reached_bps = self._round(shifts_ns, choose=choose)
            if reached_bps >= excess_bps - self._tolerance_bps or self._deadline.is_over():
                return min(excess_bps, reached_bps)
            excess_bps = reached_bps
        return excess_bps

    def _round(self, shifts_ns: NDArray[np.int64], *, choose: int) -> float:
        """Move each job but the first once, in place; at least one of them, even if the time is up."""
        if self._round_kinks <= LIGHT_KINKS:
            return float(descend(self._board, shifts_ns, choose, self._tolerance_bps, 1))
        excess_bps = math.inf
        for i_job in range(1, shifts_ns.size):
            beside = np.arange(shifts_ns.size) != i_job
            excess_bps = float(move_job(self._board, shifts_ns, i_job, beside, choose))
            if self._deadline.is_over():
                break
        return excess_bps

    def _effort(self, full: int) -> int:
        """Return how many descents or rounds of ``full`` the number of edges allows."""
        return max(1, min(full, MAX_KINKS // (ROUNDS_A_DESCENT * self._round_kinks)))
